package ociimage

import (
	"context"
	"fmt"
	"io"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Artifact is one platform manifest, known to be a runnable image.
type Artifact struct {
	Descriptor ocispec.Descriptor
	Manifest   ocispec.Manifest
	// Platform is os/architecture, with /variant if there is one, as the index states it. It is empty when
	// the manifest was reached without an index entry naming one.
	Platform string

	src source
}

// newArtifact judges the shape of a manifest.
func newArtifact(src source, desc ocispec.Descriptor, m *manifest) (*Artifact, error) {
	if err := shape(desc, m); err != nil {
		return nil, err
	}
	a := &Artifact{Descriptor: desc, src: src, Platform: label(desc.Platform)}
	a.Manifest.SchemaVersion = m.SchemaVersion
	a.Manifest.MediaType = m.MediaType
	a.Manifest.Config = m.Config
	a.Manifest.Layers = m.Layers
	a.Manifest.Subject = m.Subject
	a.Manifest.Annotations = m.Annotations
	return a, nil
}

// Config reads the image config. It also gives the bytes as published. Errors that speak of the kit rather
// than of its transport are ErrTooLarge and ErrMalformed.
func (a *Artifact) Config(ctx context.Context) (*ocispec.Image, []byte, error) {
	raw, err := readVerified(ctx, a.src.openBlob, a.Manifest.Config)
	if err != nil {
		return nil, nil, fmt.Errorf("read image config: %w", err)
	}
	var cfg ocispec.Image
	if err := decode(raw, &cfg); err != nil {
		return nil, nil, fmt.Errorf("decode image config %s: %w", a.Manifest.Config.Digest, err)
	}
	return &cfg, raw, nil
}

// Layers gives the layers bottom first. Nothing is read before one of them is opened.
func (a *Artifact) Layers() []*Layer {
	layers := make([]*Layer, len(a.Manifest.Layers))
	for i, desc := range a.Manifest.Layers {
		layers[i] = &Layer{Descriptor: desc, src: a.src}
	}
	return layers
}

// Layer is one layer blob.
type Layer struct {
	Descriptor ocispec.Descriptor

	src source
}

// Digest is the digest of the blob as stored, that is, compressed.
func (l *Layer) Digest() string { return l.Descriptor.Digest.String() }

// Open streams the blob as stored. A read that reaches the end has verified size and digest, else it fails with
// ErrDigest; who stops earlier, for example at the end of the tar inside, has not verified anything.
func (l *Layer) Open(ctx context.Context) (io.ReadCloser, error) {
	return openVerified(ctx, l.src.openBlob, l.Descriptor)
}
