// Command kit-tck judges published sandbox kits by the conformance checks of package tck.
//
// Exit status: 0 the kit conforms, 1 it does not, 2 the command line is wrong, 3 no judgement was
// possible.
package main

import (
	"context"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/sbxkit/sbxkit/internal/cli"
)

// tool is the name of the program, in its report and before its messages.
const tool = "kit-tck"

// surroundings are what the command takes from the process that it runs in.
type surroundings struct {
	out, err io.Writer
	getenv   func(string) string
	// terminal gives the width of the terminal that out is; ok is false when it is none.
	terminal func() (width int, ok bool)
}

func main() {
	ctx, release := cli.Stoppable(context.Background())
	status := run(ctx, os.Args[1:], surroundings{os.Stdout, os.Stderr, os.Getenv, stdoutTerminal})
	release()
	os.Exit(status) // the only exit in the program
}

func stdoutTerminal() (width int, ok bool) {
	fd := int(os.Stdout.Fd())
	if !term.IsTerminal(fd) {
		return 0, false
	}
	width, _, err := term.GetSize(fd)
	if err != nil {
		width = 0 // an unknown width; the report has a default
	}
	return width, true
}

// run executes one command line and gives the exit status.
func run(ctx context.Context, args []string, s surroundings) int {
	root := newRoot(s)
	return cli.Run(ctx, root, spellFlags(root, args), cli.Streams{In: strings.NewReader(""), Out: s.out, Err: s.err})
}
