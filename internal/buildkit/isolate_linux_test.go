package buildkit

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/moby/buildkit/client"
)

func TestIsolate(t *testing.T) {
	needRoot(t)
	cmd := helper(t, "isolated-describe", "a b", "", "c")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if got := exitStatus(t, err); got != 7 {
		t.Errorf("exit status %d, want 7", got)
	}
	// Inside it is the first process, and knows the number that people see.
	want := fmt.Sprintf("a b||c 1 %d true\n", cmd.Process.Pid)
	if string(out) != want {
		t.Errorf("output %q, want %q", out, want)
	}
}

func TestIsolatePassesSignals(t *testing.T) {
	needRoot(t)
	for _, test := range []struct {
		signal syscall.Signal
		want   int
	}{{syscall.SIGTERM, 9}, {syscall.SIGINT, 8}} {
		t.Run(test.signal.String(), func(t *testing.T) {
			cmd := helper(t, "isolated-signal")
			// In a session of its own it has no terminal, whose keys would reach it directly.
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
				t.Fatalf("first line %q: %v", line, err)
			}
			if err := cmd.Process.Signal(test.signal); err != nil {
				t.Fatal(err)
			}
			if got := exitStatus(t, cmd.Wait()); got != test.want {
				t.Errorf("exit status %d, want %d", got, test.want)
			}
		})
	}
}

// Who starts a program to outlive its terminal wants that of the inner process too.
func TestIsolateKeepsIgnoredSignals(t *testing.T) {
	needRoot(t)
	cmd := helper(t, "isolated-ignore")
	cmd.Args = append([]string{"sh", "-c", `trap "" HUP; exec "$0"`, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
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
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready true\n" {
		t.Fatalf("first line %q: %v", line, err)
	}
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	in.Close()
	if got := exitStatus(t, cmd.Wait()); got != 5 {
		t.Errorf("exit status %d, want 5", got)
	}
}

// A second signal to stop is an order, not a request.
func TestIsolateSecondSignalKills(t *testing.T) {
	needRoot(t)
	cmd := helper(t, "isolated-deaf")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("first line %q: %v", line, err)
	}
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} { // two of one kind may become one
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	if got := exitStatus(t, cmd.Wait()); got != 128+int(syscall.SIGKILL) {
		t.Errorf("exit status %d, want %d", got, 128+int(syscall.SIGKILL))
	}
}

// A reader that goes away, such as head, must not end in the status of a wrong command line.
func TestIsolateBrokenPipe(t *testing.T) {
	needRoot(t)
	cmd := helper(t, "isolated-write")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "line\n" {
		t.Fatalf("first line %q: %v", line, err)
	}
	out.Close()
	if got := exitStatus(t, cmd.Wait()); got != 6 {
		t.Errorf("exit status %d, want 6", got)
	}
}

// A killed build leaves no mount and no process, whichever of its two processes is killed.
func TestKilledBuildLeavesNothing(t *testing.T) {
	needRoot(t)
	for _, inner := range []bool{false, true} {
		t.Run(fmt.Sprintf("inner=%t", inner), func(t *testing.T) {
			root, mark := t.TempDir(), newMark()
			cmd := helper(t, "isolated-block", root, runner(t), mark)
			waitBlocking(t, cmd, mark)
			if m := mountsBelow(t, root); len(m) > 0 {
				t.Errorf("mounts seen outside during the build: %q", m)
			}
			victim := cmd.Process.Pid
			if inner {
				victim = onlyChild(t, cmd.Process.Pid)
			}
			if err := syscall.Kill(victim, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			err := cmd.Wait()
			if got := exitStatus(t, err); inner && got != 128+int(syscall.SIGKILL) {
				t.Errorf("exit status %d, want %d", got, 128+int(syscall.SIGKILL))
			}
			eventually(t, "processes", func() []string { return processesWith(t, root) })
			eventually(t, "containers", func() []string { return processesWith(t, mark) })
			if m := mountsBelow(t, root); len(m) > 0 {
				t.Errorf("mounts left: %q", m)
			}
			checkUsable(t, root)
		})
	}
}

// Without isolation the next engine clears away what a killed one left.
func TestStartClearsKilledBuild(t *testing.T) {
	needRoot(t)
	root, mark := t.TempDir(), newMark()
	cmd := helper(t, "block", root, runner(t), mark)
	waitBlocking(t, cmd, mark)
	if len(mountsBelow(t, root)) == 0 {
		t.Error("no mount during the build: this test shows nothing")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	checkUsable(t, root)
	eventually(t, "containers", func() []string { return processesWith(t, mark) })
	if m := mountsBelow(t, root); len(m) > 0 {
		t.Errorf("mounts left: %q", m)
	}
}

// waitBlocking starts a helper that builds and waits until its RUN step runs.
func waitBlocking(t *testing.T, cmd *exec.Cmd, mark string) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "blocking "+mark+"\n" {
		t.Fatalf("first line %q: %v", line, err)
	}
}

// onlyChild returns the process that an isolated one started.
func onlyChild(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	return child
}

// checkUsable starts an engine on a directory that a killed one has used: nothing of that is left, and it builds.
func checkUsable(t *testing.T, root string) {
	t.Helper()
	e := start(t, root)
	left, err := filepath.Glob(filepath.Join(root, "runc-*", "executor", "*", "config.json"))
	if err != nil || len(left) > 0 {
		t.Errorf("containers left: %q %v", left, err)
	}
	if left, err := filepath.Glob(filepath.Join(root, "runc-*", "executor", "hosts.*")); err != nil || len(left) > 0 {
		t.Errorf("files of containers left: %q %v", left, err)
	}
	err = dockerfile("FROM scratch", "COPY runner /runner", runStep("write", "/out", "x")).solve(t.Context(), e, runner(t), client.SolveOpt{}, nil)
	if err != nil {
		t.Error(err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}
