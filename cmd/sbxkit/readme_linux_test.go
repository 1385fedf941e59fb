package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sbxkit/sbxkit/internal/testenv"
)

// The kit that the README teaches with is built and conforms.
func TestReadmeKit(t *testing.T) {
	testenv.Root(t)
	readme := string(readFile(t, "../../README.md"))
	dir := t.TempDir()
	for name, text := range map[string]string{
		"hello.yaml":       fenced(t, readme, "yaml"),
		"hello.dockerfile": fenced(t, readme, "dockerfile"),
		"hello.sh":         "#!/bin/sh\necho \"$GREETING\"\n",
		"notes.md":         "Say hello.\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b := newBench(t)
	out := filepath.Join(t.TempDir(), "out")
	r := b.must("sbxkit", "build", dir, "-q", "-t", "hello:1.0.0", "--build-arg", "greeting=hello", "-o", "type=oci,dest="+out+",tar=false")
	if r.stderr != "" {
		t.Errorf("the build has something to say: %s", r.stderr)
	}
	b.must("kit-tck", "validate", "--layout", out, "1.0.0")
}

// fenced gives the one code block of a language.
func fenced(t *testing.T, text, language string) string {
	t.Helper()
	_, after, ok := strings.Cut(text, "\n```"+language+"\n")
	block, rest, end := strings.Cut(after, "\n```\n")
	if !ok || !end || strings.Contains(rest, "\n```"+language+"\n") {
		t.Fatalf("README has not one block of %s", language)
	}
	return block + "\n"
}
