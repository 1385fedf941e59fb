package buildkit

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// isolatedVar marks the inner process and tells it the number that its parent has outside.
const isolatedVar = "SBXKIT_ISOLATED_PID"

// outerPID is the process number that people see for this process, if it is not its own.
var outerPID int

// hostPID returns the process number to name in messages.
func hostPID() int {
	if outerPID != 0 {
		return outerPID
	}
	return os.Getpid()
}

// Isolate moves the program into mount and process namespaces of its own, so that nothing of a build
// outlives it however it ends: when the process is killed, the kernel takes its mounts and every
// process that it started along, containers included. Without it they would stay.
//
// A thread cannot change these for a running program, so Isolate runs the program a second time, in
// them, with the same arguments, environment, working directory and open files. Call it from the main
// goroutine as soon as it is known that there is something to build, before anything else was done:
//
//	if status, done, err := buildkit.Isolate(); err != nil || done {
//		// report err, or exit with status
//	}
//
// In the process that was called, it returns done and the exit status of the second one: 128 and the
// signal's number if a signal ended it. In the second process, it returns false at once. It also
// returns false where it can do nothing: without root, or without the right to make namespaces (then
// Start says what is missing).
//
// Signals that are sent to the first process are passed on; a SIGHUP only if the program was not started to
// ignore it, as nohup does. SIGINT and SIGQUIT are not while the process is in the foreground of a terminal,
// because the terminal sends them to both. A second SIGINT or SIGTERM ends the second process at once. In that
// one, writing to a pipe that nobody reads is an error like any other: the first process of a namespace cannot
// die of a signal, and its status would look like a wrong command line.
//
// Host mounts made later are seen inside; mounts made inside are not seen outside. The cost is one more start of
// the program.
func Isolate() (status int, done bool, err error) {
	if outer := os.Getenv(isolatedVar); outer != "" && os.Getpid() == 1 {
		if err := os.Unsetenv(isolatedVar); err != nil {
			return 0, false, fmt.Errorf("isolate build: %w", err)
		}
		return 0, false, enterIsolation(outer)
	}
	if os.Geteuid() != 0 {
		return 0, false, nil
	}

	// The kernel kills the inner process when the thread that started it ends, so it must not be one that
	// the scheduler retires.
	runtime.LockOSThread()
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: os.Args,
		Env:   append(os.Environ(), isolatedVar+"="+strconv.Itoa(os.Getpid())),
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		SysProcAttr: &syscall.SysProcAttr{
			Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID,
			Pdeathsig:  syscall.SIGKILL,
		},
	}
	if err := cmd.Start(); err != nil {
		signal.Stop(signals)
		runtime.UnlockOSThread()
		return 0, false, nil
	}
	go func() {
		stops := 0
		for s := range signals {
			if s == syscall.SIGINT || s == syscall.SIGTERM {
				if stops++; stops > 1 {
					_ = cmd.Process.Kill() // it may have ended already
				}
			}
			if (s == syscall.SIGINT || s == syscall.SIGQUIT) && inForeground() {
				continue
			}
			_ = cmd.Process.Signal(s) // likewise
		}
	}()
	err = cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, true, fmt.Errorf("isolate build: %w", err)
	}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal()), true, nil
	}
	return cmd.ProcessState.ExitCode(), true, nil
}

// enterIsolation completes the namespaces from inside. The marker's value only ends up in a message.
func enterIsolation(outer string) error {
	// Told of the signal, the runtime leaves it at the error of the write. Steps of a build do not inherit this.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	// Mounts made here must not appear outside. In a changed root, which is no mount point, the kernel
	// refuses; then they do appear, but the build itself works.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("isolate build: make mounts private: %w", err)
	}
	// runc looks itself and its children up by the numbers that they have in here.
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("isolate build: mount /proc: %w", err)
	}
	outerPID, _ = strconv.Atoi(outer)
	return nil
}

// inForeground reports whether this process belongs to the foreground of its terminal, which sends the
// signals of its keys to the inner process, too.
func inForeground() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
