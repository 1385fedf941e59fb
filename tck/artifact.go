package tck

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/sbxkit/sbxkit/internal/layerfs"
	"github.com/sbxkit/sbxkit/internal/ociimage"
	"github.com/sbxkit/sbxkit/internal/pkgdb"
)

// ArtifactSource answers for one platform manifest of an image, wherever the image is kept.
type ArtifactSource struct {
	*layerfs.Stack // the composed file system
	image          *ociimage.Image
	artifact       *ociimage.Artifact
}

var (
	_ Source   = (*ArtifactSource)(nil)
	_ Siblings = (*ArtifactSource)(nil)
)

// NewArtifactSource reads nothing yet. The image must stay open while the source is used.
func NewArtifactSource(image *ociimage.Image, artifact *ociimage.Artifact) *ArtifactSource {
	var blobs []layerfs.Blob
	for _, layer := range artifact.Layers() {
		blobs = append(blobs, fetched{layer})
	}
	stack := layerfs.NewStack(blobs)
	stack.Keep(wanted)
	return &ArtifactSource{Stack: stack, image: image, artifact: artifact}
}

// wanted names the files that checks read, so that most kits are judged with one pass over each layer.
func wanted(path string) bool {
	if strings.HasPrefix(path, StagedRoot+"/") || path == passwdFile || path == groupFile {
		return true
	}
	return slices.ContainsFunc(pkgdb.Databases(), func(db pkgdb.Database) bool { return db.Path == path })
}

// Annotations are the manifest's.
func (s *ArtifactSource) Annotations() map[string]string { return s.artifact.Manifest.Annotations }

// Config reads the verified image config.
func (s *ArtifactSource) Config(ctx context.Context) (*ocispec.Image, error) {
	config, _, err := s.artifact.Config(ctx)
	switch {
	case err == nil, errors.Is(err, ociimage.ErrTooLarge), errors.Is(err, ociimage.ErrMalformed), errors.Is(err, ociimage.ErrNotFound):
		return config, err // what is wrong is the kit
	}
	return nil, openError{err}
}

// openError is an ErrCannotJudge whose text is that of its cause.
type openError struct{ error }

func (e openError) Unwrap() error        { return e.error }
func (e openError) Is(target error) bool { return target == ErrCannotJudge }

// fetched is a layer whose transport errors say that no judgement is possible, so that they can be
// told from what is wrong inside the layer.
type fetched struct{ *ociimage.Layer }

func (f fetched) Open(ctx context.Context) (io.ReadCloser, error) {
	r, err := f.Layer.Open(ctx)
	if err != nil {
		return nil, openError{err}
	}
	return fetchedReader{r}, nil
}

type fetchedReader struct{ io.ReadCloser }

func (f fetchedReader) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = openError{err}
	}
	return n, err
}

// Index gives the annotations of the image's outermost index.
func (s *ArtifactSource) Index() (annotations map[string]string, ok bool) { return s.image.Index() }

// Layers counts what the manifest lists.
func (s *ArtifactSource) Layers(context.Context) (int, error) {
	return len(s.artifact.Manifest.Layers), nil
}

// Sibling fetches the manifest annotations of another kit from its registry, for this artifact's
// platform; ociimage.ErrNoSiblings where the image did not come from one.
func (s *ArtifactSource) Sibling(ctx context.Context, ref, digest string) (map[string]string, error) {
	image, err := s.image.Sibling(ctx, ref, digest)
	if err != nil {
		return nil, err
	}
	defer func() { _ = image.Close() }() // nothing was written, so nothing can be lost
	artifact, err := image.Artifact(ctx, s.platform(ctx))
	if err != nil {
		return nil, err
	}
	return artifact.Manifest.Annotations, nil
}

// platform is the judged artifact's: from the index entry that led to it, else from its config, else
// the one that a sandbox on this machine would use.
func (s *ArtifactSource) platform(ctx context.Context) *ocispec.Platform {
	if p := s.artifact.Descriptor.Platform; p != nil {
		return p
	}
	if config, _, err := s.artifact.Config(ctx); err == nil && config.OS != "" && config.Architecture != "" {
		return &ocispec.Platform{OS: config.OS, Architecture: config.Architecture, Variant: config.Variant}
	}
	return &ocispec.Platform{OS: "linux", Architecture: runtime.GOARCH}
}

// Verdict is what Validate found out about an image.
type Verdict struct {
	Results []Result
	Digest  string // of what was selected, an index or one manifest: a tag may name another tomorrow
}

// Result is one report and the platforms that it holds for, such as "linux/arm64". A manifest that
// was reached directly has none.
type Result struct {
	Platforms []string
	Report    *Report
	Digests   map[string]string // of the manifests, by platform; by "" of one that was reached directly
}

// Conforms tells whether every platform does.
func (v *Verdict) Conforms() bool {
	for _, r := range v.Results {
		if !r.Report.Conforms() {
			return false
		}
	}
	return len(v.Results) > 0
}

// Validate judges every runnable platform of an image. Platforms whose reports are equal share a
// result, each platform once, in the order in which they were first met. The error is operational, as that of Run.
func Validate(ctx context.Context, image *ociimage.Image) (*Verdict, error) {
	artifacts, err := image.Artifacts(ctx)
	if err != nil {
		return nil, fmt.Errorf("list platforms: %w", err)
	}
	verdict := &Verdict{Digest: image.Target.Digest.String()}
	for _, artifact := range artifacts {
		report, err := Run(ctx, NewArtifactSource(image, artifact))
		if err != nil {
			if artifact.Platform != "" {
				err = fmt.Errorf("%s: %w", artifact.Platform, err)
			}
			return nil, err
		}
		verdict.add(artifact.Platform, artifact.Descriptor.Digest.String(), report)
	}
	return verdict, nil
}

func (v *Verdict) add(platform, digest string, report *Report) {
	var platforms []string
	if platform != "" {
		platforms = []string{platform}
	}
	for i := range v.Results {
		// Two manifests for one platform, as Windows has by version, would share one place in Digests.
		if _, taken := v.Results[i].Digests[platform]; !taken && v.Results[i].Report.equal(report) {
			v.Results[i].Platforms = append(v.Results[i].Platforms, platforms...)
			v.Results[i].Digests[platform] = digest
			return
		}
	}
	v.Results = append(v.Results, Result{Platforms: platforms, Report: report, Digests: map[string]string{platform: digest}})
}
