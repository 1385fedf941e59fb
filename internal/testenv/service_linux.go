package testenv

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Bounds on waiting for a service. They end a hopeless wait; no verdict depends on them.
const (
	startTimeout = 2 * time.Minute
	stopTimeout  = 30 * time.Second
	pollInterval = 20 * time.Millisecond
)

// maxLog bounds what is kept of a service's output, in bytes; the newest stay.
const maxLog = 64 << 10

// service is one running program.
type service struct {
	name string
	cmd  *exec.Cmd
	log  logTail
	done chan struct{} // closed when the program has ended
	err  error         // why, valid after done
}

// workDir makes a folder with a short path: the name of a socket in it must stay below 108 bytes, which
// the test's own temporary folder does not promise.
func workDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sbx-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove %s: %v", dir, err)
		}
	})
	return dir
}

// inNamespaces makes a program the first process of its own process namespace, with a /proc that fits, and
// keeps its mounts from everybody else. When it ends, the kernel ends all that it started.
func inNamespaces(path string, args ...string) *exec.Cmd {
	script := `mount -t proc proc /proc && exec "$0" "$@"`
	cmd := exec.Command("/bin/sh", append([]string{"-c", script, path}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:   syscall.CLONE_NEWPID,
		Unshareflags: syscall.CLONE_NEWNS, // makes the mounts private as well
	}
	return cmd
}

// cgroupParent names a control group of its own for what a service runs, and removes it behind the service.
func cgroupParent(t testing.TB, dir string) string {
	t.Helper()
	name := filepath.Base(dir)
	t.Cleanup(func() {
		for _, pattern := range []string{"/sys/fs/cgroup/" + name, "/sys/fs/cgroup/*/" + name} {
			groups, _ := filepath.Glob(pattern) // the pattern is well-formed
			for _, group := range groups {
				if err := removeGroup(group); err != nil {
					t.Errorf("remove control group: %v", err)
				}
			}
		}
	})
	return "/" + name
}

// removeGroup removes a control group and those below it. Its files cannot and need not be removed.
func removeGroup(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // two hierarchies mounted as one
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := removeGroup(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return syscall.Rmdir(dir)
}

// start runs cmd until the test ends and returns once ready says nil. Cleanup stops it, and shows the end of
// its output if the test failed.
func start(t testing.TB, name string, cmd *exec.Cmd, ready func(*service) error) *service {
	t.Helper()
	s := &service{name: name, cmd: cmd, done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &s.log, &s.log
	cmd.WaitDelay = stopTimeout
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	// A test binary that is killed runs no clean-up: the kernel then ends the service.
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	started := make(chan error)
	go func() {
		// The signal is tied to the thread that started the program, so this one has to stay.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			s.err = cmd.Wait()
			close(s.done)
		}
	}()
	if err := <-started; err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	t.Cleanup(func() {
		s.stop(t)
		if t.Failed() {
			t.Logf("the end of what %s wrote:\n%s", name, s.log.String())
		}
	})
	s.await(t, ready)
	return s
}

func (s *service) await(t testing.TB, ready func(*service) error) {
	t.Helper()
	deadline := time.Now().Add(startTimeout)
	for {
		err := ready(s)
		if err == nil {
			return
		}
		select {
		case <-s.done:
			t.Fatalf("start %s: it ended: %v", s.name, s.err)
		case <-time.After(pollInterval):
		}
		if time.Now().After(deadline) {
			t.Fatalf("start %s: not ready after %s: %v", s.name, startTimeout, err)
		}
	}
}

// stop asks the program to end and kills it if it does not.
func (s *service) stop(t testing.TB) {
	t.Helper()
	s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.done:
		return
	case <-time.After(stopTimeout):
	}
	t.Logf("%s did not end within %s: killing it", s.name, stopTimeout)
	s.cmd.Process.Kill()
	<-s.done
}

// socketAnswers is a readiness check for a service on a unix socket.
func socketAnswers(path string) func(*service) error {
	return func(*service) error {
		conn, err := net.Dial("unix", path)
		if err != nil {
			return err
		}
		return conn.Close()
	}
}

// logTail keeps the newest output of a service.
type logTail struct {
	mu   sync.Mutex
	data []byte // guarded by mu
}

func (l *logTail) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.data = append(l.data, p...)
	if over := len(l.data) - maxLog; over > 0 {
		l.data = append(l.data[:0], l.data[over:]...)
	}
	return len(p), nil
}

func (l *logTail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.data)
}

// settings writes a file for programs that would otherwise read the machine's own settings.
func settings(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// output runs a short program; its complaints become part of the error.
func output(cmd *exec.Cmd) (string, error) {
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("run %s: %w\n%s", cmd.Path, err, bytes.TrimSpace(complaints.Bytes()))
	}
	return string(out), nil
}
