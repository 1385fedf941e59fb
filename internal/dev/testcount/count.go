package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// maxOutput bounds what is kept of one test's output, in bytes. The newest stays: it holds the failure.
const maxOutput = 256 << 10

// event is one line of `go test -json`, see `go doc test2json`.
type event struct {
	Action     string
	Package    string
	ImportPath string // of what did not build
	Test       string
	Output     string
}

// A testID names a test, or a whole package where Test is empty.
type testID struct{ Package, Test string }

type test struct {
	action string // how it ended: pass, fail, skip, or empty when it did not
	parent bool   // has subtests
	output []byte
}

type counter struct {
	out   io.Writer
	tests map[testID]*test
}

func newCounter(out io.Writer) *counter {
	return &counter{out: out, tests: map[testID]*test{}}
}

// read takes in the stream. A line that is not JSON is passed on as it is.
func (c *counter) read(stream io.Reader) error {
	for r := bufio.NewReader(stream); ; {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) == nil && e.Action != "" {
				c.add(e)
			} else if _, err := c.out.Write(line); err != nil {
				return fmt.Errorf("write: %w", err)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read output of go test: %w", err)
		}
	}
}

func (c *counter) add(e event) {
	if e.Action == "build-output" {
		io.WriteString(c.out, e.Output)
		return
	}
	if e.Package == "" {
		return
	}
	t := c.at(e.Package, e.Test)
	switch e.Action {
	case "run":
		for name := e.Test; ; {
			at := strings.LastIndexByte(name, '/')
			if at < 0 {
				break
			}
			name = name[:at]
			c.at(e.Package, name).parent = true
		}
	case "output":
		if e.Test == "" && isVerdict(e.Output) {
			io.WriteString(c.out, e.Output)
			return
		}
		t.output = append(t.output, e.Output...)
		if over := len(t.output) - maxOutput; over > 0 {
			t.output = append(t.output[:0], t.output[over:]...)
		}
	case "pass":
		t.action, t.output = "pass", nil
	case "fail", "skip":
		t.action = e.Action
	}
}

// isVerdict finds the lines by which go test tells how a package ended.
func isVerdict(line string) bool {
	for _, start := range []string{"ok  \t", "FAIL\t", "?   \t"} {
		if strings.HasPrefix(line, start) {
			return true
		}
	}
	return false
}

func (c *counter) at(pkg, name string) *test {
	id := testID{pkg, name}
	if c.tests[id] == nil {
		c.tests[id] = &test{}
	}
	return c.tests[id]
}

// finish prints what failed and what was skipped, and returns the counts.
func (c *counter) finish() (passed, failed, skipped int) {
	ids := slices.SortedFunc(maps.Keys(c.tests), func(a, b testID) int {
		return cmp.Or(strings.Compare(a.Package, b.Package), strings.Compare(a.Test, b.Test))
	})
	guilty := map[testID]bool{} // packages and parents below which a failure was counted
	var skips []string
	// From behind, subtests come before the test that holds them, and tests before their package.
	for _, id := range slices.Backward(ids) {
		t := c.tests[id]
		switch {
		case t.action == "fail" && guilty[id]:
			// A part of it has been counted, but its own words may tell why.
			c.show(id, t)
		case t.action == "fail":
			failed++
			c.show(id, t)
		case id.Test == "":
			continue // a package that passed, or that has no tests
		case t.parent:
			continue
		case t.action == "pass":
			passed++
		case t.action == "skip":
			skipped++
			skips = append(skips, fmt.Sprintf("skipped: %s %s: %s\n", id.Package, id.Test, reason(t.output)))
		}
		if t.action == "fail" {
			guilty[testID{id.Package, ""}] = true
			for at := strings.LastIndexByte(id.Test, '/'); at >= 0; at = strings.LastIndexByte(id.Test[:at], '/') {
				guilty[testID{id.Package, id.Test[:at]}] = true
			}
		}
	}
	slices.Sort(skips)
	for _, line := range skips {
		io.WriteString(c.out, line)
	}
	return passed, failed, skipped
}

// show prints what a failed test wrote. A package has nothing to add to the line that go test printed.
func (c *counter) show(id testID, t *test) {
	text := strings.TrimSpace(string(t.output))
	if id.Test == "" && (text == "" || text == "FAIL") {
		return
	}
	fmt.Fprintf(c.out, "\n--- failed: %s %s\n%s\n", id.Package, id.Test, text)
}

// reason finds the message of a skipped test: what it wrote, without the framework's own lines.
func reason(output []byte) string {
	var words []string
	for line := range strings.Lines(string(output)) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "===") && !strings.HasPrefix(line, "---") {
			words = append(words, line)
		}
	}
	return cmp.Or(strings.Join(words, " "), "no reason given")
}
