package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sbxkit/sbxkit/descriptor"
)

// fakeFiles are files in memory. A nil one cannot be read.
type fakeFiles map[string][]byte

var errBroken = errors.New("broken disk")

func (f fakeFiles) ReadFile(_ context.Context, name string, limit int64) ([]byte, error) {
	data, ok := f[name]
	switch {
	case !ok:
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	case data == nil:
		return nil, fmt.Errorf("%s: %w", name, errBroken)
	case int64(len(data)) > limit:
		return nil, fmt.Errorf("%s: %w", name, ErrTooLarge)
	}
	return data, nil
}

const mixin = "schemaVersion: \"3\"\nkind: mixin\nprovides: [lamp@1]\n"

func TestReadFailures(t *testing.T) {
	guidance := mixin + "capabilities:\n  - type: com.docker.sandbox/agent-context@1\n    config: {contentFile: notes.md}\n"
	big := func(limit int) []byte { return []byte(strings.Repeat("#", limit+1)) }
	for _, c := range []struct {
		name  string
		files fakeFiles
		is    error  // what the error is
		at    string // or where the fault of the descriptor lies
		text  string
	}{
		{"no descriptor", fakeFiles{}, fs.ErrNotExist, "", "read descriptor lamp.yaml"},
		{"broken descriptor", fakeFiles{"lamp.yaml": nil}, errBroken, "", ""},
		{"huge descriptor", fakeFiles{"lamp.yaml": big(MaxDescriptorSize)}, ErrTooLarge, "", ""},
		{"broken companion is not none", fakeFiles{"lamp.yaml": []byte(mixin), "lamp.dockerfile": nil}, errBroken, "", "read recipe lamp.dockerfile"},
		{"huge companion", fakeFiles{"lamp.yaml": []byte(mixin), "lamp.dockerfile": big(MaxRecipeSize)}, ErrTooLarge, "", ""},
		{"broken named recipe", fakeFiles{"lamp.yaml": []byte(mixin + "dockerfile: r\n"), "r": nil}, nil, "dockerfile", "broken disk"},
		{"huge named recipe", fakeFiles{"lamp.yaml": []byte(mixin + "dockerfile: r\n"), "r": big(MaxRecipeSize)}, nil, "dockerfile", "too large"},
		{"broken guidance", fakeFiles{"lamp.yaml": []byte(guidance), "notes.md": nil}, nil, "capabilities[0].config.contentFile", "broken disk"},
		{"huge guidance", fakeFiles{"lamp.yaml": []byte(guidance), "notes.md": big(MaxGuidanceSize)}, nil, "capabilities[0].config.contentFile", "too large"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Open(t.Context(), c.files, "lamp.yaml", "lamp.yaml")
			if err == nil {
				_, err = p.Publish(t.Context(), nil, c.files)
			}
			if err == nil || !strings.Contains(err.Error(), c.text) {
				t.Fatalf("got error %v, want one with %q", err, c.text)
			}
			if c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("%v is not %v", err, c.is)
			}
			var invalid *descriptor.InvalidError
			if c.at != "" && (!errors.As(err, &invalid) || invalid.Findings[0].Path != c.at) {
				t.Errorf("%v is not at %s", err, c.at)
			}
		})
	}
	atLimit := fakeFiles{"lamp.yaml": []byte(guidance), "notes.md": big(MaxGuidanceSize)[1:], "lamp.dockerfile": big(MaxRecipeSize)[1:]}
	p, err := Open(t.Context(), atLimit, "lamp.yaml", "lamp.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Publish(t.Context(), nil, atLimit); err != nil {
		t.Errorf("files at their limits: %v", err)
	}
}

// TestCancelled must not blame the kit for a build that somebody ended.
func TestCancelled(t *testing.T) {
	files := fakeFiles{"lamp.yaml": []byte(mixin + "dockerfile: r\n"), "r": nil}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Open(ctx, files, "lamp.yaml", "lamp.yaml")
	var invalid *descriptor.InvalidError
	if err == nil || errors.As(err, &invalid) {
		t.Errorf("got %v", err)
	}
}

func TestNamesBelowTheTop(t *testing.T) {
	files := fakeFiles{
		"kits/lamp.yaml": []byte(mixin + "dockerfile: ../kits/./sub/r\n"),
		"kits/sub/r":     []byte("FROM scratch"),
	}
	if _, err := Open(t.Context(), files, "kits/lamp.yaml", "x"); err == nil {
		t.Error("a recipe outside the kit's folder is accepted")
	}
	files["kits/lamp.yaml"] = []byte(mixin + "dockerfile: ./sub/../sub/r\n")
	p, err := Open(t.Context(), files, "./kits/lamp.yaml", "x")
	if err != nil {
		t.Fatal(err)
	}
	pub, err := p.Publish(t.Context(), nil, files)
	if err != nil {
		t.Fatal(err)
	}
	if pub.Recipe.Name != "kits/sub/r" || pub.Stem != "lamp" {
		t.Errorf("recipe %s of %s", pub.Recipe.Name, pub.Stem)
	}
	files["kits/lamp.yaml"] = []byte(mixin + "build: FROM scratch\n")
	if p, err = Open(t.Context(), files, "kits/lamp.yaml", "x"); err != nil {
		t.Fatal(err)
	}
	if pub, err = p.Publish(t.Context(), nil, files); err != nil || pub.Recipe.Name != "kits/lamp.build.dockerfile" {
		t.Errorf("inline recipe %+v (%v)", pub, err)
	}
}

func TestRecipeArgs(t *testing.T) {
	files := fakeFiles{"lamp.yaml": []byte(mixin + `
args:
  given: {buildArg: GIVEN}
  default: {default: "", buildArg: DEFAULT}
  neither: {buildArg: NEITHER}
  steers: {default: x, buildArg: BUILDKIT_ATTEST_SBOM}
  late: {default: "1"}
`)}
	p, err := Open(t.Context(), files, "lamp.yaml", "lamp.yaml")
	if err != nil {
		t.Fatal(err)
	}
	pub, err := p.Publish(t.Context(), map[string]string{"given": "1", "OTHER": "2"}, files)
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"GIVEN": "1", "DEFAULT": ""}; !maps.Equal(pub.RecipeArgs, want) {
		t.Errorf("got %v, want %v", pub.RecipeArgs, want)
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"lamp.yaml": mixin, "lamp.dockerfile": "FROM scratch"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p, err := Load(t.Context(), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Document.Name(); got != filepath.Join(dir, "lamp.yaml") {
		t.Errorf("findings will name %s", got)
	}
	if _, err := Load(t.Context(), dir, filepath.Join(dir, "none.yaml")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an absent file is %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "old.yaml"), []byte("schemaVersion: \"1\"\nname: lamp\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var invalid *descriptor.InvalidError
	if _, err := Load(t.Context(), filepath.Join(dir, "old.yaml"), ""); !errors.As(err, &invalid) {
		t.Errorf("an earlier format is %v", err)
	}
}

func TestFolderLimit(t *testing.T) {
	dir := t.TempDir()
	for i := range MaxFolderEntries + 1 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("x%06d", i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Locate(dir, ""); !errors.Is(err, ErrNoDescriptor) || !strings.Contains(err.Error(), "2000") {
		t.Errorf("got %v, want to hear of the limit", err)
	}
}

// A set is judged like any kit, also with its args filled in; only a build refuses it, and that is no
// fault of the kit.
func TestSet(t *testing.T) {
	head := "schemaVersion: \"3\"\nkind: set\n"
	tail := "kits:\n  - ref: example.com/lamp:${{ kit.args.tag }}\nargs:\n  tag: {default: \"1\", buildArg: TAG}\n"
	for _, c := range []struct {
		name, text string
		given      map[string]string
		at         string // of the fault; empty for none
		build      error
	}{
		{"set", head + "provides: [lamps@1]\n" + tail, nil, "", ErrSetNotBuilt},
		{"mixin with kits", strings.Replace(head, "set", "mixin", 1) + tail, nil, "", ErrSetNotBuilt},
		{"no set", mixin, nil, "", nil},
		{"fault as authored", head + "iconUrl: http://example.com/x\n" + tail, nil, "iconUrl", nil},
		{"derived provide", head + "provides: [deb/lamps@1]\n" + tail, nil, "provides[0]", nil},
		{"fault of the expanded form", head + "version: ${{ kit.args.tag }}\n" + tail, map[string]string{"tag": "v 1"}, "version", nil},
		{"derived provide from an arg", head + "provides: [\"${{ kit.args.tag }}\"]\n" + tail, map[string]string{"tag": "apk/lamps@1"}, "provides[0]", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := fakeFiles{"lamp.yaml": []byte(c.text)}
			p, err := Open(t.Context(), files, "lamp.yaml", "lamp.yaml")
			var pub *Published
			if err == nil {
				pub, err = p.Publish(t.Context(), c.given, files)
			}
			if c.at != "" {
				var invalid *descriptor.InvalidError
				if !errors.As(err, &invalid) || invalid.Findings[0].Path != c.at {
					t.Fatalf("got %v, want a fault at %s", err, c.at)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := pub.Buildable(); !errors.Is(err, c.build) || (err == nil) != (c.build == nil) {
				t.Errorf("a build says %v, want %v", err, c.build)
			}
		})
	}
}

// TestStems: what the descriptor's file is called becomes a folder of the image.
func TestStems(t *testing.T) {
	for name, fits := range map[string]bool{
		"lamp.yaml": true, "a b.yaml": true, ".yaml": true, "ü日.yaml": true, "x.wh.y.yaml": true, "noext": true, "*.yaml": true, ".env": true,
		"..yaml": false, "...yaml": false, ".wh.x.yaml": false, ".wh..wh..opq.yaml": false,
		"a\nb.yaml": false, "a\x1b[31m.yaml": false, "caf\xe9.yaml": false, "a\u202eb.yaml": false,
	} {
		_, err := Open(t.Context(), fakeFiles{name: []byte(mixin)}, name, name)
		var invalid *descriptor.InvalidError
		switch {
		case fits && err != nil:
			t.Errorf("%q: %v", name, err)
		case !fits && (!errors.As(err, &invalid) || invalid.Findings[0].Code != CodeStem):
			t.Errorf("%q: got %v, want a fault of the name", name, err)
		}
	}
}

// TestRecipeText: what the engine would refuse in its own words, or write down wrongly, is told at once.
func TestRecipeText(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "lamp.dockerfile is empty",
		" \r\n\t\n":                          "lamp.dockerfile is empty",
		"FROM scratch\nCOPY a /caf\xe9\n":    "line 2 of the recipe lamp.dockerfile is not UTF-8",
		"# caf\xe9\nFROM scratch\n \t# \xe9": "",
	} {
		_, err := Open(t.Context(), fakeFiles{"lamp.yaml": []byte(mixin), "lamp.dockerfile": []byte(text)}, "lamp.yaml", "lamp.yaml")
		var invalid *descriptor.InvalidError
		switch {
		case want == "" && err != nil:
			t.Errorf("%q: %v", text, err)
		case want != "" && (!errors.As(err, &invalid) || invalid.Findings[0].Code != CodeRecipeText || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

// TestLinks: a link to nothing is no absent file, else a kit would silently lose its content.
func TestLinks(t *testing.T) {
	for name, to := range map[string]string{"dangling": "nowhere", "outside": "../../etc/passwd", "absolute": "/dev/zero", "itself": "lamp.dockerfile"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "lamp.yaml"), []byte(mixin), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, filepath.Join(dir, "lamp.dockerfile")); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(t.Context(), dir, ""); err == nil || !strings.Contains(err.Error(), "read recipe lamp.dockerfile: lamp.dockerfile: the link leads to nothing") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"lamp.yaml": mixin, "real": "FROM scratch\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("real", filepath.Join(dir, "lamp.dockerfile")); err != nil {
		t.Fatal(err)
	}
	if p, err := Load(t.Context(), dir, ""); err != nil || p.companion == nil || string(p.companion.Text) != "FROM scratch\n" {
		t.Errorf("a link within the folder: %+v, %v", p, err)
	}
}
