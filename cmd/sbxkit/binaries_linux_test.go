package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// commandTimeout ends a command that hangs; no test depends on its value.
const commandTimeout = 10 * time.Minute

// programs holds the two commands, built as a release builds them.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := filepath.Abs("../../.cache/programs")
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-trimpath", "-o", dir+"/", "../sbxkit", "../kit-tck")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.New(string(out))
	}
	return dir, nil
})

// bench is a place to run the commands in: its own caches, no settings of the user.
type bench struct {
	t    *testing.T
	dir  string // of the programs
	home string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	dir, err := programs()
	if err != nil {
		t.Fatalf("build the commands: %v", err)
	}
	return &bench{t: t, dir: dir, home: t.TempDir()}
}

// result is what a command said.
type result struct {
	status         int
	stdout, stderr string
}

// run runs a program: one of ours by its name, or any other by its path.
func (b *bench) run(name string, args ...string) result {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), commandTimeout)
	defer cancel()
	if !strings.ContainsRune(name, '/') {
		name = filepath.Join(b.dir, name)
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "SBXKIT_HOME="+b.home, "DOCKER_CONFIG="+b.home+"/docker")
	return b.capture(cmd)
}

func (b *bench) capture(cmd *exec.Cmd) result {
	b.t.Helper()
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		b.t.Fatalf("%s: %v", cmd, err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// must is run for commands that have to succeed.
func (b *bench) must(name string, args ...string) result {
	b.t.Helper()
	r := b.run(name, args...)
	if r.status != 0 {
		b.t.Fatalf("%s %s: exit status %d\n%s%s", name, strings.Join(args, " "), r.status, r.stdout, r.stderr)
	}
	return r
}
