package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/moby/buildkit/client"
	gwpb "github.com/moby/buildkit/frontend/gateway/pb"
	"github.com/moby/buildkit/solver/errdefs"
	"github.com/moby/buildkit/util/grpcerrors"
	"github.com/moby/buildkit/util/progress/progressui"
	"github.com/opencontainers/go-digest"
	"google.golang.org/grpc/codes"

	"github.com/sbxkit/sbxkit/internal/buildkit"
	"github.com/sbxkit/sbxkit/internal/cli"
	"github.com/sbxkit/sbxkit/internal/kitbuild"
	"github.com/sbxkit/sbxkit/tck"
)

// solve starts the engine, shows its progress and builds.
func (j *buildJob) solve(ctx context.Context, prepared *kitbuild.Prepared) (_ *kitbuild.Result, err error) {
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	engine, err := buildkit.Start(ctx, buildkit.Options{
		Root:    filepath.Join(cache, "buildkit"),
		Logf:    func(format string, a ...any) { j.say(format, a...) },
		Verbose: j.verbose,
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	display, err := progressui.NewDisplay(j.stderr, j.progress)
	if err != nil {
		return nil, fmt.Errorf("show progress: %w", err)
	}
	log := &failureLog{tails: map[digest.Digest][]byte{}}
	statuses := make(chan *client.SolveStatus)
	go log.watch(j.req.Progress, statuses)
	shown := make(chan error, 1)
	go func() {
		// The display outlives a cancelled build, so that the reason is seen.
		_, err := display.UpdateFrom(context.WithoutCancel(ctx), statuses)
		shown <- err
	}()
	result, err := prepared.Run(ctx, engine.Client)
	showErr := <-shown
	switch {
	case err == nil:
		return result, showErr
	case ctx.Err() != nil:
		return nil, errors.New("interrupted")
	}
	if j.progress == progressui.QuietMode {
		if _, err := io.WriteString(j.stderr, cli.Printable(string(log.text()))); err != nil {
			return nil, err
		}
	}
	return nil, j.explain(err, engine.Runtime == "")
}

// explain adds the excerpt that BuildKit knows, and picks the status. A fault of the descriptor, a check
// that fails and a step of the recipe that fails are the kit's; all else is ours or the machine's: a
// registry that cannot be reached, say, or a runtime that is not there.
func (j *buildJob) explain(err error, noRuntime bool) error {
	var wrong *cli.WrongError
	if err := j.verdict(err, "nothing is kept"); errors.As(err, &wrong) {
		return err
	}
	for _, source := range errdefs.Sources(err) {
		var excerpt strings.Builder
		if printErr := source.Print(&excerpt); printErr != nil {
			return errors.Join(err, printErr)
		}
		if _, printErr := io.WriteString(j.stderr, cli.Printable(shorten(excerpt.String()))); printErr != nil {
			return errors.Join(err, printErr)
		}
	}
	switch grpcerrors.Code(err) { // wherever in the recipe it happened
	case codes.ResourceExhausted, codes.Canceled, codes.DeadlineExceeded, codes.Unavailable:
		return err
	}
	var deviates *tck.DeviationError
	switch {
	case errors.As(err, &deviates):
		return &cli.WrongError{Err: err}
	case noRuntime && strings.Contains(err.Error(), buildkit.ErrNoRuntime.Error()):
		// It came over the engine's API as text, behind the whole step that was to run.
		text := err.Error()
		return errors.New(text[strings.Index(text, buildkit.ErrNoRuntime.Error()):])
	case stepFailed(err):
		return &cli.WrongError{Err: err}
	}
	return err
}

// stepFailed tells whether a step of the recipe failed, other than one that fetches something.
func stepFailed(err error) bool {
	var exit *gwpb.ExitError
	if errors.As(err, &exit) {
		return true
	}
	var solve *errdefs.SolveError
	if !errors.As(err, &solve) || solve.Op == nil {
		return false
	}
	return solve.Op.GetExec() != nil || solve.Op.GetFile() != nil
}

// maxExcerptLine is how many characters of a recipe's line an excerpt shows.
const maxExcerptLine = 400

// shorten cuts lines that no terminal shows as lines.
func shorten(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if runes := []rune(line); len(runes) > maxExcerptLine {
			line = string(runes[:maxExcerptLine]) + "…\n"
		}
		b.WriteString(line)
	}
	return b.String()
}

// maxTail is how much of a step's output is kept for the case that it fails, in bytes.
const maxTail = 64 << 10

// failureLog keeps the end of each step's output, for a quiet build that fails.
type failureLog struct {
	tails  map[digest.Digest][]byte
	failed []*client.Vertex
}

// watch hands each status on. It closes out when in is closed.
func (l *failureLog) watch(in <-chan *client.SolveStatus, out chan<- *client.SolveStatus) {
	defer close(out)
	for status := range in {
		for _, line := range status.Logs {
			tail := append(l.tails[line.Vertex], line.Data...)
			l.tails[line.Vertex] = tail[max(0, len(tail)-maxTail):]
		}
		for _, v := range status.Vertexes {
			if v.Error != "" {
				l.failed = append(l.failed, v)
			}
		}
		out <- status
	}
}

// text is what the failed steps said. Call it when the display has ended.
func (l *failureLog) text() []byte {
	var b bytes.Buffer
	for _, v := range l.failed {
		if tail := l.tails[v.Digest]; len(tail) > 0 {
			fmt.Fprintf(&b, "%s\n%s\n", v.Name, bytes.TrimRight(tail, "\n"))
		}
	}
	return b.Bytes()
}
