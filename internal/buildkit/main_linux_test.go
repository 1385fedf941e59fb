package buildkit

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/moby/buildkit/client"
	gateway "github.com/moby/buildkit/frontend/gateway/client"
	"github.com/tonistiigi/fsutil"
	"golang.org/x/sys/unix"

	"github.com/sbxkit/sbxkit/internal/testenv"
)

// helperVar makes the test binary act as a program that builds, for tests about processes.
const helperVar = "SBXKIT_BUILDKIT_TEST_HELPER"

func TestMain(m *testing.M) {
	if name := os.Getenv(helperVar); name != "" {
		os.Exit(runHelper(name, os.Args[1:]))
	}
	status := m.Run()
	if name, err := buildRunner(); err == nil {
		_ = os.RemoveAll(filepath.Dir(name))
	}
	os.Exit(status)
}

// runHelper is the helper's main function.
func runHelper(name string, args []string) int {
	if next, ok := strings.CutPrefix(name, "powerless-"); ok { // root that may not mount
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, unix.CAP_SYS_ADMIN, 0, 0, 0); err != nil {
			panic(err)
		}
		os.Setenv(helperVar, next)
		panic(syscall.Exec("/proc/self/exe", os.Args, os.Environ()))
	}
	if strings.HasPrefix(name, "isolated-") {
		if status, done, err := Isolate(); done || err != nil {
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
			return status
		}
	}
	switch strings.TrimPrefix(name, "isolated-") {
	case "nothing":
		return 0
	case "describe": // prints its arguments and process numbers
		fmt.Println(strings.Join(args, "|"), os.Getpid(), hostPID(), os.Getenv(isolatedVar) == "")
		return 7
	case "signal": // ends by SIGTERM or SIGINT, with a status that tells which
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM, syscall.SIGINT)
		fmt.Println("ready")
		if s := <-c; s == syscall.SIGTERM {
			return 9
		}
		return 8
	case "ignore": // tells whether it ignores SIGHUP, until standard input ends
		fmt.Println("ready", signal.Ignored(syscall.SIGHUP))
		_, _ = os.Stdin.Read(make([]byte, 1))
		return 5
	case "deaf": // does not end by SIGTERM
		signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM)
		fmt.Println("ready")
		select {}
	case "write": // writes until it cannot
		for {
			if _, err := os.Stdout.WriteString("line\n"); err != nil {
				if errors.Is(err, syscall.EPIPE) {
					return 6
				}
				return 1
			}
		}
	case "block": // block ROOT RUNNER MARK: a build that does not end
		return helperBuild(args[0], args[1], "block", args[2])
	case "fail": // fail ROOT RUNNER: a build that fails
		return helperBuild(args[0], args[1], "fail")
	case "scratch": // scratch ROOT OUT: a build for two platforms from nothing
		e, err := Start(context.Background(), Options{Root: args[0]})
		if err != nil {
			fmt.Println(err)
			return 1
		}
		_, err = e.Client.Build(context.Background(), client.SolveOpt{Exports: toLayout(args[1])}, "test", scratchBuild, nil)
		if err := errors.Join(err, e.Close()); err != nil {
			fmt.Println(err)
			return 1
		}
		return 0
	case "hold": // hold ROOT: holds the state until standard input ends
		e, err := Start(context.Background(), Options{Root: args[0]})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println("holding")
		_, _ = os.Stdin.Read(make([]byte, 1))
		if err := e.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	return 2
}

// helperBuild builds FROM scratch with one RUN and prints what the RUN prints.
func helperBuild(root, runner string, run ...string) int {
	ctx := context.Background()
	e, err := Start(ctx, Options{Root: root})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	recipe := dockerfile("FROM scratch", "COPY runner /runner", runStep(run...))
	err = recipe.solve(ctx, e, runner, client.SolveOpt{}, os.Stdout)
	if err := e.Close(); err != nil {
		fmt.Println(err)
		return 1
	}
	if err != nil {
		fmt.Println("build:", err)
		return 1
	}
	return 0
}

// helper prepares a process of the helper.
func helper(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", args...)
	if exe, err := os.Executable(); err == nil {
		cmd.Path = exe
	}
	cmd.Env = append(os.Environ(), helperVar+"="+name)
	return cmd
}

// needRoot is for tests that only root can run; runc, which can be installed, must be there.
func needRoot(t testing.TB) {
	t.Helper()
	testenv.Root(t)
	if _, err := findRuntime(); err != nil {
		t.Fatal(err)
	}
}

// start starts an engine and closes it when the test ends.
func start(t testing.TB, root string) *Engine {
	t.Helper()
	return startWith(t, Options{Root: root, Logf: t.Logf})
}

func startWith(t testing.TB, opt Options) *Engine {
	t.Helper()
	e, err := Start(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// buildRunner compiles the program that RUN steps run.
var buildRunner = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "runner")
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "runner")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", name, "./testdata/runner")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("compile runner: %w: %s", err, out)
	}
	return name, nil
})

func runner(t testing.TB) string {
	t.Helper()
	name, err := buildRunner()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// recipe is a Dockerfile.
type recipe string

func dockerfile(lines ...string) recipe { return recipe(strings.Join(lines, "\n") + "\n") }

// runStep is a RUN of the runner.
func runStep(args ...string) string {
	b, err := json.Marshal(append([]string{"/runner"}, args...))
	if err != nil {
		panic(err)
	}
	return "RUN " + string(b)
}

// solve builds the recipe with the engine's own Dockerfile frontend. The build context holds the runner.
// What RUN steps print goes to out, unless that is nil.
func (r recipe) solve(ctx context.Context, e *Engine, runner string, opt client.SolveOpt, out io.Writer) error {
	dir, err := os.MkdirTemp("", "recipe")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte(r), 0o600); err != nil {
		return err
	}
	recipeFS, err := fsutil.NewFS(dir)
	if err != nil {
		return err
	}
	contextFS, err := fsutil.NewFS(filepath.Dir(runner))
	if err != nil {
		return err
	}
	opt.LocalMounts = map[string]fsutil.FS{"dockerfile": recipeFS, "context": contextFS}
	status := make(chan *client.SolveStatus)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for s := range status {
			for _, l := range s.Logs {
				if out != nil {
					_, _ = out.Write(l.Data)
				}
			}
		}
	}()
	_, err = e.Client.Build(ctx, opt, "test", func(ctx context.Context, c gateway.Client) (*gateway.Result, error) {
		return c.Solve(ctx, gateway.SolveRequest{Frontend: "dockerfile.v0", FrontendOpt: opt.FrontendAttrs})
	}, status)
	<-done
	return err
}

// newMark returns a word by which the processes of one test are found, and no other's.
func newMark() string { return "mark-" + rand.Text() }

// mountsBelow lists the mounts that this process sees below a directory.
func mountsBelow(t *testing.T, dir string) []string {
	t.Helper()
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for line := range strings.Lines(string(b)) {
		if strings.Contains(line, dir) {
			found = append(found, line)
		}
	}
	return found
}

// processesWith lists the processes with a word in their command line, this one aside.
func processesWith(t *testing.T, word string) []string {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		if strings.Contains(string(b), word) {
			found = append(found, name+" "+strings.ReplaceAll(string(b), "\x00", " "))
		}
	}
	return found
}

// eventually fails unless the list becomes empty: the kernel ends killed processes in its own time.
func eventually(t *testing.T, what string, list func() []string) {
	t.Helper()
	var left []string
	for range 500 {
		if left = list(); len(left) == 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("%s: %d left:\n%s", what, len(left), strings.Join(left, "\n"))
}

// exitStatus returns what a process ended with.
func exitStatus(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	t.Fatal(err)
	return -1
}
