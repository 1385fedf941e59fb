package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sbxkit/sbxkit/internal/version"
)

func newRoot(s surroundings) *cobra.Command {
	root := &cobra.Command{
		Use:   tool,
		Short: "Judge published sandbox kits",
		Long: `kit-tck judges published sandbox kits by the conformance checks of the kit specification.

Exit status: 0 the kit conforms, 1 it does not, 2 the command line is wrong, 3 no judgement was possible.`,
	}
	root.AddCommand(newValidate(s), newVersion())
	return root
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print version and revision",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			name, revision := version.Read()
			line := tool + " " + name
			if revision != "" {
				line += " (" + revision + ")"
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), line)
			return err
		},
	}
}

// spellFlags brings the two spellings of a flag, -format and --format, -v and --v, into the one that
// the flag library reads. What follows a flag that takes a value is that value.
func spellFlags(root *cobra.Command, args []string) []string {
	spelled := make([]string, 0, len(args))
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			return append(spelled, args[i:]...)
		}
		name, value, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		dashes := len(arg) - len(strings.TrimLeft(arg, "-"))
		if dashes < 1 || dashes > 2 || name == "" {
			spelled = append(spelled, arg)
			continue
		}
		arg = dashed(name)
		if hasValue {
			arg += "=" + value
		}
		spelled = append(spelled, arg)
		if !hasValue && takesValue(root, name) && i+1 < len(args) {
			i++
			spelled = append(spelled, args[i])
		}
	}
	return spelled
}

func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// takesValue tells whether a flag of any verb by that name has a value that cannot be left out.
func takesValue(root *cobra.Command, name string) bool {
	for _, cmd := range root.Commands() {
		if f := cmd.Flags().Lookup(name); f != nil {
			return f.NoOptDefVal == ""
		}
	}
	return false
}
