// Package cli is what the project's commands share: exit statuses, usage errors that name the nearest
// word, one way to run a command tree. Start at [Run]. It prints nothing but help and the error that
// ends a command, and holds no command itself.
//
// # Exit statuses
//
// 0: fine. 1: the thing judged is wrong. 2: the command line is wrong. 3: the judging or the work
// could not be done. The numbers are part of the module's version promise; the texts are not.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
)

// Exit statuses of every command of the project. A script can tell "the kit is wrong" from "I could not
// look".
const (
	OK     = 0 // fine
	Wrong  = 1 // the thing judged does not conform, or is invalid
	Usage  = 2 // the command line is wrong
	Failed = 3 // could not do it, or could not judge
)

// UsageError says that the command line is wrong. Hint is a line of its own, or empty.
type UsageError struct {
	Err  error
	Hint string
}

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

// Usagef makes a UsageError without a hint.
func Usagef(format string, args ...any) error {
	return &UsageError{Err: fmt.Errorf(format, args...)}
}

// WrongError says that what was judged is wrong. Err is nil when the verdict is already printed.
type WrongError struct{ Err error }

func (e *WrongError) Error() string {
	if e.Err == nil {
		return "does not conform"
	}
	return e.Err.Error()
}
func (e *WrongError) Unwrap() error { return e.Err }

// StatusError asks for an exit status whose reason another process has told already.
type StatusError int

func (e StatusError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// Status turns an exit status into an error; OK gives nil.
func Status(code int) error {
	if code == OK {
		return nil
	}
	return StatusError(code)
}

// Streams are what a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Run runs the command tree and gives the exit status. It prints the error, if there is one that was not
// told yet, to the error stream, behind the name of the program.
func Run(ctx context.Context, root *cobra.Command, args []string, s Streams) int {
	root.SetArgs(args)
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	prepare(root, len(args) > 0 && args[0] == cobra.ShellCompRequestCmd)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("stopped (%w): %w", context.Cause(ctx), err)
	}
	return report(cmd, err, s.Err)
}

// Printable makes text fit for a terminal: names of files and what others wrote may hold characters that a
// terminal takes for commands, or that turn the writing direction. Each of them becomes U+FFFD; line ends and
// tabs stay.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// report prints err and picks the status.
func report(cmd *cobra.Command, err error, w io.Writer) int {
	if err == nil {
		return OK
	}
	var status StatusError
	if errors.As(err, &status) {
		return int(status)
	}
	var wrong *WrongError
	if errors.As(err, &wrong) && wrong.Err == nil {
		return Wrong
	}
	// When not even this can be written there is no better place to report it.
	_, _ = fmt.Fprintf(w, "%s: %s\n", cmd.Root().Name(), Printable(err.Error()))
	if wrong != nil {
		return Wrong
	}
	var usage *UsageError
	if !errors.As(err, &usage) {
		return Failed
	}
	if usage.Hint != "" {
		_, _ = fmt.Fprintln(w, Printable(usage.Hint))
	}
	_, _ = fmt.Fprintf(w, "see '%s --help'\n", cmd.CommandPath())
	return Usage
}
