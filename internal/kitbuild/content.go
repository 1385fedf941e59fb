package kitbuild

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/distribution/reference"
	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/client/llb/sourceresolver"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/buildkit/frontend/dockerui"
	gwclient "github.com/moby/buildkit/frontend/gateway/client"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/sbxkit/sbxkit/descriptor"
	"github.com/sbxkit/sbxkit/internal/kitbuild/project"
)

// platformContent is what a kit brings to one platform, before its sources are staged.
type platformContent struct {
	state  llb.State          // scratch when there is nothing
	ref    gwclient.Reference // of a workload: the same, evaluated; nil for an empty one
	config []byte             // image config, JSON
	base   []byte             // config of the image below, whose layers keep their dates; nil for none
	epoch  []byte             // time that the recipe's build resolved, in seconds; nil for none
}

// nothing is the content of a kit that only declares.
func (b *build) nothing(t target) (*platformContent, error) {
	config, err := mixinConfig(t.platform, ocispec.Image{}, ocispec.Image{}, epoch(b.opts))
	return &platformContent{state: llb.Scratch(), config: config}, err
}

// workloadContent takes the recipe's result as it is. It is evaluated, because provides are derived from
// what is in it.
func (b *build) workloadContent(ctx context.Context, pub *project.Published, t target, built *recipeResult) (*platformContent, error) {
	if len(built.image.Config.Entrypoint) == 0 && len(built.image.Config.Cmd) == 0 {
		return nil, pub.Document.Errorf(project.CodeNoLaunch, "kind", "give the recipe an ENTRYPOINT or a CMD",
			"the image of a workload has to start something, and %s states neither ENTRYPOINT nor CMD", pub.Recipe.Name)
	}
	// Before the recipe's steps run, which could fail with less to go by.
	if err := b.checkBasePlatform(ctx, pub, t, built.base); err != nil {
		return nil, err
	}
	if built.ref != nil {
		if err := built.ref.Evaluate(ctx); err != nil {
			return nil, b.recipeFailed(pub.Recipe, err)
		}
	}
	config, err := workloadConfig(built.config, epoch(b.opts))
	if err != nil {
		return nil, b.recipeFailed(pub.Recipe, err)
	}
	return &platformContent{state: built.state, ref: built.ref, config: config, base: built.base, epoch: built.epoch}, nil
}

// query asks about the stage that a build of the recipe with opts builds for one platform.
func (b *build) query(opts map[string]string, t target) stageQuery {
	return stageQuery{
		target:        opts[optTarget],
		args:          buildArgs(opts),
		buildPlatform: b.buildPlatform,
		platform:      t.platform,
		hasContext:    b.hasContext,
	}
}

// mixinContent takes what the recipe adds to the base of the stage that is built.
func (b *build) mixinContent(ctx context.Context, pub *project.Published, t target, built *recipeResult) (*platformContent, error) {
	opts := recipeBuildOf(pub).options(b.opts, t.name())
	stageBase, err := findBase(pub.Recipe.Text, b.query(opts, t))
	if err != nil {
		return nil, inRecipe(err, pub.Recipe)
	}
	if stageBase.kind == baseReplaced {
		return b.nothing(t) // the stage is the context, so there is no difference
	}
	lower, lowerImage, err := b.lowerSide(ctx, pub, stageBase, opts, t)
	if err != nil {
		return nil, err
	}
	c := &platformContent{
		state: llb.Diff(lower, built.state, llb.WithCustomName(b.stepName(t, "take what the recipe adds to its base"))),
		epoch: built.epoch,
	}
	c.config, err = mixinConfig(t.platform, lowerImage, built.image, epoch(b.opts))
	return c, err
}

// lowerSide is what the built stage starts from, and the image config that it starts with.
func (b *build) lowerSide(ctx context.Context, pub *project.Published, stageBase base, opts map[string]string, t target) (llb.State, ocispec.Image, error) {
	switch stageBase.kind {
	case baseStage:
		stages, err := b.solveRecipe(ctx, pub.Recipe, lowerOptions(opts, stageBase.name), []target{t})
		if err != nil {
			return llb.State{}, ocispec.Image{}, err
		}
		return stages[0].state, stages[0].image, nil
	case baseContext:
		return b.contextBase(ctx, stageBase)
	case baseImage:
		return b.imageBase(ctx, stageBase, t)
	}
	return llb.Scratch(), scratchImage(t.platform), nil
}

func (b *build) hasContext(name string, p *ocispec.Platform) (bool, error) {
	nc, err := b.namedContext(name, p)
	return nc != nil, err
}

func (b *build) namedContext(name string, p *ocispec.Platform) (*dockerui.NamedContext, error) {
	return b.ui.NamedContext(name, dockerui.ContextOpt{Platform: p, ResolveMode: b.ui.ImageResolveMode.String()})
}

func (b *build) contextBase(ctx context.Context, stageBase base) (llb.State, ocispec.Image, error) {
	nc, err := b.namedContext(stageBase.name, stageBase.platform)
	if err != nil || nc == nil {
		return llb.State{}, ocispec.Image{}, fmt.Errorf("find build context %s: %w", stageBase.name, err)
	}
	state, image, err := nc.Load(ctx)
	if err != nil {
		return llb.State{}, ocispec.Image{}, fmt.Errorf("load build context %s: %w", stageBase.name, err)
	}
	if image == nil {
		return *state, scratchImage(*stageBase.platform), nil
	}
	return *state, ocispec.Image{Platform: image.Platform, Config: image.Config.ImageConfig, History: image.History}, nil
}

// imageBase pins the image by the digest that it has in this build.
func (b *build) imageBase(ctx context.Context, stageBase base, t target) (llb.State, ocispec.Image, error) {
	mode := b.ui.ImageResolveMode
	ref, digest, data, err := b.c.ResolveImageConfig(ctx, stageBase.name, sourceresolver.Opt{
		LogName:  b.stepName(t, "load metadata for "+stageBase.name),
		ImageOpt: &sourceresolver.ResolveImageOpt{Platform: stageBase.platform, ResolveMode: mode.String()},
	})
	if err != nil {
		return llb.State{}, ocispec.Image{}, fmt.Errorf("resolve base %s: %w", stageBase.name, err)
	}
	named, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return llb.State{}, ocispec.Image{}, fmt.Errorf("parse base %s: %w", ref, err)
	}
	if digest != "" {
		if named, err = reference.WithDigest(named, digest); err != nil {
			return llb.State{}, ocispec.Image{}, fmt.Errorf("pin base %s: %w", ref, err)
		}
	}
	var image ocispec.Image
	if err := json.Unmarshal(data, &image); err != nil {
		return llb.State{}, ocispec.Image{}, fmt.Errorf("read image config of %s: %w", stageBase.name, err)
	}
	return llb.Image(named.String(), llb.Platform(*stageBase.platform), mode), image, nil
}

// checkHomes warns about a mixin that hands over /home or /home/agent: composed with a workload it would
// take them away from the agent, and the published image is refused for it.
func (b *build) checkHomes(ctx context.Context, doc *descriptor.Document, ref gwclient.Reference) error {
	if ref == nil {
		return nil
	}
	for _, home := range []struct {
		path string
		uid  uint32
	}{{"/home", 0}, {"/home/agent", agentUID}} {
		stat, err := ref.StatFile(ctx, gwclient.StatRequest{Path: home.path})
		if err := notExist(err); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			return fmt.Errorf("look at %s of the overlay: %w", home.path, err)
		}
		if fs.FileMode(stat.Mode).IsDir() && stat.Uid != home.uid {
			b.warn(ctx, warning(doc, project.CodeHomeOwner, "", "chown it in the recipe, or leave the folder out",
				"the overlay carries %s with owner %d instead of %d, which no conforming mixin may", home.path, stat.Uid, home.uid))
		}
	}
	return nil
}

// agentUID owns the home of the agent in every workload (SPEC-v3 §10).
const agentUID = 1000

// refuseSelfReference refuses a recipe that would be dispatched back to this frontend. Blank lines before the
// directive keep BuildKit from seeing it, but not its author from meaning it.
func refuseSelfReference(doc *descriptor.Document, recipe *project.Recipe, dispatchedAs string) error {
	ref, _, _, ok := parser.DetectSyntax(bytes.TrimLeft(recipe.Text, "\r\n\t "))
	if !ok {
		return nil
	}
	if repository := repositoryOf(ref); path.Base(repository) == frontendRepository || dispatchedAs != "" && repository == repositoryOf(dispatchedAs) {
		return fault(doc, project.CodeRecipeSelf, recipeField(doc.Descriptor()), "name a Dockerfile frontend, or remove the line",
			"the recipe %s names the kit frontend as its own syntax", recipe.Name)
	}
	return nil
}

// frontendRepository ends the name of every image that this frontend is published as.
const frontendRepository = "sandbox-kit"

func repositoryOf(ref string) string {
	named, err := reference.ParseNormalizedNamed(strings.TrimSpace(ref))
	if err != nil {
		return ref
	}
	return named.Name()
}

func recipeField(d *descriptor.Descriptor) string {
	switch {
	case d.Build != "":
		return "build"
	case d.Dockerfile != "":
		return "dockerfile"
	}
	return "" // the convention named it
}
