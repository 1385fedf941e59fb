// Package kitbuild turns a kit's sources into an image: descriptor, recipe and guidance become layers, a
// config and the annotations that make the image a kit.
//
// [Build] is the build function. A BuildKit gateway calls it, the frontend image and this process alike.
// [Prepare] and [Prepared.Run] are the other side: they hand a project on disk to an engine and write
// the image into an OCI layout. Prepare judges the kit first, with the same code as Build, so that a
// broken descriptor is reported before an engine even starts.
//
// What a build does, in order: read the descriptor and its recipe, judge them as authored, fill in
// build-phase args, read the guidance, judge the published form; only then build the content of all
// platforms at once, by handing the recipe to the Dockerfile frontend; derive provides from a workload's
// package databases; stage the sources on top of each platform's content; and judge the results with the
// conformance checks before they are exported. One descriptor serves all platforms, byte for byte.
//
// The layers of a mixin hold what its recipe adds to the base of the built stage and nothing of the base
// itself; its config likewise. An image's health check, shell and on-build triggers do not survive in a
// mixin: a composition has no place for them. The recipe that is staged is the text that was built: of a
// descriptor in a comment, without the line that dispatched it here.
//
// Equal sources give equal digests, whatever the cache holds: everything is dated by SOURCE_DATE_EPOCH or
// [DefaultEpoch] (for files of the recipe, by the exporter's rewrite-timestamp, which Prepare asks for),
// and each step of the history is stated.
//
// A fault of the kit is a *descriptor.InvalidError; as an error of [Build] it also carries the source
// information from which any BuildKit client draws the excerpt. Warnings never end a build: Build shows
// them as warnings of the build, Run returns them. A set is judged and then refused with
// project.ErrSetNotBuilt.
package kitbuild

import (
	"context"
	"fmt"
	"path"

	"github.com/containerd/platforms"
	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/frontend/dockerui"
	gwclient "github.com/moby/buildkit/frontend/gateway/client"
	gwpb "github.com/moby/buildkit/frontend/gateway/pb"
	"github.com/moby/buildkit/solver/pb"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/sbxkit/sbxkit/descriptor"
	"github.com/sbxkit/sbxkit/internal/kitbuild/project"
	"github.com/sbxkit/sbxkit/tck"
)

// build is one run of the build function.
type build struct {
	c             *cleanClient
	ui            *dockerui.Client
	opts          map[string]string
	targets       []target
	buildPlatform ocispec.Platform // what the engine's first worker runs by itself
	inputs        map[string]*pb.Definition
	// warn shows a warning to whoever asked for the build. Platforms call it at the same time.
	warn func(ctx context.Context, f descriptor.Finding)
}

// target is one platform of the result.
type target struct {
	id       string
	platform ocispec.Platform
	asked    bool // false: nobody named a platform, and the recipe is not told one either
}

// name is how the recipe's build is told about the platform; empty leaves it to the engine.
func (t target) name() string {
	if !t.asked {
		return ""
	}
	return t.id
}

// Build is the frontend.
func Build(ctx context.Context, c gwclient.Client) (*gwclient.Result, error) {
	res, err := buildRemote(ctx, c)
	if err != nil {
		return nil, withSource(err)
	}
	return res, nil
}

// buildRemote reads the kit through the gateway, from wherever the caller of the build keeps it.
func buildRemote(ctx context.Context, c gwclient.Client) (*gwclient.Result, error) {
	b, err := newBuild(c)
	if err != nil {
		return nil, err
	}
	if err := b.readInputs(ctx); err != nil {
		return nil, err
	}
	pub, err := b.read(ctx)
	if err != nil {
		return nil, err
	}
	return b.run(ctx, pub)
}

// run builds a kit that has been read and judged.
func (b *build) run(ctx context.Context, pub *project.Published) (*gwclient.Result, error) {
	for _, f := range pub.Findings {
		b.warn(ctx, f)
	}
	if pub.Recipe != nil {
		if err := refuseSelfReference(pub.Document, pub.Recipe, b.opts[optSource]); err != nil {
			return nil, err
		}
		b.warnUndeclared(ctx, pub)
	}
	contents, err := b.buildContents(ctx, pub)
	if err != nil {
		return nil, err
	}
	doc, err := b.derive(ctx, pub.Document, contents)
	if err != nil {
		return nil, err
	}
	return b.finish(ctx, pub, doc, contents)
}

func newBuild(gw gwclient.Client) (*build, error) {
	c, err := clean(gw)
	if err != nil {
		return nil, err
	}
	ui, err := dockerui.NewClient(c)
	if err != nil {
		return nil, fmt.Errorf("read build options: %w", err)
	}
	b := &build{c: c, ui: ui, opts: c.opts.Opts, buildPlatform: platforms.Normalize(ui.BuildPlatforms[0])}
	for _, p := range ui.TargetPlatforms {
		b.targets = append(b.targets, target{id: platforms.FormatAll(p), platform: p, asked: true})
	}
	if len(b.targets) == 0 {
		p := b.buildPlatform
		b.targets = []target{{id: platforms.FormatAll(p), platform: p}}
	}
	return b, nil
}

// read does all that precedes content: it judges the kit and reads its guidance.
func (b *build) read(ctx context.Context) (*project.Published, error) {
	name := b.opts[optFilename]
	if name == "" {
		name = dockerui.DefaultDockerfileName
	}
	name = path.Clean(name)
	files := &recipeFiles{b: b, name: name}
	p, err := project.Open(ctx, files, name, name)
	if err != nil {
		return nil, err
	}
	b.warn = func(ctx context.Context, f descriptor.Finding) { files.warn(ctx, p.Document, f) }
	pub, err := p.Publish(ctx, buildArgs(b.opts), contextFiles{b})
	if err != nil {
		return nil, err
	}
	return pub, pub.Buildable()
}

func (b *build) warnUndeclared(ctx context.Context, pub *project.Published) {
	known, ok := declaredInRecipe(pub.Recipe.Text)
	if !ok {
		return // whoever builds this recipe says what is wrong with it
	}
	for _, name := range undeclaredArgs(buildArgs(b.opts), pub.Document.Descriptor().Args, known) {
		b.warn(ctx, warning(pub.Document, project.CodeArgUndeclared, "args", "", "neither the kit nor its recipe declares the build argument %s", name))
	}
}

// readInputs asks for the caller's frontend inputs, which a recipe may build on.
func (b *build) readInputs(ctx context.Context) error {
	if b.c.opts.Caps.Supports(gwpb.CapFrontendInputs) != nil {
		return nil
	}
	states, err := b.c.Inputs(ctx)
	if err != nil {
		return fmt.Errorf("read frontend inputs: %w", err)
	}
	b.inputs = map[string]*pb.Definition{}
	for name, state := range states {
		def, err := state.Marshal(ctx)
		if err != nil {
			return fmt.Errorf("read frontend input %s: %w", name, err)
		}
		b.inputs[name] = def.ToPB()
	}
	return nil
}

// buildContents builds what the kit brings, for all platforms at once.
func (b *build) buildContents(ctx context.Context, pub *project.Published) ([]*platformContent, error) {
	var results []*recipeResult
	if pub.Recipe != nil {
		var err error
		if results, err = b.buildRecipe(ctx, pub); err != nil {
			return nil, err
		}
	}
	contents := make([]*platformContent, len(b.targets))
	group, ctx := errgroup.WithContext(ctx)
	for i, t := range b.targets {
		group.Go(func() (err error) {
			switch {
			case pub.Recipe == nil:
				contents[i], err = b.nothing(t)
			case pub.Document.Descriptor().Kind == descriptor.Workload:
				contents[i], err = b.workloadContent(ctx, pub, t, results[i])
			default:
				contents[i], err = b.mixinContent(ctx, pub, t, results[i])
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return contents, nil
}

// finish stages the sources on each platform's content, judges what came out and puts the result
// together.
func (b *build) finish(ctx context.Context, pub *project.Published, doc *descriptor.Document, contents []*platformContent) (*gwclient.Result, error) {
	yaml, err := doc.YAML()
	if err != nil {
		return nil, fmt.Errorf("write published descriptor: %w", err)
	}
	annotations, err := tck.Annotations(doc.Descriptor(), Stamp())
	if err != nil {
		return nil, fmt.Errorf("derive annotations: %w", err)
	}
	files := stagedFiles(pub, yaml)
	refs := make([]gwclient.Reference, len(b.targets))
	group, groupCtx := errgroup.WithContext(ctx)
	for i, t := range b.targets {
		group.Go(func() (err error) {
			if refs[i], err = b.stage(groupCtx, t, contents[i].state, files); err != nil {
				// Staging itself has nothing that could fail: it is the content, built only now.
				return b.recipeFailed(pub.Recipe, err)
			}
			if doc.Descriptor().Kind == descriptor.Mixin {
				if err := b.checkHomes(groupCtx, doc, refs[i]); err != nil {
					return err
				}
			}
			return b.selfCheck(groupCtx, doc, t, refs[i], annotations, contents[i].config)
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return b.result(contents, refs, annotations)
}

func (b *build) stage(ctx context.Context, t target, content llb.State, files []project.StagedFile) (gwclient.Reference, error) {
	state := stageSources(content, files, epoch(b.opts), b.stepName(t, "stage kit sources"))
	return b.solve(ctx, state, t.platform)
}

// solve evaluates a state; nil stands for an empty file system.
func (b *build) solve(ctx context.Context, state llb.State, p ocispec.Platform) (gwclient.Reference, error) {
	def, err := state.Marshal(ctx, llb.Platform(p), llb.WithCaps(b.c.opts.LLBCaps))
	if err != nil {
		return nil, err
	}
	res, err := b.c.Solve(ctx, gwclient.SolveRequest{Definition: def.ToPB(), Evaluate: true, CacheImports: b.ui.CacheImports})
	if err != nil {
		return nil, err
	}
	return res.SingleRef()
}

// stepName names a step of one platform in the progress.
func (b *build) stepName(t target, what string) string {
	if len(b.targets) > 1 {
		return "[" + t.id + "] " + what
	}
	return "[kit] " + what
}
