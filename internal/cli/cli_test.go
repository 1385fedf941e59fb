package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// tree makes a command tree whose verb "judge" ends with err.
func tree(err error) *cobra.Command {
	root := &cobra.Command{Use: "tool", Short: "test"}
	judge := &cobra.Command{Use: "judge FILE", Args: cobra.MaximumNArgs(1), RunE: func(*cobra.Command, []string) error { return err }}
	judge.Flags().Bool("verbose", false, "talk")
	root.AddCommand(judge)
	return root
}

func TestStatusAndMessage(t *testing.T) {
	broken := errors.New("disk on fire")
	for _, test := range []struct {
		name   string
		args   []string
		err    error
		status int
		stderr string
	}{
		{"fine", []string{"judge"}, nil, OK, ""},
		{"verdict printed already", []string{"judge"}, &WrongError{}, Wrong, ""},
		{"verdict to print", []string{"judge"}, &WrongError{broken}, Wrong, "tool: disk on fire\n"},
		{"wrapped verdict", []string{"judge"}, fmt.Errorf("x: %w", &WrongError{broken}), Wrong, "tool: x: disk on fire\n"},
		{"could not", []string{"judge"}, broken, Failed, "tool: disk on fire\n"},
		{"another process told", []string{"judge"}, Status(3), Failed, ""},
		{"usage", []string{"judge"}, &UsageError{broken, "use water"}, Usage, "tool: disk on fire\nuse water\nsee 'tool judge --help'\n"},
		{"operands", []string{"judge", "a", "b"}, nil, Usage, "tool: accepts at most 1 arg(s), received 2\nsee 'tool judge --help'\n"},
		{"flag", []string{"judge", "--vebrose"}, nil, Usage, "tool: unknown flag: --vebrose\ndid you mean \"--verbose\"?\nsee 'tool judge --help'\n"},
		{"verb", []string{"jugde"}, nil, Usage, "tool: unknown command \"jugde\"\ndid you mean \"judge\"?\nsee 'tool --help'\n"},
		{"nothing that a terminal obeys", []string{"judge"}, errors.New("read a\x1b[2J\u202e\r.yaml:\n\tx"), Failed, "tool: read a\ufffd[2J\ufffd\ufffd.yaml:\n\tx\n"},
		{"far from everything", []string{"xyz"}, nil, Usage, "tool: unknown command \"xyz\"\nsee 'tool --help'\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out, talk strings.Builder
			status := Run(t.Context(), tree(test.err), test.args, Streams{strings.NewReader(""), &out, &talk})
			if status != test.status || talk.String() != test.stderr || out.Len() > 0 {
				t.Errorf("status %d, stderr %q, stdout %q", status, talk.String(), out.String())
			}
		})
	}
}

// Whoever stops a command learns that this is why it ended, whatever the work made of it.
func TestStopped(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	stop(errors.New("interrupt signal received"))
	var talk strings.Builder
	status := Run(ctx, tree(errors.New("read x: context canceled")), []string{"judge"}, Streams{strings.NewReader(""), &talk, &talk})
	if want := "tool: stopped (interrupt signal received): read x: context canceled\n"; status != Failed || talk.String() != want {
		t.Errorf("status %d, said %q", status, talk.String())
	}
}

func TestStatusOfOKIsNoError(t *testing.T) {
	if err := Status(OK); err != nil {
		t.Error(err)
	}
}
