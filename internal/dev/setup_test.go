// Package dev_test tests the scripts in this folder.
package dev_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// setup runs setup.sh with the given programs in a PATH of nothing but these links.
func setup(t *testing.T, links []string, args ...string) (string, error) {
	t.Helper()
	bin := t.TempDir()
	for _, name := range links {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	// The script looks where services are installed too; a test must not see those.
	text, err := os.ReadFile("setup.sh")
	if err != nil {
		t.Fatal(err)
	}
	script := strings.Replace(string(text), "\nPATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin\n", "\n", 1)
	if script == string(text) {
		t.Fatal("setup.sh sets PATH in another way: fix this test")
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sh", append([]string{"-c", script, "setup.sh"}, args...)...)
	cmd.Env = []string{"PATH=" + bin}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestSetupSaysFirstWhatToInstall(t *testing.T) {
	out, err := setup(t, []string{"id"}, "runc", "dockerd", "gcc")
	first, rest, _ := strings.Cut(out, "\n")
	if err == nil || first != "setup: please install: runc dockerd gcc" || !strings.Contains(rest, "runc docker.io gcc libc6-dev") {
		t.Errorf("got %v\n%s", err, out)
	}
}

func TestSetupLeavesAloneWhatIsThere(t *testing.T) {
	if out, err := setup(t, []string{"git"}, "git"); err != nil || out != "" {
		t.Errorf("got %v\n%s", err, out)
	}
}

func TestSetupRefusesAProgramThatItDoesNotKnow(t *testing.T) {
	if out, err := setup(t, []string{"git"}, "git", "rucn"); err == nil || !strings.Contains(out, "rucn") {
		t.Errorf("got %v\n%s", err, out)
	}
}
