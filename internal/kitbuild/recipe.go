package kitbuild

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/containerd/platforms"
	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/exporter/containerimage/exptypes"
	commonexptypes "github.com/moby/buildkit/exporter/exptypes"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/buildkit/frontend/dockerui"
	gwclient "github.com/moby/buildkit/frontend/gateway/client"
	"github.com/moby/buildkit/solver/errdefs"
	"github.com/moby/buildkit/solver/pb"
	"github.com/moby/buildkit/util/grpcerrors"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"

	"github.com/sbxkit/sbxkit/internal/kitbuild/project"
)

// recipeResult is what the build of the recipe gave for one platform. It may not have run yet.
type recipeResult struct {
	state  llb.State
	ref    gwclient.Reference // nil: an empty file system
	config []byte             // image config as the frontend wrote it
	image  ocispec.Image      // the same, decoded
	base   []byte             // config of the image below, nil for none
	epoch  []byte
}

// buildRecipe hands the recipe to the Dockerfile frontend, once for all platforms. A recipe that names a
// frontend of its own gets one build for each: not every frontend knows of several platforms.
func (b *build) buildRecipe(ctx context.Context, pub *project.Published) ([]*recipeResult, error) {
	r := recipeBuildOf(pub)
	if _, _, _, foreign := parser.DetectSyntax(pub.Recipe.Text); !foreign || len(b.targets) == 1 {
		var names []string
		for _, t := range b.targets {
			names = append(names, t.name())
		}
		return b.solveRecipe(ctx, pub.Recipe, r.options(b.opts, strings.Join(names, ",")), b.targets)
	}
	results := make([]*recipeResult, len(b.targets))
	group, ctx := errgroup.WithContext(ctx)
	for i, t := range b.targets {
		group.Go(func() error {
			one, err := b.solveRecipe(ctx, pub.Recipe, r.options(b.opts, t.name()), []target{t})
			if err == nil {
				results[i] = one[0]
			}
			return err
		})
	}
	return results, group.Wait()
}

// solveRecipe runs the Dockerfile frontend and takes its result apart, in the order of targets, which
// opts must name.
func (b *build) solveRecipe(ctx context.Context, recipe *project.Recipe, opts map[string]string, targets []target) ([]*recipeResult, error) {
	inputs, err := b.recipeInputs(ctx, recipe)
	if err != nil {
		return nil, err
	}
	res, err := b.c.Solve(ctx, gwclient.SolveRequest{
		Frontend:       "dockerfile.v0",
		FrontendOpt:    opts,
		FrontendInputs: inputs,
		CacheImports:   b.ui.CacheImports,
	})
	if err != nil {
		return nil, b.recipeFailed(recipe, err)
	}
	var results []*recipeResult
	for _, t := range targets {
		var one *recipeResult
		if len(targets) == 1 {
			ref, refErr := res.SingleRef()
			if refErr != nil {
				return nil, b.recipeFailed(recipe, refErr)
			}
			one, err = takeResult(ref, res.Metadata, "")
		} else {
			ref, given := res.Refs[t.id]
			if !given {
				return nil, b.recipeFailed(recipe, fmt.Errorf("its build gave nothing for %s", t.id))
			}
			one, err = takeResult(ref, res.Metadata, "/"+t.id)
		}
		if err != nil {
			return nil, b.recipeFailed(recipe, err)
		}
		results = append(results, one)
	}
	return results, nil
}

// recipeInputs are the caller's frontend inputs, with the recipe's text among them if it is no file.
func (b *build) recipeInputs(ctx context.Context, recipe *project.Recipe) (map[string]*pb.Definition, error) {
	inputs := maps.Clone(b.inputs)
	if !recipe.Inline {
		return inputs, nil
	}
	def, err := inputState(map[string][]byte{recipe.Name: recipe.Text}, "recipe "+path.Base(recipe.Name)).
		Marshal(ctx, llb.Platform(b.buildPlatform), llb.WithCaps(b.c.opts.LLBCaps))
	if err != nil {
		return nil, fmt.Errorf("hand over recipe: %w", err)
	}
	if inputs == nil {
		inputs = map[string]*pb.Definition{}
	}
	inputs[dockerui.DefaultLocalNameDockerfile] = def.ToPB()
	return inputs, nil
}

// inputState is a file system with the files in it.
func inputState(files map[string][]byte, what string) llb.State {
	action := llb.Mkdir("/", stagedDirMode, llb.WithParents(true))
	for _, name := range slices.Sorted(maps.Keys(files)) {
		at := path.Join("/", name)
		if dir := path.Dir(at); dir != "/" {
			action = action.Mkdir(dir, stagedDirMode, llb.WithParents(true))
		}
		action = action.Mkfile(at, stagedFileMode, files[name])
	}
	return llb.Scratch().File(action, dockerui.WithInternalName("load "+what))
}

func takeResult(ref gwclient.Reference, meta map[string][]byte, suffix string) (*recipeResult, error) {
	out := &recipeResult{
		state:  llb.Scratch(),
		ref:    ref,
		config: meta[exptypes.ExporterImageConfigKey+suffix],
		base:   meta[exptypes.ExporterImageBaseConfigKey+suffix],
		epoch:  meta[commonexptypes.ExporterEpochKey+suffix],
	}
	if out.config == nil {
		return nil, errors.New("its build gave no image config")
	}
	if err := json.Unmarshal(out.config, &out.image); err != nil {
		return nil, fmt.Errorf("read image config: %w", err)
	}
	if ref != nil {
		state, err := ref.ToState()
		if err != nil {
			return nil, fmt.Errorf("use result: %w", err)
		}
		out.state = state
	}
	return out, nil
}

// recipeFailed names the recipe in an error of its build. The Dockerfile frontend has attached the place
// already; what its message does not tell is added.
func (b *build) recipeFailed(recipe *project.Recipe, err error) error {
	if recipe == nil {
		return err
	}
	return &recipeError{name: recipe.Name, err: err, note: stepNote(b.c.opts.Workers, err)}
}

// stepNote says what may help with a step that failed, beginning with a blank; empty where the error does
// not tell enough.
func stepNote(workers []gwclient.WorkerInfo, err error) string {
	var failed *errdefs.SolveError
	if !errors.As(err, &failed) || grpcerrors.Code(err) == codes.Canceled {
		return ""
	}
	if _, reading := failed.Subject.(*errdefs.Solve_Cache); reading {
		// The engine got no further than to sum up the files that the step reads. It says which it missed, in
		// the words of its cache.
		return " (what a step copies or mounts has to be there, and must not be kept out by an ignore file)"
	}
	return foreignNote(workers, failed.Op)
}

// foreignNote says that a step was to run a program for a platform that no worker can run.
func foreignNote(workers []gwclient.WorkerInfo, op *pb.Op) string {
	if op.GetExec() == nil || op.GetPlatform() == nil {
		return ""
	}
	step := platforms.FormatAll(platforms.Normalize(op.GetPlatform().Spec()))
	var runs []string
	for _, w := range workers {
		for _, p := range w.Platforms {
			runs = append(runs, platforms.FormatAll(platforms.Normalize(p)))
		}
	}
	if len(runs) == 0 || slices.Contains(runs, step) {
		return ""
	}
	return fmt.Sprintf(" (this engine runs programs for %s only: steps for %s need an emulator that is registered with its kernel, such as Debian's qemu-user-static)",
		strings.Join(runs, ", "), step)
}
