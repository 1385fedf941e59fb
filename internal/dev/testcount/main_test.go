package main

import (
	"os"
	"strings"
	"testing"
)

// Each folder of testdata is a module of its own whose tests end in a known way.
func TestCounts(t *testing.T) {
	t.Setenv("GOFLAGS", "")
	for _, c := range []struct {
		module string
		status int
		last   string
		shown  []string
	}{
		{"mixed", 1, "5 passed, 2 failed, 2 skipped", []string{
			"the deep one", "the parent itself", "skipped: x.test/mixed TestSkip: a_test.go:7: no moon tonight\n", "FAIL\tx.test/mixed",
		}},
		{"broken", 1, "0 passed, 1 failed, 0 skipped", []string{"undefined: undefined"}},
		{"panics", 1, "1 passed, 1 failed, 0 skipped", []string{"out of cheese"}},
		{"exits", 1, "1 passed, 1 failed, 0 skipped", []string{"--- failed: x.test/exits"}},
		{"empty", 1, "0 passed, 0 failed, 0 skipped", []string{"no test was run"}},
	} {
		t.Run(c.module, func(t *testing.T) {
			var out strings.Builder
			status := run("testdata/"+c.module, []string{"./..."}, &out, &out)
			if status != c.status {
				t.Errorf("exit status %d, want %d", status, c.status)
			}
			if !strings.HasSuffix(out.String(), "\n"+c.last+"\n") {
				t.Errorf("does not end in %q", c.last)
			}
			for _, text := range c.shown {
				if !strings.Contains(out.String(), text) {
					t.Errorf("does not show %q", text)
				}
			}
			if t.Failed() {
				t.Logf("all of it:\n%s", out.String())
			}
		})
	}
}

func TestPassingModuleExitsZero(t *testing.T) {
	t.Setenv("GOFLAGS", "")
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module x.test/fine\n\ngo 1.26\n")
	write("a_test.go", "package fine\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) { t.Log(\"chatter\") }\n")
	var out, errs strings.Builder
	status := run(dir, []string{"-v", "./..."}, &out, &errs)
	if status != 0 || errs.String() != "" || strings.Contains(out.String(), "chatter") ||
		!strings.HasPrefix(out.String(), "ok  \tx.test/fine\t") || !strings.HasSuffix(out.String(), "s\n1 passed, 0 failed, 0 skipped\n") {
		t.Errorf("status %d, out %q, errors %q", status, out.String(), errs.String())
	}
}

func TestOutputOfOneTestIsBounded(t *testing.T) {
	c := newCounter(&strings.Builder{})
	for range 3 {
		c.add(event{Action: "output", Package: "p", Test: "T", Output: strings.Repeat("x", maxOutput) + "end"})
	}
	got := c.at("p", "T").output
	if len(got) != maxOutput || !strings.HasSuffix(string(got), "xend") {
		t.Errorf("kept %d bytes", len(got))
	}
}

// The packages that link the library run without the race detector, the others with it; all are counted.
func TestRaceExcept(t *testing.T) {
	t.Setenv("GOFLAGS", "")
	var out, errs strings.Builder
	status := run("testdata/racy", []string{raceExcept, "x.test/racy/library", "-count=1"}, &out, &errs)
	if status != 0 || !strings.HasSuffix(out.String(), "\n2 passed, 0 failed, 0 skipped\n") {
		t.Errorf("status %d, out %q, errors %q", status, out.String(), errs.String())
	}
	for _, args := range [][]string{{raceExcept}, {raceExcept, "x.test/racy/librray"}} {
		if status := run("testdata/racy", args, &out, &errs); status == 0 {
			t.Errorf("%q: status 0", args)
		}
	}
}
