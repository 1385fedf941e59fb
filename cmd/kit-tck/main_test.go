package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sbxkit/sbxkit/internal/cli"
	"github.com/sbxkit/sbxkit/internal/kittest"
	"github.com/sbxkit/sbxkit/internal/ociimage"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){tool: main})
}

// TestScripts runs the command lines of testdata. Besides the usual commands the scripts have
//
//	exits STATUS COMMAND...   runs a command that must end with that status
//	kit CASE DIR              writes the kit of a case of kittest as a layout into DIR; $DIGEST is what its
//	                          tag names, $DIGEST_amd64 and so on are its manifests
//	registry CASE             puts it into a registry on loopback instead; $REF names it there
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":    exits,
			"kit":      kit,
			"registry": pushed,
		},
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir) // no credentials of whoever runs the tests
			env.Setenv("TERM", "xterm")
			return nil
		},
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("status %d, want %d; stderr: %s", got, want, ts.ReadFile("stderr"))
	}
}

func kit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: kit CASE DIR")
	}
	dir := ts.MkAbs(args[1])
	ts.Check(os.MkdirAll(dir, 0o755))
	place, err := find(ts, args[0]).Write(dir, "")
	ts.Check(err)
	image, err := ociimage.OpenLayout(context.Background(), dir, place.Selector)
	if err != nil {
		return // a kit that cannot be judged, which is what its script is about
	}
	defer image.Close()
	ts.Setenv("DIGEST", image.Target.Digest.String())
	artifacts, err := image.Artifacts(context.Background())
	ts.Check(err)
	for _, a := range artifacts {
		ts.Setenv("DIGEST_"+path.Base(a.Platform), a.Descriptor.Digest.String())
	}
}

func pushed(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: registry CASE")
	}
	server := newRegistry()
	ts.Defer(server.Close)
	place, err := find(ts, args[0]).Write("", strings.TrimPrefix(server.URL, "http://"))
	ts.Check(err)
	ts.Setenv("REF", place.Ref)
}

func find(ts *testscript.TestScript, id string) *kittest.Case {
	cases, err := kittest.Cases()
	ts.Check(err)
	for _, c := range cases {
		if c.ID == id {
			return c
		}
	}
	ts.Fatalf("there is no case %s", id)
	return nil
}

func newRegistry() *httptest.Server {
	return httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
}

// Every kit of kittest ends the command with the status that it must.
func TestExitStatus(t *testing.T) {
	cases, err := kittest.Cases()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[int]int{}
	for _, c := range cases {
		if c.Source() != "" { // shown by a source that no command line can name
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			server := newRegistry()
			defer server.Close()
			place, err := c.Write(t.TempDir(), strings.TrimPrefix(server.URL, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			args := []string{"validate", place.Ref}
			if place.Ref == "" {
				args = []string{"validate", place.Selector, "-layout", place.Dir}
			}
			var out, talk bytes.Buffer
			got := run(t.Context(), args, surroundings{&out, &talk, func(string) string { return "" }, notATerminal})
			if got != c.Exit() {
				t.Fatalf("%s: status %d, want %d\n%s%s", c.Title, got, c.Exit(), out.String(), talk.String())
			}
			counts[got]++
			silent, report := &talk, &out
			if got == cli.Failed {
				silent, report = &out, &talk
			}
			if silent.Len() > 0 || report.Len() == 0 {
				t.Errorf("%s: stdout %q, stderr %q", c.Title, out.String(), talk.String())
			}
		})
	}
	t.Logf("%d kits conform, %d do not, %d could not be judged", counts[cli.OK], counts[cli.Wrong], counts[cli.Failed])
}

func notATerminal() (width int, ok bool) { return 0, false }

// Colours and hyperlinks, by what the command line, the environment and the output say.
func TestColor(t *testing.T) {
	for _, test := range []struct {
		color, noColor, term string
		terminal             bool
		wantColor, wantLinks bool
	}{
		{"auto", "", "xterm", true, true, true},
		{"auto", "", "xterm", false, false, false},
		{"auto", "1", "xterm", true, false, false},
		{"auto", "", "dumb", true, false, false},
		{"rainbow", "", "xterm", true, true, true}, // unknown values act like auto
		{"rainbow", "", "xterm", false, false, false},
		{"always", "1", "dumb", false, true, false},
		{"always", "", "xterm", true, true, true},
		{"never", "", "xterm", true, false, false},
	} {
		env := map[string]string{"NO_COLOR": test.noColor, "TERM": test.term}
		o := &validateOptions{color: test.color}
		got := o.layoutOfText(surroundings{
			getenv:   func(key string) string { return env[key] },
			terminal: func() (int, bool) { return 120, test.terminal },
		})
		if got.Color != test.wantColor || got.Links != test.wantLinks {
			t.Errorf("%+v: colour %v, links %v", test, got.Color, got.Links)
		}
	}
}
