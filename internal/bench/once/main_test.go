package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sbxkit/sbxkit/internal/bench"
)

// large is memory of this test, in bytes, that must not be counted as a program's.
const large = 200 << 20

func TestOnce(t *testing.T) {
	program := filepath.Join(t.TempDir(), "once")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	ballast := bytes.Repeat([]byte("x"), large)
	for _, c := range []struct {
		name     string
		args     []string
		status   int
		measured bool
		said     string
	}{
		{"streams and status", []string{"/bin/sh", "-c", "echo out; echo err >&2; exit 7"}, 7, true, "out\nerr\n"},
		{"no such program", []string{"/no/such/program"}, notRun, false, "/no/such/program"},
		{"killed", []string{"/bin/sh", "-c", "kill -9 $$"}, notRun, false, "signal: killed"},
		{"nothing", nil, notRun, false, "no program is named"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file, err := os.Create(filepath.Join(t.TempDir(), "sample"))
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			cmd := exec.CommandContext(t.Context(), program, c.args...)
			cmd.ExtraFiles = []*os.File{file}
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != c.status || !strings.Contains(string(out), c.said) {
				t.Errorf("got %v, %q, want status %d, %q", err, out, c.status, c.said)
			}
			data, err := os.ReadFile(file.Name())
			if err != nil {
				t.Fatal(err)
			}
			if !c.measured {
				if len(data) > 0 {
					t.Errorf("measured %s", data)
				}
				return
			}
			var s bench.Sample
			if err := json.Unmarshal(data, &s); err != nil {
				t.Fatal(err)
			}
			if s.Wall <= 0 || s.Peak <= 0 || s.Peak >= int64(len(ballast)) {
				t.Errorf("got %+v", s)
			}
		})
	}
}
