package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sbxkit/sbxkit/internal/cli"
	"github.com/sbxkit/sbxkit/internal/ociimage"
	"github.com/sbxkit/sbxkit/internal/version"
	"github.com/sbxkit/sbxkit/tck"
)

// validateOptions are the flags of validate.
type validateOptions struct {
	layout    string // an OCI layout directory; empty: a registry
	plainHTTP bool
	format    string
	color     string
	verbose   bool
}

var formats = []string{"text", "json"}

func newValidate(s surroundings) *cobra.Command {
	var o validateOptions
	cmd := &cobra.Command{
		Use:   "validate [flags] REF\n  kit-tck validate [flags] --layout DIR TAG|DIGEST",
		Short: "Judge a kit in a registry or in an OCI layout",
		Long: `validate judges every platform of a published kit by the conformance checks.

The kit is a reference of a registry, read with the credentials of the Docker configuration, or,
with --layout, a tag or digest of an OCI layout directory.

Exit status: 0 the kit conforms, 1 it does not, 2 the command line is wrong, 3 no judgement was possible.`,
		Example: `  kit-tck validate docker.io/me/kit:1.2.0
  kit-tck validate --layout out 1.2.0`,
		DisableFlagsInUseLine: true,
		Args: func(cmd *cobra.Command, args []string) error {
			return o.check(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), s, args[0])
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags := cmd.Flags()
	flags.StringVar(&o.layout, "layout", "", "read the OCI layout `DIR` instead of a registry")
	flags.BoolVar(&o.plainHTTP, "plain-http", false, "speak HTTP with the registry (implied for this machine's own)")
	flags.StringVar(&o.format, "format", "text", "write the report as `text|json`")
	flags.StringVar(&o.color, "color", "auto", "use colours: `auto|always|never`")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "list the checks that passed, too")
	for name, values := range map[string][]string{"format": formats, "color": {"auto", "always", "never"}} {
		// The only error is a flag of another name, which no test would let pass.
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	_ = cmd.MarkFlagDirname("layout") // likewise
	return cmd
}

// check refuses a command line that means nothing, before anything is read.
func (o *validateOptions) check(cmd *cobra.Command, args []string) error {
	switch {
	case !slices.Contains(formats, o.format):
		return cli.Usagef("unknown format %q; known are %s", o.format, strings.Join(formats, " and "))
	case len(args) == 0 && o.layout != "":
		return o.noTag(cmd.Context())
	case len(args) == 0:
		return cli.Usagef("nothing to judge: name a reference, or --layout DIR and a tag")
	case len(args) > 1:
		return &cli.UsageError{Err: fmt.Errorf("%q is one operand too many", args[1]), Hint: o.hintAtLayout(args)}
	case args[0] == "":
		return cli.Usagef("the operand is empty")
	case cmd.Flags().Changed("layout") && o.layout == "":
		return cli.Usagef("--layout names no directory")
	case o.layout != "" && o.plainHTTP:
		return cli.Usagef("--plain-http is about a registry, --layout about a directory: use one of them")
	}
	return nil
}

// noTag says which tags there are to choose from.
func (o *validateOptions) noTag(ctx context.Context) error {
	_, err := ociimage.OpenLayout(ctx, o.layout, "")
	if errors.Is(err, ociimage.ErrNoTag) {
		return &cli.UsageError{Err: err}
	}
	return cli.Usagef("nothing to judge: name a tag or digest of the layout")
}

// hintAtLayout helps where somebody named a layout like a reference.
func (o *validateOptions) hintAtLayout(args []string) string {
	if info, err := os.Stat(args[0]); o.layout != "" || len(args) != 2 || err != nil || !info.IsDir() {
		return ""
	}
	return fmt.Sprintf("for an OCI layout directory write --layout %s %s", args[0], args[1])
}

func (o *validateOptions) run(ctx context.Context, s surroundings, operand string) error {
	image, target, err := o.open(ctx, operand)
	if err != nil {
		return explain(err) // which names what could not be opened
	}
	verdict, err := tck.Validate(ctx, image)
	if closeErr := image.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return explain(fmt.Errorf("judge %s: %w", target, err))
	}
	name, revision := version.Read()
	output := &tck.Output{Tool: tool, Version: name, Revision: revision, Target: target, Verdict: verdict}
	if o.format == "json" {
		err = output.WriteJSON(s.out)
	} else {
		err = output.WriteText(s.out, o.layoutOfText(s))
	}
	if err == nil && !verdict.Conforms() {
		err = &cli.WrongError{} // the report has said it
	}
	return err
}

// open finds the image; target is how the report and messages call it.
func (o *validateOptions) open(ctx context.Context, operand string) (image *ociimage.Image, target string, err error) {
	if o.layout != "" {
		image, err = ociimage.OpenLayout(ctx, o.layout, operand)
		return image, o.layout + " " + operand, err
	}
	name, _ := version.Read()
	image, err = ociimage.OpenRegistry(ctx, operand, ociimage.Options{PlainHTTP: o.plainHTTP, UserAgent: tool + "/" + name})
	if errors.Is(err, ociimage.ErrReference) {
		err = &cli.UsageError{Err: err}
	}
	return image, operand, err
}

// explain adds what to try to an error that kept the kit from being judged.
func explain(err error) error {
	if errors.Is(err, ociimage.ErrUnauthorized) {
		return fmt.Errorf("%w (log in to the registry, for example with docker login)", err)
	}
	return err
}

// layoutOfText settles colour and width. NO_COLOR and a dumb terminal switch colours off unless the
// command line asks for them; hyperlinks need a terminal that is one.
func (o *validateOptions) layoutOfText(s surroundings) tck.TextOptions {
	width, terminal := s.terminal()
	color := terminal && s.getenv("NO_COLOR") == "" && s.getenv("TERM") != "dumb"
	switch o.color {
	case "always":
		color = true
	case "never":
		color = false
	}
	return tck.TextOptions{Width: width, Color: color, Links: color && terminal, Verbose: o.verbose}
}
