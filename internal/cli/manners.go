package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sbxkit/sbxkit/internal/suggest"
	"github.com/sbxkit/sbxkit/internal/version"
)

// prepare gives every command of the tree the same manners: we print errors, not cobra; faults of the
// command line are UsageErrors; an unknown verb or flag names the nearest one; a command line that
// names no verb has not done anything, and does not look as if it had.
func prepare(root *cobra.Command, completing bool) {
	root.SilenceErrors = true
	root.SilenceUsage = true
	root.SetFlagErrorFunc(flagError)
	root.Version = versionLine()
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.SetHelpCommand(newHelp())
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	each(root, func(c *cobra.Command) {
		if c.HasSubCommands() {
			c.Args = knownVerb
			c.RunE = noVerb
			return
		}
		if completing {
			// The quotes around a placeholder are for the help alone.
			c.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = strings.ReplaceAll(f.Usage, "`", "") })
		}
		check := c.Args
		if check == nil {
			return
		}
		c.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			var usage *UsageError
			if err == nil || errors.As(err, &usage) {
				return err
			}
			return &UsageError{Err: err}
		}
	})
}

// versionLine answers --version; the verb version says more.
func versionLine() string {
	name, revision := version.Read()
	if revision != "" {
		name += " (" + revision + ")"
	}
	return name
}

func each(c *cobra.Command, visit func(*cobra.Command)) {
	visit(c)
	for _, sub := range c.Commands() {
		each(sub, visit)
	}
}

// noVerb shows the help where talk goes, since nothing was asked for.
func noVerb(cmd *cobra.Command, _ []string) error {
	cmd.SetOut(cmd.ErrOrStderr())
	if err := cmd.Help(); err != nil {
		return err
	}
	return StatusError(Usage)
}

func knownVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var verbs []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			verbs = append(verbs, c.Name())
		}
	}
	e := &UsageError{Err: fmt.Errorf("unknown command %q", args[0])}
	if near, ok := suggest.Nearest(args[0], verbs); ok {
		e.Hint = fmt.Sprintf("did you mean %q?", near)
	}
	return e
}

func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Explain a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			of := cmd.Root()
			for _, arg := range args {
				next, _, err := of.Find([]string{arg})
				if err != nil || next == of {
					return knownVerb(of, []string{arg})
				}
				of = next
			}
			of.InitDefaultHelpFlag() // as --help would
			return of.Help()
		},
	}
}

// Operands demands between least and most operands; a negative most means any number.
func Operands(least, most int) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < least && least == 1:
			return Usagef("an operand is missing")
		case len(args) < least:
			return Usagef("%d operands are needed", least)
		case most == 0 && len(args) > 0:
			return Usagef("%q is not expected: there are no operands", args[0])
		case most > 0 && len(args) > most:
			return Usagef("%q is one operand too many", args[most])
		}
		return nil
	}
}

// adviceKey marks annotations of a command that hold advice about a flag that it does not have.
const adviceKey = "sbxkit.flag-advice."

// FlagAdvice makes annotations for a command from what to do instead of using flags that people know
// from other programs.
func FlagAdvice(advice map[string]string) map[string]string {
	out := map[string]string{}
	for flag, text := range advice {
		out[adviceKey+flag] = text
	}
	return out
}

// flagError turns a fault of the flag library into a UsageError and names the nearest flag.
func flagError(cmd *cobra.Command, err error) error {
	usage := &UsageError{Err: err}
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		if advice, ok := cmd.Annotations[adviceKey+unknown.GetSpecifiedName()]; ok {
			usage.Hint = advice
			return usage
		}
		var flags []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				flags = append(flags, f.Name)
			}
		})
		if near, ok := suggest.Nearest(unknown.GetSpecifiedName(), flags); ok {
			usage.Hint = fmt.Sprintf("did you mean \"--%s\"?", near)
		}
	}
	return usage
}
