package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"sbxkit": main})
}

// TestScript runs the command as a person would; scripts named linux_* build for real.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "", // then read the difference before it is committed
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
		},
		Setup: func(env *testscript.Env) error {
			kits, err := filepath.Abs("../../kits")
			if err != nil {
				return err
			}
			env.Setenv("KITS", kits)
			env.Setenv("SBXKIT_HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("DOCKER_CONFIG", filepath.Join(env.WorkDir, "docker"))
			return nil
		},
		Condition: func(name string) (bool, error) {
			return name == "os:"+runtime.GOOS, nil
		},
	})
}

// exits runs a program and demands one exit status: exits 3 sbxkit validate absent.yaml
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS PROGRAM ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("run %s: %v", args[1], err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}
