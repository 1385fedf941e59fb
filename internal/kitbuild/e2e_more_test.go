package kitbuild_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/moby/buildkit/client"
	gwclient "github.com/moby/buildkit/frontend/gateway/client"
	"github.com/moby/buildkit/solver/errdefs"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/tonistiigi/fsutil"

	"github.com/sbxkit/sbxkit/descriptor"
	"github.com/sbxkit/sbxkit/internal/kitbuild"
	"github.com/sbxkit/sbxkit/internal/ociimage"
	"github.com/sbxkit/sbxkit/tck"
)

const twoPlatformMixin = `
-- lamp.yaml --
schemaVersion: "3"
kind: mixin
displayName: Lamp
provides: [lamp@1.0.0]
capabilities:
  - type: com.docker.sandbox/agent-context@1
    config: {contentFile: notes.md}
-- notes.md --
Use the lamp.
-- lamp.dockerfile --
FROM scratch
COPY bin /usr/bin/
ENV PATH=/opt/lamp:$PATH
-- bin/lamp --
bytes
`

const workload = `
-- lamp.yaml --
schemaVersion: "3"
kind: workload
displayName: Lamp
provides: [lamp@1.0.0]
-- lamp.dockerfile --
FROM base
RUN ["/tool", "write", "/made", "bytes"]
COPY bin /usr/bin/
-- bin/lamp --
bytes
`

func project(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := writeProject(dir, txtar.Parse([]byte(text))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// buildInto builds a project into a new layout.
func buildInto(t *testing.T, e *engine, req kitbuild.Request) (dir string, target ocispec.Descriptor) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "out")
	layout, err := ociimage.CreateLayout(dir)
	if err != nil {
		t.Fatal(err)
	}
	req.Layout = layout
	ctx, cancel := context.WithTimeout(t.Context(), caseTimeout)
	defer cancel()
	res, err := kitbuild.Run(ctx, e.Client, req)
	if err != nil {
		t.Fatal(err)
	}
	if err := layout.Tag(ctx, res.Target, []string{"lamp:1"}); err != nil {
		t.Fatal(err)
	}
	return dir, res.Target
}

// TestReproducible builds equal sources with different dates on two engines into two folders.
func TestReproducible(t *testing.T) {
	for name, c := range map[string]struct {
		text      string
		platforms []string
	}{
		"mixin":    {twoPlatformMixin, []string{"linux/amd64", "linux/arm64"}},
		"workload": {workload, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var digests, indexes, contents []string
			for i := range 2 {
				e := startEngine(t)
				dir := project(t, c.text)
				when := time.Unix(1_600_000_000+int64(i)*1000, 0)
				if err := os.Chtimes(filepath.Join(dir, "bin", "lamp"), when, when); err != nil {
					t.Fatal(err)
				}
				out, target := buildInto(t, e, kitbuild.Request{
					ContextDir: dir, Platforms: c.platforms,
					BuildContexts: map[string]string{"base": "oci-layout://" + e.base + ":1"},
				})
				digests = append(digests, target.Digest.String())
				index, err := os.ReadFile(filepath.Join(out, "index.json"))
				if err != nil {
					t.Fatal(err)
				}
				indexes = append(indexes, string(index))
				image, _ := openBuilt(t, out, target)
				contents = append(contents, describe(t, image))
			}
			if digests[0] != digests[1] {
				t.Errorf("equal sources give %s and %s:\n%s\n%s", digests[0], digests[1], contents[0], contents[1])
			}
			if indexes[0] != indexes[1] {
				t.Errorf("index.json differs:\n%s\n%s", indexes[0], indexes[1])
			}
		})
	}
}

// describe writes down all that could differ between two images.
func describe(t *testing.T, image *built) string {
	var b strings.Builder
	fmt.Fprintln(&b, image.index)
	for _, p := range image.platforms {
		fmt.Fprintln(&b, p.name, asJSON(t, p.config), p.annotations)
		for _, l := range p.layers {
			fmt.Fprintln(&b, " ", l.digest)
			for _, name := range sortedKeys(l.headers) {
				h := l.headers[name]
				fmt.Fprintln(&b, "   ", name, h.ModTime.UTC(), h.AccessTime, h.ChangeTime, h.Mode, h.Uid, h.Size, h.PAXRecords, h.Format)
			}
		}
	}
	return b.String()
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestEpochDatesEverything(t *testing.T) {
	e := startEngine(t)
	when := time.Unix(1_700_000_000, 0).UTC()
	out, target := buildInto(t, e, kitbuild.Request{ContextDir: project(t, twoPlatformMixin), Epoch: &when})
	image, _ := openBuilt(t, out, target)
	p := image.platforms[0]
	if p.config.Created == nil || !p.config.Created.Equal(when) {
		t.Errorf("the image is dated %v, want %v", p.config.Created, when)
	}
	for _, l := range p.layers {
		for name, h := range l.headers {
			if h.ModTime.After(when) {
				t.Errorf("%s is dated %v, after %v", name, h.ModTime, when)
			}
			if h.Uid != 0 || h.Gid != 0 {
				t.Errorf("%s belongs to %d:%d", name, h.Uid, h.Gid)
			}
		}
	}
	staged := p.layers[len(p.layers)-1].headers["usr/share/sandbox/kit/lamp/kit.yaml"]
	if staged == nil || !staged.ModTime.Equal(when) || staged.Mode != 0o644 {
		t.Errorf("the staged descriptor is %+v", staged)
	}
	if root := p.layers[len(p.layers)-1].headers["usr/share/sandbox/kit/lamp"]; root == nil || root.Mode != 0o755 {
		t.Errorf("the staged root is %+v", root)
	}
}

// TestWorkloadKeepsItsBase compares layers: those of the base are neither repacked nor dated anew.
func TestWorkloadKeepsItsBase(t *testing.T) {
	e := startEngine(t)
	base, err := ociimage.OpenLayout(t.Context(), e.base, "1")
	if err != nil {
		t.Fatal(err)
	}
	defer base.Close()
	artifacts, err := base.Artifacts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out, target := buildInto(t, e, kitbuild.Request{
		ContextDir:    project(t, workload),
		BuildContexts: map[string]string{"base": "oci-layout://" + e.base + "@" + base.Target.Digest.String()},
	})
	image, _ := openBuilt(t, out, target)
	layers := image.platforms[0].layers
	for i, l := range artifacts[0].Layers() {
		if i >= len(layers) || layers[i].digest != l.Digest() {
			t.Errorf("layer %d of the base is not in the workload", i)
		}
	}
}

// TestKitFromKit builds on a published kit, whose own staged root stays beside the new one.
func TestKitFromKit(t *testing.T) {
	e := startEngine(t)
	contexts := map[string]string{"base": "oci-layout://" + e.base + ":1"}
	below, _ := buildInto(t, e, kitbuild.Request{ContextDir: project(t, workload), BuildContexts: contexts})
	dir := project(t, strings.ReplaceAll(strings.ReplaceAll(workload, "-- lamp.", "-- forge."), "FROM base", "FROM lamp"))
	contexts["lamp"] = "oci-layout://" + below + ":1"
	out, target := buildInto(t, e, kitbuild.Request{ContextDir: dir, BuildContexts: contexts})
	image, verdict := openBuilt(t, out, target)
	for _, stem := range []string{"lamp", "forge"} {
		if _, ok := image.platforms[0].text("usr/share/sandbox/kit/" + stem + "/kit.yaml"); !ok {
			t.Errorf("the sources of %s are missing", stem)
		}
	}
	if !verdict.Conforms() {
		t.Errorf("%v", verdict.Results[0].Report.Err())
	}
}

// frontend calls the build function as any client would: with options, not through a request.
func frontend(t *testing.T, e *engine, dir, out string, attrs map[string]string) (target ocispec.Descriptor, own, err error) {
	t.Helper()
	target, _, own, err = frontendWarnings(t, e, dir, out, attrs)
	return target, own, err
}

func frontendWarnings(t *testing.T, e *engine, dir, out string, attrs map[string]string) (target ocispec.Descriptor, warnings []*client.VertexWarning, own, err error) {
	t.Helper()
	fs, err := fsutil.NewFS(dir)
	if err != nil {
		t.Fatal(err)
	}
	opt := client.SolveOpt{
		FrontendAttrs: map[string]string{"filename": "lamp.yaml"},
		LocalMounts:   map[string]fsutil.FS{"context": fs, "dockerfile": fs},
		OCIStores:     map[string]content.Store{},
	}
	maps.Copy(opt.FrontendAttrs, attrs)
	var layout *ociimage.Layout
	if out != "" {
		if layout, err = ociimage.CreateLayout(out); err != nil {
			t.Fatal(err)
		}
		store, err := layout.Store()
		if err != nil {
			t.Fatal(err)
		}
		opt.Exports = []client.ExportEntry{{Type: client.ExporterOCI, OutputStore: store, Attrs: map[string]string{"tar": "false"}}}
	}
	ctx, cancel := context.WithTimeout(t.Context(), caseTimeout)
	defer cancel()
	progress, collected := make(chan *client.SolveStatus), make(chan struct{})
	go func() {
		defer close(collected)
		for status := range progress {
			warnings = append(warnings, status.Warnings...)
		}
	}()
	res, err := e.Build(ctx, opt, "test", func(ctx context.Context, c gwclient.Client) (*gwclient.Result, error) {
		res, err := kitbuild.Build(ctx, c)
		own = err
		return res, err
	}, progress)
	<-collected
	if err != nil || out == "" {
		return target, warnings, own, err
	}
	data, err := base64.StdEncoding.DecodeString(res.ExporterResponse["containerimage.descriptor"])
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &target); err != nil {
		t.Fatal(err)
	}
	target.Annotations = nil
	if err := layout.Tag(ctx, target, []string{"lamp:1"}); err != nil {
		t.Fatal(err)
	}
	return target, warnings, own, nil
}

func TestIndexAnnotations(t *testing.T) {
	e := startEngine(t)
	dir := project(t, twoPlatformMixin)
	for _, c := range []struct {
		name  string
		attrs map[string]string
		index bool
	}{
		{"one platform", nil, false},
		{"two platforms", map[string]string{"platform": "linux/amd64,linux/arm64"}, true},
		{"one platform with provenance", map[string]string{"attest:provenance": "mode=min"}, true},
		{"one platform with provenance inside", map[string]string{"attest:provenance": "mode=min,inline-only=true"}, false},
		{"one platform, index wanted", map[string]string{"multi-platform": "true"}, true},
		{"a question that is not answered", map[string]string{"requestid": "frontend.outline"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			target, _, err := frontend(t, e, dir, out, c.attrs)
			if err != nil {
				t.Fatal(err)
			}
			image, verdict := openBuilt(t, out, target)
			if image.hasIndex != c.index {
				t.Fatalf("there is an index: %v", image.hasIndex)
			}
			if c.index {
				for key, value := range image.platforms[0].annotations {
					if image.index[key] != value {
						t.Errorf("the index says %q for %s, the manifest %q", image.index[key], key, value)
					}
				}
			}
			if image.platforms[0].annotations[tck.AnnotationBuiltBy] == "" || !verdict.Conforms() {
				t.Errorf("%v: %v", image.platforms[0].annotations, verdict.Results[0].Report.Err())
			}
		})
	}
}

// TestWarningsReachTheClient looks at a warning of each source: the descriptor, the options, the content.
func TestWarningsReachTheClient(t *testing.T) {
	e := startEngine(t)
	dir := project(t, `
-- lamp.yaml --
schemaVersion: "3"
kind: mixin
version: "1"
args:
  late: {default: "0"}
-- lamp.dockerfile --
FROM scratch
COPY --chown=7 home /home
-- home/agent/x --
bytes
`)
	_, warnings, _, err := frontendWarnings(t, e, dir, "", map[string]string{"build-arg:late": "1", "build-arg:NOBODY": "1"})
	if err != nil {
		t.Fatal(err)
	}
	for text, line := range map[string]int32{
		"KIT2012: args.late: ": 5,
		"KIT2015: args: neither the kit nor its recipe declares the build argument NOBODY": 5,
		"KIT2014: the overlay carries /home with owner 7 instead of 0":                     0, // of no line
		"KIT2014: the overlay carries /home/agent with owner 7 instead of 1000":            0,
	} {
		i := slices.IndexFunc(warnings, func(w *client.VertexWarning) bool { return strings.HasPrefix(string(w.Short), text) })
		if i < 0 {
			t.Errorf("no warning begins with %q", text)
			continue
		}
		w := warnings[i]
		got := int32(0)
		for _, r := range w.Range {
			got = r.Start.Line
		}
		if w.SourceInfo == nil || w.SourceInfo.Filename != "lamp.yaml" || got != line {
			t.Errorf("%q is at %v of %v, want line %d", text, w.Range, w.SourceInfo, line)
		}
	}
}

// TestOverlookedRecipeBeyond looks for files of the caller through the gateway.
func TestOverlookedRecipeBeyond(t *testing.T) {
	e := startEngine(t)
	kit := "-- lamp.yaml --\nschemaVersion: \"3\"\nkind: mixin\nversion: \"1\"\n"
	for files, want := range map[string]string{
		"-- notes.md --\nx\n":                                 "",
		"-- Dockerfile --\nFROM scratch\n":                    "KIT2018: no recipe: lamp.dockerfile is not there, so the kit carries no content; there is a Dockerfile here",
		"-- forge.dockerfile --\nx\n-- forge.yaml --\na: b\n": "",
		"-- lamps.dockerfile --\nx\n-- forge.yaml --\na: b\n": "there is a lamps.dockerfile here",
	} {
		_, warnings, _, err := frontendWarnings(t, e, project(t, kit+files), "", nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, w := range warnings {
			got = append(got, string(w.Short))
		}
		if all := strings.Join(got, "\n"); !strings.Contains(all, want) || want == "" && all != "" {
			t.Errorf("%q: warnings %q, want %q", files, got, want)
		}
	}
}

// TestErrorsCarryTheirPlace looks at errors as a BuildKit client gets them, on this side of the gateway
// and beyond it.
func TestErrorsCarryTheirPlace(t *testing.T) {
	e := startEngine(t)
	for _, c := range []struct {
		name, text, file, language, message string
		lines                               []int32
	}{
		{
			name:     "two faults",
			text:     "-- lamp.yaml --\nschemaVersion: \"3\"\nkind: mixin\nversion: v1\niconUrl: http://example.com/x\n",
			file:     "lamp.yaml",
			language: "yaml",
			message:  "invalid kit descriptor lamp.yaml: version: ",
			lines:    []int32{3, 4},
		},
		{
			name:     "fault in the published form",
			text:     "-- lamp.yaml --\nschemaVersion: \"3\"\nkind: mixin\n# a note\nprovides: [lamp]\n",
			file:     "lamp.yaml",
			language: "yaml",
			message:  "provides[0]: ",
			lines:    []int32{4},
		},
		{
			name:     "missing recipe",
			text:     "-- lamp.yaml --\nschemaVersion: \"3\"\nkind: mixin\ndockerfile: nowhere\n",
			file:     "lamp.yaml",
			language: "yaml",
			message:  "there is no file nowhere",
			lines:    []int32{3},
		},
		{
			name:     "missing guidance",
			text:     strings.Replace(twoPlatformMixin, "-- notes.md", "-- other.md", 1),
			file:     "lamp.yaml",
			language: "yaml",
			message:  "the build context has no file notes.md",
			lines:    []int32{7},
		},
		{
			name:     "base of the recipe",
			text:     "-- lamp.yaml --\nschemaVersion: \"3\"\nkind: mixin\nversion: \"1\"\n-- lamp.dockerfile --\nARG B\nFROM ${B}\n",
			file:     "lamp.dockerfile",
			language: "Dockerfile",
			message:  "lamp.dockerfile: base name (${B}) should not be blank",
			lines:    []int32{2},
		},
		{
			name:     "recipe",
			text:     "-- lamp.yaml --\nschemaVersion: \"3\"\nkind: workload\nversion: \"1\"\n-- lamp.dockerfile --\nFROM scratch\nCOPY nothing /\nCMD [\"x\"]\n",
			file:     "lamp.dockerfile",
			language: "Dockerfile",
			message:  "lamp.dockerfile: ",
			lines:    []int32{2},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := project(t, c.text)
			_, own, beyond := frontend(t, e, dir, "", nil)
			for where, err := range map[string]error{"here": own, "beyond": beyond} {
				if err == nil || !strings.Contains(err.Error(), c.message) {
					t.Fatalf("%s: error %v, want one with %q", where, err, c.message)
				}
				if strings.Contains(err.Error(), " | ") {
					t.Errorf("%s: the message draws an excerpt: %v", where, err)
				}
				sources := errdefs.Sources(err)
				if len(sources) == 0 {
					t.Fatalf("%s: no source in %v", where, err)
				}
				source := sources[0]
				want, err := os.ReadFile(filepath.Join(dir, c.file))
				if err != nil {
					t.Fatal(err)
				}
				if source.Info.Filename != c.file || source.Info.Language != c.language || string(source.Info.Data) != string(want) {
					t.Errorf("%s: source is %s in %s: %q", where, source.Info.Filename, source.Info.Language, source.Info.Data)
				}
				var lines []int32
				for _, r := range source.Ranges {
					lines = append(lines, r.Start.Line)
				}
				if !slices.Equal(lines, c.lines) {
					t.Errorf("%s: ranges start at %v, want %v", where, lines, c.lines)
				}
			}
			var invalid *descriptor.InvalidError
			if errors.As(own, &invalid) != (c.language == "yaml") {
				t.Errorf("a fault of the descriptor is %v: %T", !(c.language == "yaml"), own)
			}
		})
	}
}

// TestLowerStageRunsOnce builds without cache what the cache already holds: the stage below must be the
// one that ran in this build, or its random bytes would be part of the difference.
func TestLowerStageRunsOnce(t *testing.T) {
	e := startEngine(t)
	dir := project(t, `
-- lamp.yaml --
schemaVersion: "3"
kind: mixin
version: "1"
-- lamp.dockerfile --
FROM base AS first
RUN ["/tool", "random", "/random"]
FROM first
RUN ["/tool", "write", "/mine", "mine"]
`)
	for _, noCache := range []bool{false, true, true} {
		out, target := buildInto(t, e, kitbuild.Request{
			ContextDir: dir, NoCache: noCache,
			BuildContexts: map[string]string{"base": "oci-layout://" + e.base + ":1"},
		})
		image, _ := openBuilt(t, out, target)
		if got := sortedKeys(image.platforms[0].layers[0].files); !slices.Equal(got, []string{"mine"}) {
			t.Errorf("without cache %v: the overlay holds %q", noCache, got)
		}
	}
}
