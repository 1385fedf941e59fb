package project

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestLocate lays out each folder of testdata/find. The head of a case says what is searched ("at: PATH",
// default the folder) and what comes out ("want: NAME" or "error: TEXT").
func TestLocate(t *testing.T) {
	cases, err := filepath.Glob("testdata/find/*.txtar")
	if err != nil || len(cases) < 10 {
		t.Fatalf("found %d cases (%v), want all of testdata/find", len(cases), err)
	}
	for _, file := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			lay(t, dir, ar)
			at, want, fails := dir, "", ""
			for line := range strings.Lines(string(ar.Comment)) {
				key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
				switch key {
				case "at":
					at = filepath.Join(dir, value)
				case "want":
					want = filepath.Join(dir, value)
				case "error":
					fails = value
				}
			}
			got, err := Locate(at, "")
			if fails != "" {
				if err == nil || !strings.Contains(err.Error(), fails) {
					t.Fatalf("got %q and error %v, want an error with %q", got, err, fails)
				}
				return
			}
			if err != nil || got != want {
				t.Errorf("got %q (%v), want %q", got, err, want)
			}
		})
	}
}

func lay(t *testing.T, dir string, ar *txtar.Archive) {
	t.Helper()
	for _, f := range ar.Files {
		at := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLocateErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := Locate(dir, ""); !errors.Is(err, ErrNoDescriptor) {
		t.Errorf("an empty folder is %v", err)
	}
	if _, err := Locate(filepath.Join(dir, "none"), ""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an absent folder is %v", err)
	}
	if _, err := Locate(dir, filepath.Join(dir, "none.yaml")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an absent file is %v", err)
	}
	for _, name := range []string{"b.yaml", "a.yaml"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("schemaVersion: \"3\"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var two *AmbiguousError
	if _, err := Locate(dir, ""); !errors.As(err, &two) || strings.Join(two.Names, " ") != "a.yaml b.yaml" {
		t.Errorf("two descriptors are %v", err)
	}
	if got, err := Locate(dir, filepath.Join(dir, "b.yaml")); err != nil || filepath.Base(got) != "b.yaml" {
		t.Errorf("the one that is named is %q (%v)", got, err)
	}
}

func TestDirReadFile(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "secret")
	for name, data := range map[string]string{filepath.Join(dir, "ten"): "0123456789", outside: "secret"} {
		if err := os.WriteFile(name, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"inside": "ten", "leaves": outside} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	read := func(name string, limit int64) (string, error) {
		data, err := Dir(dir).ReadFile(t.Context(), name, limit)
		return string(data), err
	}
	if got, err := read("ten", 10); err != nil || got != "0123456789" {
		t.Errorf("at the limit: %q (%v)", got, err)
	}
	if _, err := read("ten", 9); !errors.Is(err, ErrTooLarge) {
		t.Errorf("over the limit: %v", err)
	}
	if got, err := read("inside", 10); err != nil || got != "0123456789" {
		t.Errorf("a link inside: %q (%v)", got, err)
	}
	if got, err := read("leaves", 10); err == nil {
		t.Errorf("a link that leaves the folder gives %q", got)
	}
	if got, err := read("../"+filepath.Base(filepath.Dir(outside))+"/secret", 10); err == nil {
		t.Errorf("a path that leaves the folder gives %q", got)
	}
	if _, err := read("none", 10); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an absent file: %v", err)
	}
	if _, err := read(".", 10); err == nil {
		t.Error("a folder is read as a file")
	}
}

func TestStem(t *testing.T) {
	for name, want := range map[string]string{
		"gh.yaml": "gh", "gh.kit.yaml": "gh.kit", "gh.dockerfile": "gh", "dir/gh.yaml": "gh", "gh": "gh", ".yaml": ".yaml",
	} {
		if got := Stem(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}
