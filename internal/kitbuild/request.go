package kitbuild

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/containerd/platforms"
	"github.com/docker/cli/cli/config/configfile"
	"github.com/moby/buildkit/client"
	"github.com/moby/buildkit/session/secrets/secretsprovider"
	"github.com/moby/buildkit/session/sshforward/sshprovider"

	"github.com/sbxkit/sbxkit/internal/kitbuild/project"
	"github.com/sbxkit/sbxkit/internal/ociimage"
)

// Request says what to build. The zero value of each optional field is the usual case.
type Request struct {
	// ContextDir is the build context: what the recipe copies from and where guidance is read. Required.
	ContextDir string
	// DescriptorPath names the descriptor's file; empty means the one descriptor in ContextDir.
	DescriptorPath string
	// Platforms to build for, in OS/ARCH[/VARIANT] form; empty means the engine's own.
	Platforms []string
	// BuildArgs are values by the names of the kit's args; others go to the recipe.
	BuildArgs map[string]string
	// BuildContexts replace images and stages by name: a folder, docker-image://REF,
	// oci-layout://DIR[:TAG|@DIGEST], or the address of a repository.
	BuildContexts map[string]string
	// Target is the stage to build; empty means the last.
	Target string
	// NoCache runs every step anew.
	NoCache bool
	// Pull asks registries for the newest image behind a tag, cached or not.
	Pull bool
	// Labels go into the image config.
	Labels map[string]string
	// Epoch dates everything that the build makes; nil means the build argument SOURCE_DATE_EPOCH, and
	// without that DefaultEpoch.
	Epoch *time.Time

	// Secrets and SSH serve the mounts of those types in RUN steps.
	Secrets []secretsprovider.Source
	SSH     []sshprovider.AgentConfig
	// DockerConfig holds the credentials of registries; nil for none.
	DockerConfig *configfile.ConfigFile

	// Layout receives the image's blobs; naming the image there is the caller's step. Nil builds into the
	// cache alone.
	Layout *ociimage.Layout
	// Progress receives the steps of the build and is closed at its end, or when there is none.
	Progress chan *client.SolveStatus
}

// Prepared is a request whose kit was judged and whose inputs were opened: nothing about it can fail any
// more without an engine.
type Prepared struct {
	// Kit is the kit up to its content.
	Kit *project.Published

	req       Request
	solve     client.SolveOpt
	recipe    map[string][]byte // files that the recipe's build reads, by their names there
	platforms []string
}

// Prepare judges the kit and opens the inputs. A fault of the kit is a *descriptor.InvalidError; of a set
// without one the error is project.ErrSetNotBuilt.
func Prepare(ctx context.Context, req Request) (*Prepared, error) {
	at, err := project.Locate(req.ContextDir, req.DescriptorPath)
	if err != nil {
		return nil, err
	}
	dir, name := filepath.Split(at)
	dir = filepath.Clean(dir)
	sources := project.Dir(dir)
	p, err := project.Open(ctx, sources, name, at)
	if err != nil {
		return nil, err
	}
	out := &Prepared{req: req}
	if out.Kit, err = p.Publish(ctx, req.BuildArgs, project.Dir(req.ContextDir)); err != nil {
		return nil, err
	}
	if err := out.Kit.Buildable(); err != nil {
		return nil, err
	}
	if err := CheckRecipe(p.Document, out.Kit.Recipe); err != nil {
		return nil, err
	}
	if list := strings.Join(req.Platforms, ","); list != "" {
		parsed, err := parsePlatforms(list)
		if err != nil {
			return nil, err
		}
		for _, p := range parsed {
			out.platforms = append(out.platforms, platforms.FormatAll(p))
		}
	}
	if err := out.options(ctx, name); err != nil {
		return nil, err
	}
	if err := out.takeRecipe(ctx, sources); err != nil {
		return nil, err
	}
	return out, nil
}

// takeRecipe keeps the recipe's text and its own ignore file, so that the engine builds what was judged
// and need not be sent them file by file.
func (p *Prepared) takeRecipe(ctx context.Context, sources project.Files) error {
	recipe := p.Kit.Recipe
	if recipe == nil {
		return nil
	}
	p.recipe = map[string][]byte{recipe.Name: recipe.Text}
	if recipe.Inline {
		return nil
	}
	name := recipe.Name + ".dockerignore"
	ignore, err := sources.ReadFile(ctx, name, project.MaxRecipeSize)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("read ignore file: %w", err)
	}
	p.recipe[name] = ignore
	return nil
}

// Run builds in one go what Prepare and Prepared.Run do in two.
func Run(ctx context.Context, c *client.Client, req Request) (*Result, error) {
	p, err := Prepare(ctx, req)
	if err != nil {
		if req.Progress != nil {
			close(req.Progress)
		}
		return nil, err
	}
	return p.Run(ctx, c)
}
