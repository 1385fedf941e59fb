package main

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// raceExcept is the one flag of ours.
const raceExcept = "-race-except"

// plan gives the arguments of each run of go test.
func plan(dir string, args []string) ([][]string, error) {
	if len(args) == 0 || args[0] != raceExcept {
		return [][]string{args}, nil
	}
	if len(args) < 2 {
		return nil, errors.New(raceExcept + " names no library")
	}
	library, flags := args[1], args[2:]
	with, without, err := split(dir, library)
	if err != nil {
		return nil, err
	}
	if len(with) == 0 || len(without) == 0 {
		return nil, fmt.Errorf("%s %s: %d packages link it, %d do not: is the name right?", raceExcept, library, len(with), len(without))
	}
	return [][]string{
		slices.Concat([]string{"-race"}, flags, without),
		slices.Concat(flags, with),
	}, nil
}

// split parts the packages of the module by whether their tests link the library.
func split(dir, library string) (with, without []string, err error) {
	cmd := exec.Command("go", "list", "-test", "-f", `{{.ImportPath}}{{range .Deps}} {{.}}{{end}}`, "./...")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("list packages: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		name, isTest := strings.CutSuffix(words[0], ".test")
		switch {
		case !isTest:
		case slices.Contains(words[1:], library):
			with = append(with, name)
		default:
			without = append(without, name)
		}
	}
	return with, without, nil
}
