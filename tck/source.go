package tck

import (
	"context"
	"errors"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/sbxkit/sbxkit/internal/layerfs"
	"github.com/sbxkit/sbxkit/internal/ociimage"
)

// Where a kit keeps its own sources (SPEC-v3 §10): StagedRoot/<stem>/kit.yaml, and kit.dockerfile
// beside it when there is a recipe.
const (
	StagedRoot       = "/usr/share/sandbox/kit"
	StagedDescriptor = "kit.yaml"
	StagedRecipe     = "kit.dockerfile"
)

// MaxFile bounds, in bytes, each file that a check reads from an artifact. It is far above any
// descriptor, account file or package database of a real image, and keeps a hostile one from
// filling the memory.
const MaxFile = 16 << 20

// ErrUnobservable says that a source cannot answer: the check skips, it never reports absence.
var ErrUnobservable = errors.New("not observable here")

// Source answers for one artifact: a platform manifest and its blobs, or what a build is about to
// export as one. The checks call it from one goroutine. Its errors say what was tried, with the path
// where there is one; they become findings, unless they are an ErrCannotJudge.
type Source interface {
	// Annotations are those of the manifest.
	Annotations() map[string]string
	// Config reads the image config.
	Config(ctx context.Context) (*ocispec.Image, error)
	// Index gives the annotations of the outermost index; ok is false when there is none (yet).
	Index() (annotations map[string]string, ok bool)
	// Layers counts the layers; ErrUnobservable during a build.
	Layers(ctx context.Context) (int, error)
	Files
	// Overlay gives the extraction model; ErrUnobservable during a build.
	Overlay(ctx context.Context) (*layerfs.Overlay, error)
}

// Files is the composed file system of an artifact. Paths are absolute, links are followed.
// A path that is not there, or is a directory, is absent: Exists says false, the others fs.ErrNotExist.
type Files interface {
	Exists(ctx context.Context, path string) (bool, error)
	// Stat describes the final target; ErrUnobservable when the source knows no metadata.
	Stat(ctx context.Context, path string) (layerfs.Info, error)
	// ReadFile fails with layerfs.ErrTooLarge over limit bytes.
	ReadFile(ctx context.Context, path string, limit int64) ([]byte, error)
	// Stems lists, sorted, the one-segment folders below root that hold a file of that name.
	Stems(ctx context.Context, root, file string) ([]string, error)
}

// Siblings is an optional ability of a Source: reaching the kits that a merged set lists.
type Siblings interface {
	// Sibling gives the manifest annotations of the kit that ref names, at that digest, on the
	// platform of the artifact being judged.
	Sibling(ctx context.Context, ref, digest string) (map[string]string, error)
}

// ErrCannotJudge marks errors of a Source that leave the question open instead of answering it: a
// registry that does not answer, a blob that cannot be fetched. A check that meets one ends the run.
var ErrCannotJudge = errors.New("cannot judge")

// operational tells whether an error leaves the question open. Content that differs from its digest
// does: whoever altered it, it is not the kit that was asked about.
func operational(err error) bool {
	return errors.Is(err, ErrCannotJudge) ||
		errors.Is(err, ociimage.ErrDigest) ||
		errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded)
}
