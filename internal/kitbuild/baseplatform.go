package kitbuild

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/containerd/platforms"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/sbxkit/sbxkit/internal/kitbuild/project"
)

// checkBasePlatform refuses a workload whose content is for another platform than its image would state.
// The engine takes a base that has just one manifest, whatever that is for, and the Dockerfile frontend
// then states the target in the place of the base's own platform. baseConfig is that of the final stage's
// base, so earlier stages may be for any platform.
func (b *build) checkBasePlatform(ctx context.Context, pub *project.Published, t target, baseConfig []byte) error {
	var image ocispec.Image
	var err error
	if baseConfig == nil {
		image, err = b.replacingImage(ctx, pub, t)
	} else if err = json.Unmarshal(baseConfig, &image); err != nil {
		err = b.recipeFailed(pub.Recipe, fmt.Errorf("read image config of its base: %w", err))
	}
	if err != nil || runsOn(image.Platform, t.platform) {
		return err
	}
	return fault(pub.Document, project.CodeBasePlatform, recipeField(pub.Document.Descriptor()),
		"name a base image that has "+t.id+", or do not build for that platform",
		"the base image of %s is for %s and the kit is built for %s",
		pub.Recipe.Name, platforms.FormatAll(platforms.Normalize(image.Platform)), t.id)
}

// runsOn compares what an image config states with a target. Variants are left to whoever named the base:
// many images state none, or a lower one. Without an architecture a config states nothing.
func runsOn(stated, target ocispec.Platform) bool {
	if stated.Architecture == "" {
		return true
	}
	if stated.OS == "" {
		stated.OS = target.OS
	}
	stated, target = platforms.Normalize(stated), platforms.Normalize(target)
	return stated.OS == target.OS && stated.Architecture == target.Architecture
}

// replacingImage is the image that a named context put in the place of the built stage, or of one that it
// starts from: the Dockerfile frontend does not tell of it as a base. It is the zero image where there is
// none, and where a frontend of the recipe's own may read something else in its text.
func (b *build) replacingImage(ctx context.Context, pub *project.Published, t target) (ocispec.Image, error) {
	if _, _, _, foreign := parser.DetectSyntax(pub.Recipe.Text); foreign {
		return ocispec.Image{}, nil
	}
	opts := recipeBuildOf(pub).options(b.opts, t.name())
	origin, err := findOrigin(pub.Recipe.Text, b.query(opts, t))
	if err != nil {
		return ocispec.Image{}, inRecipe(err, pub.Recipe)
	}
	if origin.kind != baseReplaced {
		return ocispec.Image{}, nil
	}
	_, image, err := b.contextBase(ctx, origin)
	return image, err
}
