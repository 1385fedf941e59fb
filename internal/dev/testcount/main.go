// Command testcount runs `go test -json` with the arguments it is given and says how many tests passed,
// failed and were skipped:
//
//	go run ./internal/dev/testcount -race ./...
//
// With -race-except LIBRARY in front, two runs over the whole module are counted as one: packages whose tests
// link that library are run without the race detector, all others with it. For a library that has data races
// of its own, which the detector would report as failures of the tests that call it:
//
//	go run ./internal/dev/testcount -race-except example.com/library -count=1
//
// It prints a line a package while the tests run, the whole output of what failed, and each skipped test by
// name. Its last line is "N passed, N failed, N skipped". A test with subtests counts as its subtests. A package
// that does not build, or ends in the middle, counts as one failure. The exit status is that of `go test`, and
// never 0 when nothing was run.
package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

func main() {
	os.Exit(run(".", os.Args[1:], os.Stdout, os.Stderr))
}

// run tests the module in dir and returns the exit status.
func run(dir string, args []string, stdout, stderr io.Writer) int {
	runs, err := plan(dir, args)
	if err != nil {
		fmt.Fprintf(stderr, "testcount: %v\n", err)
		return 1
	}
	c := newCounter(stdout)
	status := 0
	for _, args := range runs {
		status = max(status, goTest(dir, args, c, stderr))
	}
	passed, failed, skipped := c.finish()
	if passed+failed+skipped == 0 {
		fmt.Fprintln(stderr, "testcount: no test was run")
		status = max(status, 1)
	}
	if failed > 0 {
		status = max(status, 1)
	}
	fmt.Fprintf(stdout, "%d passed, %d failed, %d skipped\n", passed, failed, skipped)
	return status
}

// goTest is one run of go test. It returns its exit status, or 1 if it ended otherwise.
func goTest(dir string, args []string, c *counter, stderr io.Writer) int {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Dir = dir
	cmd.Stderr = stderr
	stream, err := cmd.StdoutPipe()
	if err != nil {
		fmt.Fprintf(stderr, "testcount: %v\n", err)
		return 1
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer func() {
		signal.Stop(signals)
		close(signals)
	}()
	if err := cmd.Start(); err != nil {
		fmt.Fprintf(stderr, "testcount: run go test: %v\n", err)
		return 1
	}
	go func() {
		// This program outlives go test, so that what that still writes is counted. A terminal sends an
		// interrupt to both; anything else is handed on.
		for s := range signals {
			if s != os.Interrupt {
				cmd.Process.Signal(s)
			}
		}
	}()
	readErr := c.read(stream)
	stream.Close() // ends a go test that nobody reads any more
	waitErr := cmd.Wait()
	status := max(cmd.ProcessState.ExitCode(), 0)
	if waitErr != nil && status == 0 {
		status = 1 // ended by a signal
	}
	if readErr != nil {
		fmt.Fprintf(stderr, "testcount: %v\n", readErr)
		status = max(status, 1)
	}
	return status
}
