package kitbuild_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/buildkit/client"
	"github.com/moby/buildkit/session/secrets/secretsprovider"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/sbxkit/sbxkit/descriptor"
	"github.com/sbxkit/sbxkit/internal/buildkit"
	"github.com/sbxkit/sbxkit/internal/kitbuild"
	"github.com/sbxkit/sbxkit/internal/ociimage"
	"github.com/sbxkit/sbxkit/tck"
)

// caseTimeout ends a build that hangs; no verdict hangs on it.
const caseTimeout = 2 * time.Minute

// engine is one engine for a whole test, and the base image that recipes call "base".
type engine struct {
	*client.Client
	base string // folder of the base's layout
}

func startEngine(t *testing.T) *engine {
	t.Helper()
	e, err := buildkit.Start(t.Context(), buildkit.Options{Root: t.TempDir(), Logf: t.Logf})
	if err != nil {
		t.Fatalf("these tests build images, as root and with runc installed: %v", err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("close engine: %v", err)
		}
	})
	base := filepath.Join(t.TempDir(), "base")
	writeBase(t, base)
	return &engine{Client: e.Client, base: base}
}

// kitCase is one file of testdata/kits: a project, what to ask of it and what must come out. Its head
// has "key: value" lines; others are prose.
type kitCase struct {
	name string
	ar   *txtar.Archive
	head map[string][]string
}

func kitCases(t *testing.T) []kitCase {
	t.Helper()
	files, err := filepath.Glob("testdata/kits/*.txtar")
	if err != nil || len(files) < 40 {
		t.Fatalf("found %d cases (%v), want all of testdata/kits", len(files), err)
	}
	known := []string{"file", "platform", "arg", "target", "context", "no-cache", "secret", "error", "no-error", "at", "late", "twice"}
	var out []kitCase
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c := kitCase{name: strings.TrimSuffix(filepath.Base(file), ".txtar"), ar: ar, head: map[string][]string{}}
		for line := range strings.Lines(string(ar.Comment)) {
			if key, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && slices.Contains(known, key) {
				c.head[key] = append(c.head[key], value)
			}
		}
		out = append(out, c)
	}
	return out
}

func (c kitCase) first(key string) string {
	if values := c.head[key]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// TestKits builds every project of testdata/kits.
func TestKits(t *testing.T) {
	e := startEngine(t)
	for _, c := range kitCases(t) {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), caseTimeout)
			defer cancel()
			dir := t.TempDir()
			if err := writeProject(dir, c.ar); err != nil {
				t.Fatal(err)
			}
			out := filepath.Join(t.TempDir(), "out")
			layout, err := ociimage.CreateLayout(out)
			if err != nil {
				t.Fatal(err)
			}
			req := c.request(t, e, dir)
			req.Layout = layout
			prepared, err := kitbuild.Prepare(ctx, req)
			early := err != nil
			var res *kitbuild.Result
			if !early {
				res, err = prepared.Run(ctx, e.Client)
			}
			if want := c.first("error"); want != "" {
				checkError(t, c, err, want, early)
				if err := layout.Close(); err != nil {
					t.Error(err)
				}
				if _, err := os.Lstat(out); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("a build that failed left %s (%v)", out, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := layout.Tag(ctx, res.Target, []string{"lamp:1"}); err != nil {
				t.Fatal(err)
			}
			image, verdict := openBuilt(t, out, res.Target)
			var warnings []string
			for _, f := range res.Findings {
				warnings = append(warnings, f.Message)
			}
			checkImage(t, c, image, verdict, warnings)
		})
	}
}

func (c kitCase) request(t *testing.T, e *engine, dir string) kitbuild.Request {
	t.Helper()
	req := kitbuild.Request{
		ContextDir:    dir,
		BuildArgs:     map[string]string{},
		BuildContexts: map[string]string{"base": "oci-layout://" + e.base + ":1"},
		Target:        c.first("target"),
		Platforms:     c.head["platform"],
		NoCache:       c.first("no-cache") != "",
	}
	if file := c.first("file"); file != "" {
		req.DescriptorPath = filepath.Join(dir, file)
	} else {
		req.DescriptorPath = filepath.Join(dir, "lamp.yaml")
	}
	for _, arg := range c.head["arg"] {
		name, value, _ := strings.Cut(arg, "=")
		req.BuildArgs[name] = value
	}
	for _, named := range c.head["context"] {
		name, value, _ := strings.Cut(named, "=")
		if tag, ok := strings.CutPrefix(value, "base:"); ok {
			value = "oci-layout://" + e.base + ":" + tag
		} else {
			value = filepath.Join(dir, value)
		}
		req.BuildContexts[name] = value
	}
	for _, secret := range c.head["secret"] {
		id, value, _ := strings.Cut(secret, "=")
		file := filepath.Join(t.TempDir(), id)
		if err := os.WriteFile(file, []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
		req.Secrets = append(req.Secrets, secretsprovider.Source{ID: id, FilePath: file})
	}
	return req
}

// writeProject lays out the members that are no expectations.
func writeProject(dir string, ar *txtar.Archive) error {
	for _, f := range ar.Files {
		if f.Name == "want" || strings.HasPrefix(f.Name, "want/") {
			continue
		}
		at := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		data := []byte(strings.ReplaceAll(string(f.Data), "${PADDING}", strings.Repeat("p", 100<<10)))
		if err := os.WriteFile(at, data, fs.FileMode(0o644)); err != nil {
			return err
		}
	}
	return nil
}

func checkError(t *testing.T, c kitCase, err error, want string, early bool) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("got error %v, want one with %q", err, want)
	}
	if not := c.first("no-error"); not != "" && strings.Contains(err.Error(), not) {
		t.Errorf("the error says %q: %v", not, err)
	}
	if late := c.first("late") != ""; late == early {
		t.Errorf("the error came before anything was built: %v, want %v", early, !late)
	}
	if at := c.head["at"]; len(at) > 0 {
		var invalid *descriptor.InvalidError
		if !errors.As(err, &invalid) {
			t.Fatalf("got %T, want a fault of the descriptor: %v", err, err)
		}
		var got []string
		for _, f := range invalid.Findings {
			got = append(got, strings.TrimSpace(fmt.Sprintf("%d %s", f.Start.Line, f.Path))) // "0" for no place
		}
		if !slices.Equal(got, at) {
			t.Errorf("faults are at %q, want %q", got, at)
		}
	}
}

func checkImage(t *testing.T, c kitCase, image *built, verdict *tck.Verdict, warnings []string) {
	t.Helper()
	var expectations string
	for _, f := range c.ar.Files {
		if name, ok := strings.CutPrefix(f.Name, "want/"); ok {
			for _, p := range image.platforms {
				if got, ok := p.text(name); !ok || strings.TrimSuffix(got, "\n") != strings.TrimSuffix(string(f.Data), "\n") {
					t.Errorf("%s: %s is %q (there: %v), want %q", p.name, name, got, ok, f.Data)
				}
			}
		}
		if f.Name == "want" {
			expectations = string(f.Data)
		}
	}
	conforms := true
	for line := range strings.Lines(expectations) {
		verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch verb {
		case "nonconforming":
			conforms = false
		case "warning":
			if !slices.ContainsFunc(warnings, func(w string) bool { return strings.Contains(w, rest) }) {
				t.Errorf("no warning has %q: %q", rest, warnings)
			}
		case "index":
			if image.hasIndex != (rest == "yes") {
				t.Errorf("there is an index: %v, want %s", image.hasIndex, rest)
			}
		case "platforms":
			var got []string
			for _, p := range image.platforms {
				got = append(got, p.name)
			}
			if strings.Join(got, " ") != rest {
				t.Errorf("platforms are %v, want %s", got, rest)
			}
		default:
			for _, p := range image.platforms {
				checkPlatform(t, p, verb, rest)
			}
		}
	}
	if verdict.Conforms() != conforms {
		for _, r := range verdict.Results {
			t.Errorf("%v: %v", r.Platforms, r.Report.Err())
		}
	}
	for _, p := range image.platforms {
		if p.annotations[tck.AnnotationDescriptor] != image.platforms[0].annotations[tck.AnnotationDescriptor] {
			t.Errorf("%s has a descriptor of its own", p.name)
		}
		if image.hasIndex && image.index[tck.AnnotationDescriptor] != p.annotations[tck.AnnotationDescriptor] {
			t.Errorf("the index and %s carry different descriptors", p.name)
		}
	}
}

func checkPlatform(t *testing.T, p builtPlatform, verb, rest string) {
	t.Helper()
	fields := strings.Fields(rest)
	switch verb {
	case "layers":
		if got := fmt.Sprint(len(p.layers)); got != rest {
			t.Errorf("%s: there are %s layers, want %s", p.name, got, rest)
		}
	case "layer": // N PATHS
		var n int
		if _, err := fmt.Sscan(fields[0], &n); err != nil || n >= len(p.layers) {
			t.Errorf("%s: there is no layer %s", p.name, fields[0])
			return
		}
		if got := sortedKeys(p.layers[n].files); !slices.Equal(got, fields[1:]) {
			t.Errorf("%s: layer %d holds %q, want %q", p.name, n, got, fields[1:])
		}
	case "config":
		got, err := json.Marshal(p.config.Config)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != rest {
			t.Errorf("%s: config is %s, want %s", p.name, got, rest)
		}
	case "absent":
		if got, ok := p.text(rest); ok {
			t.Errorf("%s: %s is there: %q", p.name, rest, got)
		}
	case "annotation": // KEY VALUE
		key, value, _ := strings.Cut(rest, " ")
		if p.annotations[key] != value {
			t.Errorf("%s: annotation %s is %q, want %q", p.name, key, p.annotations[key], value)
		}
	case "descriptor": // contains TEXT
		if !strings.Contains(p.annotations[tck.AnnotationDescriptor], rest) {
			t.Errorf("%s: descriptor %s lacks %s", p.name, p.annotations[tck.AnnotationDescriptor], rest)
		}
	default:
		t.Errorf("unknown expectation %q", verb)
	}
}
