package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/moby/buildkit/client"
	"github.com/moby/buildkit/util/progress/progressui"

	"github.com/sbxkit/sbxkit/descriptor"
	"github.com/sbxkit/sbxkit/internal/buildkit"
	"github.com/sbxkit/sbxkit/internal/cli"
	"github.com/sbxkit/sbxkit/internal/kitbuild"
	"github.com/sbxkit/sbxkit/internal/ociimage"
)

// buildJob is one build with all that happens to its image.
type buildJob struct {
	req       kitbuild.Request
	names     []string // in full: docker.io/library/deepagents:0.7.21
	outputs   []output
	progress  progressui.DisplayMode
	metadata  string
	push      bool
	plainHTTP bool
	verbose   bool
	stdout    io.Writer
	stderr    io.Writer
}

func (j *buildJob) say(format string, args ...any) {
	if j.progress != progressui.QuietMode {
		fmt.Fprintln(j.stderr, cli.Printable(fmt.Sprintf(format, args...)))
	}
}

// run judges the kit, then builds it in an isolated copy of this process.
func (j *buildJob) run(ctx context.Context) error {
	// A broken kit must be told at once: before the second process and before the engine.
	if _, err := kitbuild.Prepare(ctx, j.req); err != nil {
		return j.verdict(err, "nothing was built")
	}
	status, done, err := buildkit.Isolate()
	if err != nil {
		return err
	}
	if done {
		return cli.Status(status)
	}
	return j.build(ctx)
}

func (j *buildJob) build(ctx context.Context) (err error) {
	layout, cleanup, err := j.openLayout(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cleanup()) }()
	j.req.Layout = layout
	j.req.Progress = make(chan *client.SolveStatus)
	prepared, err := kitbuild.Prepare(ctx, j.req)
	if err != nil {
		return j.verdict(err, "nothing was built")
	}
	// What the descriptor alone shows is said before anything is built, what its content shows after it.
	early := prepared.Kit.Findings
	if err := j.render(prepared, early); err != nil {
		return err
	}
	result, err := j.solve(ctx, prepared)
	if err != nil {
		return err
	}
	late := slices.DeleteFunc(slices.Clone(result.Findings), func(f descriptor.Finding) bool { return slices.Contains(early, f) })
	if err := j.render(prepared, late); err != nil {
		return err
	}
	if layout == nil {
		j.say("built and checked; nothing is kept: give --output or --push to keep the image")
		return nil
	}
	if err := layout.Tag(ctx, result.Target, j.names); err != nil {
		return err
	}
	if err := j.deliver(ctx, layout, result.Target); err != nil {
		return err
	}
	return j.report(ctx, layout, result.Target)
}

// render draws warnings and notes about the kit.
func (j *buildJob) render(prepared *kitbuild.Prepared, findings []descriptor.Finding) error {
	if len(findings) == 0 {
		return nil
	}
	doc := prepared.Kit.Document
	if err := descriptor.Render(j.stderr, doc.Name(), doc.Source(), findings); err != nil {
		return err
	}
	_, err := fmt.Fprintln(j.stderr)
	return err
}

// openLayout opens what the engine exports into: the folder that was asked for, or one for the time of
// the build if the image is to go elsewhere. It is nil when nothing is kept.
func (j *buildJob) openLayout(ctx context.Context) (*ociimage.Layout, func() error, error) {
	for _, o := range j.outputs {
		if o.kind == outputOCI && !o.tar {
			layout, err := ociimage.CreateLayout(o.dest)
			if err != nil {
				return nil, nil, err
			}
			return layout, layout.Close, nil
		}
	}
	if !j.keeps() {
		return nil, func() error { return nil }, nil
	}
	cache, err := cacheDir()
	if err != nil {
		return nil, nil, err
	}
	parent := filepath.Join(cache, "export")
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, nil, fmt.Errorf("make cache: %w", err)
	}
	unlock, err := joinExports(ctx, parent)
	if err != nil {
		return nil, nil, fmt.Errorf("make cache: %w", err)
	}
	dir, err := os.MkdirTemp(parent, exportPrefix)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("make cache: %w", err), unlock())
	}
	layout, err := ociimage.CreateLayout(dir)
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir), unlock())
	}
	return layout, func() error { return errors.Join(layout.Close(), os.RemoveAll(dir), unlock()) }, nil
}

// keeps tells whether anything of the image is kept.
func (j *buildJob) keeps() bool {
	return j.push || slices.ContainsFunc(j.outputs, func(o output) bool { return o.kind != outputCacheOnly })
}

// verdict tells a wrong kit from work that could not be done. What is wrong with a kit stands at the
// beginning of its lines, where editors and people look for a place.
func (j *buildJob) verdict(err error, outcome string) error {
	if errors.Is(err, kitbuild.ErrOption) {
		return &cli.UsageError{Err: err}
	}
	var invalid *descriptor.InvalidError
	if !errors.As(err, &invalid) {
		return err
	}
	if err := descriptor.Render(j.stderr, invalid.Name, invalid.Source, invalid.Findings); err != nil {
		return err
	}
	fmt.Fprintf(j.stderr, "\n%s: %s\n", counted(len(invalid.Findings), "error"), outcome)
	return &cli.WrongError{}
}
