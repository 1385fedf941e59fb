package buildkit

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// hold starts a process that holds root, and returns the end of its standard input.
func hold(t *testing.T, name, root string) (*exec.Cmd, io.Closer) {
	t.Helper()
	cmd := helper(t, name, root)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "holding\n" {
		t.Fatalf("first line %q: %v", line, err)
	}
	return cmd, in
}

func TestTwoProcessesTakeTurns(t *testing.T) {
	needRoot(t)
	for _, name := range []string{"hold", "isolated-hold"} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			cmd, end := hold(t, name, root)
			said := make(chan string, 10)
			e, err := Start(t.Context(), Options{Root: root, Logf: func(format string, a ...any) {
				said <- fmt.Sprintf(format, a...)
				end.Close() // the other may go now that this one waits
			}})
			if err != nil {
				t.Fatal(err)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
			want := fmt.Sprintf("waiting for %s: in use by process %d", root, cmd.Process.Pid)
			if got := <-said; got != want {
				t.Errorf("said %q, want %q", got, want)
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWaitEndsWithContext(t *testing.T) {
	needRoot(t)
	root := t.TempDir()
	first := start(t, root)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Start(ctx, Options{Root: root, Logf: func(format string, a ...any) {
		if s := fmt.Sprintf(format, a...); !strings.HasSuffix(s, "in use by this process") {
			t.Errorf("said %q", s)
		}
		cancel()
	}})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), root) {
		t.Errorf("error %v, want one that names %s and says that the wait was cancelled", err, root)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	start(t, root) // and nobody holds it now
}

// A damaged cache is an error that tells the way out.
func TestDamagedCache(t *testing.T) {
	needRoot(t)
	root := t.TempDir()
	e := start(t, root)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(root, "runc-"+e.Snapshotter, "containerdmeta.db")
	if err := os.WriteFile(name, bytes.Repeat([]byte("x"), 1<<16), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), Options{Root: root}); err == nil || !strings.Contains(err.Error(), "delete "+root) {
		t.Errorf("error %v, want one that says what to delete", err)
	}
	if err := dropCache(root); err != nil {
		t.Fatal(err)
	}
	start(t, root) // neither the lock nor the mark was left behind
}

func TestStateDirectory(t *testing.T) {
	needRoot(t)
	root := t.TempDir() + "/a/b"
	start(t, root)
	st, err := os.Stat(root)
	if err != nil {
		t.Fatal(err)
	}
	if st.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, want 0700", st.Mode().Perm())
	}
	for _, pattern := range stateNames {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(names) == 0 {
			t.Errorf("%s: %q, %v", pattern, names, err)
		}
		for _, name := range names {
			if st, err := os.Stat(name); err != nil || st.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s: mode %v, want none for others (%v)", name, st.Mode(), err)
			}
		}
	}
	if _, err := Start(t.Context(), Options{}); err == nil {
		t.Error("started without a directory")
	}
}
