// Package testenv gives tests the real programs that they need: it finds them, starts services for the
// length of one test, and stops exactly what it started.
//
// Start with [Tool] for a program, [Registry], [Dockerd] or [Buildkitd] for a service, and [Base] for an
// image to build upon. A test that needs something absent is skipped by name on a developer's machine;
// where CI=true stands in the environment it fails, so that no check is ever lost silently.
// `make setup` brings everything.
//
// Services listen on loopback or on a socket in a folder of their own, keep all state there, and run in
// mount and process namespaces of their own: however a test ends, no mount and no process stays. Any
// number of them may run at once. They need root.
//
// The package is for tests alone and promises nothing to anybody else.
package testenv

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// InCI tells whether an absent program is a failure.
func InCI() bool { return os.Getenv("CI") == "true" }

// missing ends the test: it fails in CI and is skipped elsewhere.
func missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if InCI() {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// sbin holds the folders where distributions keep services, which a plain user's PATH lacks.
var sbin = []string{"/usr/local/sbin", "/usr/sbin", "/sbin"}

// Tool returns the path of a program.
func Tool(t testing.TB, name string) string {
	t.Helper()
	path, ok := find(name)
	if !ok {
		missing(t, "%s is not installed: run make setup", name)
	}
	return path
}

func find(name string) (string, bool) {
	if path, err := exec.LookPath(name); err == nil {
		return path, true
	}
	for _, dir := range sbin {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, true
		}
	}
	return "", false
}

// Root ends the test unless root runs it.
func Root(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		missing(t, "this test needs root")
	}
}

// moduleDir is the folder of go.mod.
var moduleDir = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	return filepath.Dir(strings.TrimSpace(string(out))), err
})

// cacheDir is where `make` keeps what is slow to make. It can be deleted at any time.
func cacheDir(t testing.TB) string {
	t.Helper()
	dir, err := moduleDir()
	if err != nil {
		t.Fatalf("find the module: %v", err)
	}
	return filepath.Join(dir, ".cache")
}

// Base returns an OCI layout directory with an image tagged "latest" for the machine's own architecture.
// It is made of distribution packages and holds what kits/shell asks of its base. digest is its manifest's.
func Base(t testing.TB) (dir, digest string) {
	t.Helper()
	dir = filepath.Join(cacheDir(t), "base")
	text, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		missing(t, "there is no base image: run make setup")
	}
	var index struct {
		Manifests []struct{ Digest string }
	}
	if err := json.Unmarshal(text, &index); err != nil || len(index.Manifests) != 1 {
		t.Fatalf("read base image: %v, %d manifests", err, len(index.Manifests))
	}
	return dir, index.Manifests[0].Digest
}
