package project

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/sbxkit/sbxkit/descriptor"
)

// TestOverlooked lays out each folder of testdata/overlooked, whose kit is hello.yaml, and compares the
// findings as they are drawn with the head of the case; an empty head wants none.
func TestOverlooked(t *testing.T) {
	cases, err := filepath.Glob("testdata/overlooked/*.txtar")
	if err != nil || len(cases) < 10 {
		t.Fatalf("found %d cases (%v), want all of testdata/overlooked", len(cases), err)
	}
	for _, file := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			lay(t, dir, ar)
			p, err := Open(t.Context(), Dir(dir), "hello.yaml", "hello.yaml")
			if err != nil {
				t.Fatal(err)
			}
			pub, err := p.Publish(t.Context(), nil, Dir(dir))
			if err != nil {
				t.Fatal(err)
			}
			var drawn bytes.Buffer
			if err := descriptor.Render(&drawn, "hello.yaml", p.Document.Source(), pub.Findings); err != nil {
				t.Fatal(err)
			}
			if drawn.String() != string(ar.Comment) {
				t.Errorf("got\n%s\nwant\n%s", drawn.String(), ar.Comment)
			}
		})
	}
}

// Where a folder cannot be listed nothing is said, and nothing fails.
func TestOverlookedCannotList(t *testing.T) {
	files := fakeFiles{"lamp.yaml": []byte(mixin), "Dockerfile": []byte("FROM scratch")}
	p, err := Open(t.Context(), files, "lamp.yaml", "lamp.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if got := p.noContent(t.Context()); len(got) > 0 {
		t.Errorf("got %v", got)
	}
	p.files = Dir(filepath.Join(t.TempDir(), "none"))
	if got := p.noContent(t.Context()); len(got) > 0 {
		t.Errorf("got %v", got)
	}
}

func TestDirList(t *testing.T) {
	dir := t.TempDir()
	lay(t, dir, txtar.Parse([]byte("-- sub/b.x --\n-- sub/a.x --\n-- sub/c.y --\n-- d.x --\n")))
	for sub, want := range map[string]string{"sub": "[a.x b.x]", ".": "[d.x]", "../" + filepath.Base(dir): "", "none": ""} {
		got, err := Dir(dir).List(t.Context(), sub, "*.x", "[")
		if (err != nil) != (want == "") || err == nil && fmt.Sprint(got) != want {
			t.Errorf("%s: got %v (%v), want %s", sub, got, err, want)
		}
	}
}
