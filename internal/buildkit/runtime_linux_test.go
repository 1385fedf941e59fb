package buildkit

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/moby/buildkit/client"
)

// pathWith makes PATH a directory with nothing but the named programs, and returns it.
func pathWith(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	return dir
}

func TestFindRuntime(t *testing.T) {
	for _, test := range []struct {
		have []string
		want string   // name of the program
		says []string // parts of the error
	}{
		{have: []string{"runc"}, want: "runc"},
		{have: []string{"crun", "runc"}, want: "runc"},
		{have: []string{"runc", "buildkit-runc"}, want: "buildkit-runc"},
		{says: []string{"apt-get install runc"}},
		{have: []string{"crun"}, says: []string{"apt-get install runc", "/crun cannot take its place"}},
	} {
		t.Run(strings.Join(test.have, "+"), func(t *testing.T) {
			dir := pathWith(t, test.have...)
			got, err := findRuntime()
			if test.want != "" {
				if want := filepath.Join(dir, test.want); got != want || err != nil {
					t.Errorf("got %q, %v, want %q", got, err, want)
				}
				return
			}
			if !errors.Is(err, ErrNoRuntime) {
				t.Fatalf("error %v, want %v", err, ErrNoRuntime)
			}
			for _, part := range test.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q lacks %q", err, part)
				}
			}
		})
	}
}

// Without a runtime everything but RUN works, and RUN says what to install.
func TestWithoutRuntime(t *testing.T) {
	needRoot(t)
	program := runner(t)
	pathWith(t)
	e := start(t, t.TempDir())
	if e.Runtime != "" {
		t.Errorf("runtime %q, want none", e.Runtime)
	}
	copies := dockerfile("FROM scratch", "COPY runner /runner")
	if err := copies.solve(t.Context(), e, program, client.SolveOpt{}, nil); err != nil {
		t.Error(err)
	}
	runs := dockerfile("FROM scratch", "COPY runner /runner", runStep("say", "x"))
	err := runs.solve(t.Context(), e, program, client.SolveOpt{}, nil)
	if err == nil || !strings.Contains(err.Error(), "apt-get install runc") {
		t.Errorf("error %v, want one that says what to install", err)
	}
}

// Who may not build here is told so first, and what to do.
func TestWithoutRights(t *testing.T) {
	needRoot(t)
	for _, test := range []struct{ name, helper, want string }{
		{"no root", "isolated-hold", "start builder: the embedded builder must run as root: " +
			"run it with sudo\n"},
		{"no mounts", "powerless-isolated-hold", "start builder: the embedded builder must run as root: " +
			"this root may not mount file systems (operation not permitted): give it CAP_SYS_ADMIN (a container: --privileged)\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			cmd := helper(t, test.helper, filepath.Join(t.TempDir(), "state"))
			if test.name == "no root" {
				cmd.Path = "/proc/self/exe" // the program's own directory may be closed to others
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			}
			var stderr strings.Builder
			cmd.Stderr = &stderr
			if got := exitStatus(t, cmd.Run()); got != 1 {
				t.Errorf("exit status %d, want 1", got)
			}
			if stderr.String() != test.want {
				t.Errorf("said %q, want %q", stderr.String(), test.want)
			}
		})
	}
}
