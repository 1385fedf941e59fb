package kitbuild

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/frontend/dockerui"
	gwclient "github.com/moby/buildkit/frontend/gateway/client"
	"github.com/moby/buildkit/solver/pb"
	"github.com/opencontainers/go-digest"

	"github.com/sbxkit/sbxkit/descriptor"
	"github.com/sbxkit/sbxkit/internal/kitbuild/project"
)

// recipeFiles reads the folder of the descriptor, wherever the caller keeps it: on its machine, in a
// Git repository, in a frontend input.
type recipeFiles struct {
	b     *build
	name  string // of the descriptor
	ref   gwclient.Reference
	step  digest.Digest // of the step that loads the files, which warnings are shown at
	paths []string      // what was asked for so far; nothing else need be sent
}

var (
	_ project.Files  = (*recipeFiles)(nil)
	_ project.Lister = (*recipeFiles)(nil)
)

// ReadFile implements project.Files. The descriptor and its companion come in one transfer.
func (r *recipeFiles) ReadFile(ctx context.Context, name string, limit int64) ([]byte, error) {
	if r.paths == nil {
		r.paths = []string{r.name, project.CompanionPath(r.name)}
		if err := r.load(ctx); err != nil {
			return nil, err
		}
	}
	if !slices.Contains(r.paths, name) {
		r.paths = append(r.paths, name)
		if err := r.load(ctx); err != nil {
			return nil, err
		}
	}
	return readRef(ctx, r.ref, name, limit)
}

// List implements project.Lister.
func (r *recipeFiles) List(ctx context.Context, dir string, patterns ...string) ([]string, error) {
	for _, p := range patterns {
		if at := path.Join(dir, p); !slices.Contains(r.paths, at) {
			r.paths = append(r.paths, at)
		}
	}
	if err := r.load(ctx); err != nil || r.ref == nil {
		return nil, err
	}
	entries, err := r.ref.ReadDir(ctx, gwclient.ReadDirRequest{Path: dir})
	if err != nil {
		return nil, notExist(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, path.Base(e.Path))
	}
	return project.Matching(names, patterns), nil
}

func (r *recipeFiles) load(ctx context.Context) error {
	def, given := r.b.inputs[dockerui.DefaultLocalNameDockerfile]
	if !given || r.b.opts[optDockerfileKey] != "" {
		source, err := r.b.ui.ReadEntrypoint(ctx, "yaml",
			llb.FollowPaths(r.paths),
			llb.WithCustomName("[internal] load kit descriptor "+r.name+" ("+builderName+" "+builderRelease()+")"),
		)
		if err != nil {
			return notExist(err)
		}
		def = source.Definition.ToPB()
	}
	step, err := headOf(def)
	if err != nil {
		return err
	}
	r.step = step
	r.ref, err = r.b.solveInput(ctx, def)
	return err
}

// warn shows a finding as a warning of the build. One that cannot be shown does not end the build.
func (r *recipeFiles) warn(ctx context.Context, doc *descriptor.Document, f descriptor.Finding) {
	text := f.Code + ": " + f.Message
	if f.Path != "" {
		text = f.Code + ": " + f.Path + ": " + f.Message
	}
	_ = r.b.c.Warn(ctx, r.step, text, warnOpts(doc, f))
}

func headOf(def *pb.Definition) (digest.Digest, error) {
	var d llb.Definition
	d.FromPB(def)
	head, err := d.Head()
	if err != nil {
		return "", fmt.Errorf("find the step that loads the kit: %w", err)
	}
	return head, nil
}

// contextFiles reads the build context. What is kept from the recipe by an ignore file may still be
// guidance.
type contextFiles struct{ b *build }

var _ project.Files = contextFiles{}

// ReadFile implements project.Files.
func (c contextFiles) ReadFile(ctx context.Context, name string, limit int64) ([]byte, error) {
	state, err := c.b.ui.MainContext(ctx,
		llb.FollowPaths([]string{name}),
		llb.ExcludePatterns(nil),
		llb.SharedKeyHint(dockerui.DefaultLocalNameContext+"-guidance"),
		llb.WithCustomName("[internal] load kit guidance "+name),
	)
	if err != nil {
		return nil, err
	}
	def, err := state.Marshal(ctx, llb.WithCaps(c.b.c.opts.LLBCaps))
	if err != nil {
		return nil, err
	}
	ref, err := c.b.solveInput(ctx, def.ToPB())
	if err != nil {
		return nil, err
	}
	return readRef(ctx, ref, name, limit)
}

func (b *build) solveInput(ctx context.Context, def *pb.Definition) (gwclient.Reference, error) {
	res, err := b.c.Solve(ctx, gwclient.SolveRequest{Definition: def})
	if err != nil {
		return nil, err
	}
	return res.SingleRef()
}

// readRef reads one regular file; a nil reference is an empty file system.
func readRef(ctx context.Context, ref gwclient.Reference, name string, limit int64) ([]byte, error) {
	if ref == nil {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	stat, err := ref.StatFile(ctx, gwclient.StatRequest{Path: name})
	if err != nil {
		return nil, notExist(err)
	}
	mode := fs.FileMode(stat.Mode)
	switch {
	case mode.IsDir():
		return nil, fmt.Errorf("%s: %w", name, errFolder)
	case !mode.IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", name)
	case stat.Size > limit:
		return nil, fmt.Errorf("%s: %w: more than %d bytes", name, project.ErrTooLarge, limit)
	}
	data, err := ref.ReadFile(ctx, gwclient.ReadRequest{Filename: name, Range: &gwclient.FileRange{Length: int(limit) + 1}})
	if err != nil {
		return nil, notExist(err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s: %w: more than %d bytes", name, project.ErrTooLarge, limit)
	}
	return data, nil
}

var errFolder = errors.New("is a folder")

// notExist marks an error that says that a path is absent. Errors cross the gateway as text, so the text
// is all there is to go by.
func notExist(err error) error {
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, sign := range []string{"no such file or directory", "not a directory", "file does not exist"} {
		if strings.Contains(err.Error(), sign) {
			return &absentError{err}
		}
	}
	return err
}

// absentError is fs.ErrNotExist with what the engine said.
type absentError struct{ err error }

func (e *absentError) Error() string        { return e.err.Error() }
func (e *absentError) Is(target error) bool { return target == fs.ErrNotExist }
func (e *absentError) Unwrap() error        { return e.err }
