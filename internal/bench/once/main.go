// Command once runs a program and writes what it took, as JSON, to file descriptor 3:
//
//	once PROGRAM ARGUMENT... 3>SAMPLE
//
// Streams, environment, working directory and exit status are the program's; 125 means that it could not be run
// or measured. `make bench` uses it, because a process begins as a copy of the one that starts it, and the kernel
// counts this copy in the peak of its memory: only a small program can measure another one's.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/sbxkit/sbxkit/internal/bench"
)

// notRun is the exit status if the program could not be run or measured.
const notRun = 125

func main() {
	status, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "once: %v\n", err)
		status = notRun
	}
	os.Exit(status)
}

func run(args []string) (status int, err error) {
	if len(args) == 0 {
		return 0, errors.New("no program is named")
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	begin := time.Now()
	err = cmd.Run()
	wall := time.Since(begin)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, err
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok || !cmd.ProcessState.Exited() {
		return 0, fmt.Errorf("run %s: %v", args[0], cmd.ProcessState)
	}
	sample := bench.Sample{
		Wall: wall,
		CPU:  cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(),
		Peak: usage.Maxrss << 10, // the kernel counts in KiB
	}
	return cmd.ProcessState.ExitCode(), json.NewEncoder(os.NewFile(3, "sample")).Encode(sample)
}
