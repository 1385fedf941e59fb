package buildkit

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/buildkit/client"
)

// A cache that was in use when the machine went down is dropped; one that was closed, or whose
// engine was merely killed, is not.
func TestCacheAfterCrash(t *testing.T) {
	needRoot(t)
	boot, err := os.ReadFile(bootIDFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		mark string // what the last engine left; nothing if empty
		kept bool
	}{
		{"closed", "", true},
		{"killed", string(boot), true},
		{"went down", "01234567-89ab-cdef-0123-456789abcdef\n", false},
		{"went down at once", " ", false},
		{"nonsense", strings.Repeat("x", 10*maxShortBytes), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			var said []string
			build := func() string {
				e := startWith(t, Options{Root: root, Logf: func(format string, a ...any) {
					said = append(said, fmt.Sprintf(format, a...))
				}})
				var out bytes.Buffer
				r := dockerfile("FROM scratch", "COPY runner /runner", runStep("say", "hello"))
				if err := r.solve(t.Context(), e, runner(t), client.SolveOpt{}, &out); err != nil {
					t.Fatal(err)
				}
				if _, err := os.Stat(filepath.Join(root, runningName)); err != nil {
					t.Error(err)
				}
				if err := e.Close(); err != nil {
					t.Fatal(err)
				}
				return out.String()
			}
			build()
			mark := filepath.Join(root, runningName)
			if _, err := os.Stat(mark); !os.IsNotExist(err) {
				t.Errorf("mark after Close: %v", err)
			}
			foreign := filepath.Join(root, "somebody's file")
			for name, text := range map[string]string{mark: test.mark, foreign: "x"} {
				if text == "" {
					continue
				}
				if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, wantSaid := "", 0
			if !test.kept {
				want, wantSaid = "hello\n", 1
			}
			if got := build(); got != want || len(said) != wantSaid {
				t.Errorf("the second build printed %q, want %q; said %q", got, want, said)
			}
			if _, err := os.Stat(foreign); err != nil {
				t.Error(err)
			}
		})
	}
}
