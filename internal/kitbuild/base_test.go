package kitbuild

import (
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/containerd/platforms"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/rogpeppe/go-internal/txtar"
)

var kindNames = map[baseKind]string{
	baseScratch: "scratch", baseStage: "stage", baseContext: "context", baseImage: "image", baseReplaced: "replaced",
}

// TestFindBase runs the recipes of testdata/base, built on amd64 for arm64. Lines "key: value" of a
// file's head are the query.
func TestFindBase(t *testing.T) {
	files, err := filepath.Glob("testdata/base/*.txtar")
	if err != nil || len(files) < 30 {
		t.Fatalf("found %d cases (%v), want all of testdata/base", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			q := stageQuery{
				args:          map[string]string{},
				buildPlatform: ocispec.Platform{OS: "linux", Architecture: "amd64"},
				platform:      ocispec.Platform{OS: "linux", Architecture: "arm64"},
			}
			var contexts []string
			for line := range strings.Lines(string(ar.Comment)) {
				key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
				switch key {
				case "target":
					q.target = value
				case "arg":
					name, v, _ := strings.Cut(value, "=")
					q.args[name] = v
				case "context":
					contexts = append(contexts, value)
				}
			}
			q.hasContext = func(name string, _ *ocispec.Platform) (bool, error) { return slices.Contains(contexts, name), nil }
			want := strings.Split(strings.TrimSpace(archived(t, ar, "want")), "\n")
			got, err := findBase([]byte(archived(t, ar, "recipe")), q)
			if text, fails := strings.CutPrefix(want[0], "error: "); fails {
				checkRecipeError(t, err, text, want[1:])
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if s := describeBase(got); s != want[0] {
				t.Errorf("got %s, want %s", s, want[0])
			}
		})
	}
}

func describeBase(b base) string {
	words := []string{kindNames[b.kind]}
	if b.name != "" {
		words = append(words, b.name)
	}
	if b.platform != nil {
		words = append(words, platforms.FormatAll(*b.platform))
	}
	return strings.Join(words, " ")
}

func checkRecipeError(t *testing.T, err error, text string, more []string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Fatalf("got error %v, want one with %q", err, text)
	}
	for _, line := range more {
		want, ok := strings.CutPrefix(line, "line: ")
		if !ok {
			t.Fatalf("unknown expectation %q", line)
		}
		var located *parser.LocationError
		if !errors.As(err, &located) {
			t.Fatalf("error %v has no place, want line %s", err, want)
		}
		if got := strconv.Itoa(located.Locations[0][0].Start.Line); got != want {
			t.Errorf("error is at line %s, want %s", got, want)
		}
	}
}

func archived(t *testing.T, ar *txtar.Archive, name string) string {
	t.Helper()
	for _, f := range ar.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	t.Fatalf("the case has no file %s", name)
	return ""
}

func FuzzFindBase(f *testing.F) {
	files, err := filepath.Glob("testdata/base/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, member := range ar.Files {
			if member.Name == "recipe" {
				f.Add(member.Data, "out")
			}
		}
	}
	f.Fuzz(func(t *testing.T, recipe []byte, target string) {
		p := ocispec.Platform{OS: "linux", Architecture: "amd64"}
		b, err := findBase(recipe, stageQuery{
			target: target, buildPlatform: p, platform: p,
			hasContext: func(string, *ocispec.Platform) (bool, error) { return false, nil },
		})
		if err == nil && (b.kind == baseImage || b.kind == baseStage) && b.name == "" {
			t.Errorf("base without a name: %+v", b)
		}
	})
}

// Looking through stages ends also where names repeat in a circle.
func TestFindOrigin(t *testing.T) {
	p := ocispec.Platform{OS: "linux", Architecture: "amd64"}
	for recipe, want := range map[string]string{
		"FROM x AS a\nFROM a AS b\nFROM b AS a\nFROM a": "image docker.io/library/x:latest linux/amd64",
		"FROM scratch AS a\nFROM a AS b\nFROM b":        "scratch",
		"FROM x AS first\nFROM first AS b\nFROM b":      "replaced first linux/amd64",
	} {
		got, err := findOrigin([]byte(recipe), stageQuery{
			buildPlatform: p, platform: p,
			hasContext: func(name string, _ *ocispec.Platform) (bool, error) { return name == "first", nil },
		})
		if err != nil || describeBase(got) != want {
			t.Errorf("%q: got %s (%v), want %s", recipe, describeBase(got), err, want)
		}
	}
}
