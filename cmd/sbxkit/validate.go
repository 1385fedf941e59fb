package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/sbxkit/sbxkit/descriptor"
	"github.com/sbxkit/sbxkit/internal/cli"
	"github.com/sbxkit/sbxkit/internal/kitbuild"
	"github.com/sbxkit/sbxkit/internal/kitbuild/project"
)

// judged is the verdict on one kit. Err is set when there is none.
type judged struct {
	File     string
	Summary  string // what kind of kit it is; empty when invalid
	Source   []byte
	Findings []descriptor.Finding
	Err      error
}

func (j *judged) count(s descriptor.Severity) int {
	n := 0
	for _, f := range j.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

func newValidate() *cobra.Command {
	var format, buildContext string
	var buildArgs []string
	cmd := &cobra.Command{
		Use:   "validate FILE|DIR...",
		Short: "Judge descriptors without building anything",
		Long: `Judge each descriptor as authored, and as a build would publish it: grammar, names, versions,
capability requests, the recipe and guidance files that it names. A DIR stands for the one
descriptor in it. Faults that do not hide one another are reported in one run, each at its
place.

Exit status: 0 all valid, 1 something is invalid, 2 usage, 3 something could not be judged.`,
		Example: `  sbxkit validate kits/deepagents
  sbxkit validate --format json kits/*/*.yaml`,
		Args:              cli.Operands(1, -1),
		ValidArgsFunction: completeKits,
		RunE: func(cmd *cobra.Command, args []string) error {
			write := writeVerdicts
			switch format {
			case "text":
			case "json":
				write = writeVerdictsJSON
			default:
				return cli.Usagef("--format %q: want text or json", format)
			}
			if slices.Contains(args, "") {
				return cli.Usagef("an operand is empty")
			}
			given, err := pairs("build-arg", buildArgs, os.LookupEnv)
			if err != nil {
				return err
			}
			verdicts := judgeAll(cmd.Context(), args, given, buildContext)
			if err := write(cmd.OutOrStdout(), verdicts); err != nil {
				return fmt.Errorf("write verdict: %w", err)
			}
			return statusOf(verdicts)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&format, "format", "text", "write the findings as `FORM`: text or json")
	fs.StringVar(&buildContext, "context", "", "read guidance files from `DIR` (default: the descriptor's folder)")
	fs.StringArrayVar(&buildArgs, "build-arg", nil, "give a build-phase arg as `NAME=VALUE`; repeatable")
	if err := cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag is registered above
	}
	return cmd
}

// completeKits offers folders and descriptors.
func completeKits(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}

// judgeAll judges the kits at the same time and keeps their order.
func judgeAll(ctx context.Context, names []string, buildArgs map[string]string, buildContext string) []*judged {
	verdicts := make([]*judged, len(names))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, name := range names {
		group.Go(func() error {
			verdicts[i] = judge(ctx, name, buildArgs, buildContext)
			return nil
		})
	}
	_ = group.Wait() // judge keeps its error in the verdict
	return verdicts
}

func judge(ctx context.Context, name string, buildArgs map[string]string, buildContext string) *judged {
	j := &judged{File: name}
	p, err := project.Load(ctx, name, "")
	if err == nil {
		j.File = p.Document.Name()
		if buildContext == "" {
			buildContext = filepath.Dir(j.File)
		}
		var pub *project.Published
		if pub, err = p.Publish(ctx, buildArgs, project.Dir(buildContext)); err == nil {
			err = kitbuild.CheckRecipe(p.Document, pub.Recipe)
		}
		if err == nil {
			j.Source, j.Findings = p.Document.Source(), pub.Findings
			j.Summary = summary(pub)
			return j
		}
	}
	var invalid *descriptor.InvalidError
	if errors.As(err, &invalid) {
		j.File, j.Source, j.Findings = invalid.Name, invalid.Source, invalid.Findings
		return j
	}
	j.Err = err
	return j
}

func summary(pub *project.Published) string {
	d := pub.Document.Descriptor()
	text := string(d.Kind)
	if d.DisplayName != "" {
		text += " " + d.DisplayName
	}
	if d.Version != "" {
		text += " " + d.Version
	}
	switch {
	case pub.Recipe != nil:
		text += ", recipe " + pub.Recipe.Name
	case d.Kind != descriptor.Set:
		text += ", no recipe: it only declares"
	}
	return text
}

// statusOf picks the exit status: what could not be judged outweighs what is wrong. The reasons are
// printed with the error, since they are no verdict.
func statusOf(verdicts []*judged) error {
	var failed []error
	wrong := false
	for _, j := range verdicts {
		if j.Err != nil {
			failed = append(failed, j.Err)
		}
		wrong = wrong || j.count(descriptor.Error) > 0
	}
	if len(failed) > 0 {
		return errors.Join(failed...)
	}
	if wrong {
		return &cli.WrongError{}
	}
	return nil
}

func writeVerdicts(w io.Writer, verdicts []*judged) error {
	errs, warnings, notes, unjudged := 0, 0, 0, 0
	for _, j := range verdicts {
		if j.Err != nil {
			unjudged++
			continue
		}
		if err := descriptor.Render(w, j.File, j.Source, j.Findings); err != nil {
			return err
		}
		if len(j.Findings) > 0 {
			fmt.Fprintln(w)
		}
		if j.Summary != "" {
			fmt.Fprintln(w, cli.Printable(strings.ReplaceAll(fmt.Sprintf("%s: valid (%s)", j.File, j.Summary), "\n", " ")))
		}
		errs += j.count(descriptor.Error)
		warnings += j.count(descriptor.Warning)
		notes += j.count(descriptor.Note)
	}
	text := fmt.Sprintf("%s, %s", counted(errs, "error"), counted(warnings, "warning"))
	if notes > 0 {
		text += ", " + counted(notes, "note")
	}
	if unjudged == len(verdicts) { // a count of nothing would look like a verdict
		return nil
	}
	if unjudged > 0 {
		text += fmt.Sprintf(", %d could not be judged", unjudged)
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

func counted(n int, word string) string {
	if n != 1 {
		word += "s"
	}
	return fmt.Sprintf("%d %s", n, word)
}

// verdictJSON is the shape of `validate --format json`. Version changes when a field changes meaning.
type verdictJSON struct {
	Version int        `json:"version"`
	Files   []fileJSON `json:"files"`
}

type fileJSON struct {
	File     string        `json:"file"`
	Valid    bool          `json:"valid"`
	Error    string        `json:"error,omitempty"` // why it could not be judged
	Findings []findingJSON `json:"findings"`
}

type findingJSON struct {
	Severity  string `json:"severity"`
	Code      string `json:"code"`
	Path      string `json:"path"`
	Message   string `json:"message"`
	Hint      string `json:"hint,omitempty"`
	Line      int    `json:"line,omitempty"`
	Column    int    `json:"column,omitempty"`
	EndLine   int    `json:"endLine,omitempty"`
	EndColumn int    `json:"endColumn,omitempty"`
}

func writeVerdictsJSON(w io.Writer, verdicts []*judged) error {
	out := verdictJSON{Version: 1, Files: []fileJSON{}}
	for _, j := range verdicts {
		file := fileJSON{File: j.File, Valid: j.Err == nil && j.count(descriptor.Error) == 0, Findings: []findingJSON{}}
		if j.Err != nil {
			file.Error = j.Err.Error()
		}
		for _, f := range j.Findings {
			file.Findings = append(file.Findings, findingJSON{
				Severity: f.Severity.String(), Code: f.Code, Path: f.Path, Message: f.Message, Hint: f.Hint,
				Line: f.Start.Line, Column: f.Start.Column, EndLine: f.End.Line, EndColumn: f.End.Column,
			})
		}
		out.Files = append(out.Files, file)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(out)
}
