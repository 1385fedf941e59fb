// Command solves measures solves and exports alone, without the start of anything, for the table of
// package bench: our build of a kit in an engine that has been started, and the build of the kit's recipe
// alone, in the same engine and in a running buildkitd. It prints the samples of the three, in this order,
// as JSON. `make bench` runs it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"syscall"
	"time"

	"github.com/moby/buildkit/client"
	"github.com/moby/buildkit/frontend/dockerui"
	gateway "github.com/moby/buildkit/frontend/gateway/client"
	"github.com/tonistiigi/fsutil"

	"github.com/sbxkit/sbxkit/internal/bench"
	"github.com/sbxkit/sbxkit/internal/buildkit"
	"github.com/sbxkit/sbxkit/internal/kitbuild"
	"github.com/sbxkit/sbxkit/internal/ociimage"
)

func main() {
	ctx, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status, err := run(ctx, os.Args[1:])
	release()
	if err != nil {
		fmt.Fprintf(os.Stderr, "solves: %v\n", err)
		status = 1
	}
	os.Exit(status)
}

// setup is the command line, and the place where the builds write to.
type setup struct {
	kit, recipe, platforms, name, daemon, dir, profile string
	warm, rounds                                       int
	count                                              int // of folders written so far
}

func run(ctx context.Context, args []string) (status int, err error) {
	s := &setup{}
	flags := flag.NewFlagSet("solves", flag.ContinueOnError)
	flags.StringVar(&s.kit, "kit", "", "build the kit in `DIR`")
	flags.StringVar(&s.recipe, "recipe", "", "the kit's recipe, a file's `NAME` in its folder")
	flags.StringVar(&s.platforms, "platform", "", "build for these `PLATFORMS`, separated by commas")
	flags.StringVar(&s.name, "tag", "", "give the image this `NAME`")
	flags.StringVar(&s.daemon, "daemon", "", "`ADDRESS` of a running buildkitd")
	flags.StringVar(&s.dir, "dir", "", "keep state and results in `DIR`")
	flags.IntVar(&s.warm, "warm", 0, "do `N` rounds before those that count")
	flags.IntVar(&s.rounds, "rounds", 1, "measure `N` rounds")
	flags.StringVar(&s.profile, "cpuprofile", "", "write a profile of our build to `FILE`, instead of comparing")
	if err := flags.Parse(args); err != nil {
		return 0, err
	}
	if flags.NArg() > 0 {
		return 0, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	// Nothing that the engine mounts outlives this process, just as in sbxkit.
	status, done, err := buildkit.Isolate()
	if err != nil || done {
		return status, err
	}
	return 0, s.measure(ctx)
}

func (s *setup) measure(ctx context.Context) (err error) {
	engine, err := buildkit.Start(ctx, buildkit.Options{Root: filepath.Join(s.dir, "state")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	daemon, err := client.New(ctx, s.daemon)
	if err != nil {
		return fmt.Errorf("connect to buildkitd: %w", err)
	}
	defer func() { err = errors.Join(err, daemon.Close()) }()

	ours := s.timed(func(dir string) error { return s.buildKit(ctx, engine.Client, dir) })
	if s.profile != "" {
		return s.profiled(ours)
	}
	samples, err := bench.Interleave(s.warm, s.rounds,
		ours,
		s.timed(func(dir string) error { return s.buildRecipe(ctx, engine.Client, dir) }),
		s.timed(func(dir string) error { return s.buildRecipe(ctx, daemon, dir) }),
	)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(samples)
}

// profiled shows where the time of our build goes.
func (s *setup) profiled(build func() (bench.Sample, error)) (err error) {
	if _, err := bench.Interleave(s.warm, 0, build); err != nil {
		return err
	}
	f, err := os.Create(s.profile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := pprof.StartCPUProfile(f); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	_, err = bench.Interleave(0, s.rounds, build)
	return err
}

// timed gives each build a new folder to write to, and removes it when the time has been taken.
func (s *setup) timed(build func(dir string) error) func() (bench.Sample, error) {
	return func() (bench.Sample, error) {
		s.count++
		dir := filepath.Join(s.dir, fmt.Sprintf("out%d", s.count))
		begin := time.Now()
		err := build(dir)
		took := time.Since(begin)
		if err == nil {
			_, err = os.Stat(filepath.Join(dir, "index.json"))
		}
		return bench.Sample{Wall: took}, errors.Join(err, os.RemoveAll(dir))
	}
}

// buildKit is what sbxkit does between the start of its engine and the digest that it prints.
func (s *setup) buildKit(ctx context.Context, c *client.Client, dir string) (err error) {
	layout, err := ociimage.CreateLayout(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, layout.Close()) }()
	result, err := kitbuild.Run(ctx, c, kitbuild.Request{
		ContextDir: s.kit, Platforms: strings.Split(s.platforms, ","), Layout: layout, Progress: discard(),
	})
	if err != nil {
		return err
	}
	return layout.Tag(ctx, result.Target, []string{s.name})
}

// buildRecipe makes the calls that buildctl makes.
func (s *setup) buildRecipe(ctx context.Context, c *client.Client, dir string) error {
	fs, err := fsutil.NewFS(s.kit)
	if err != nil {
		return err
	}
	opt := client.SolveOpt{
		Frontend:      "dockerfile.v0",
		FrontendAttrs: map[string]string{"filename": s.recipe, "platform": s.platforms},
		LocalMounts:   map[string]fsutil.FS{dockerui.DefaultLocalNameContext: fs, dockerui.DefaultLocalNameDockerfile: fs},
		Exports:       []client.ExportEntry{{Type: client.ExporterOCI, OutputDir: dir, Attrs: map[string]string{"tar": "false"}}},
	}
	_, err = c.Build(ctx, opt, "bench", func(ctx context.Context, gw gateway.Client) (*gateway.Result, error) {
		return gw.Solve(ctx, gateway.SolveRequest{Frontend: opt.Frontend, FrontendOpt: opt.FrontendAttrs})
	}, discard())
	return err
}

// discard takes in the progress of one build, as a display would.
func discard() chan *client.SolveStatus {
	ch := make(chan *client.SolveStatus)
	go func() {
		for range ch {
		}
	}()
	return ch
}
