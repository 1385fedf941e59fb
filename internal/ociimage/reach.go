package ociimage

import (
	"context"
	"fmt"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// blob is a part of a target.
type blob struct {
	desc ocispec.Descriptor
	raw  []byte // of an index or a manifest, verified; nil for any other
}

// reachable lists all blobs below a target, each once, and after whatever it refers to: a registry that is given
// them in this order never sees a reference to something that it lacks. It follows every entry, attestations
// and artifacts of any type too, within the limits of a descent.
func reachable(ctx context.Context, src source, target ocispec.Descriptor) ([]blob, error) {
	if !isIndex(target.MediaType) && !isManifest(target.MediaType) {
		return nil, notImage(target.Digest, "its media type is %s, neither an image index nor an image manifest",
			quote(target.MediaType))
	}
	r := &reach{descent: newDescent(src), seen: map[digest.Digest]bool{}}
	if err := r.add(ctx, target, 0); err != nil {
		return nil, err
	}
	return r.blobs, nil
}

type reach struct {
	*descent
	seen  map[digest.Digest]bool
	blobs []blob
}

func (r *reach) add(ctx context.Context, desc ocispec.Descriptor, depth int) error {
	if r.seen[desc.Digest] {
		return nil
	}
	r.seen[desc.Digest] = true
	b := blob{desc: desc}
	switch {
	case isIndex(desc.MediaType):
		if depth > MaxIndexDepth {
			return tooDeep(desc)
		}
		raw, err := r.read(ctx, desc)
		if err != nil {
			return err
		}
		idx, err := decodeIndex(desc, raw)
		if err != nil {
			return err
		}
		if err := r.meet(idx); err != nil {
			return err
		}
		for _, e := range idx.Manifests {
			if err := r.add(ctx, e, depth+1); err != nil {
				return err
			}
		}
		b.raw = raw
	case isManifest(desc.MediaType):
		raw, err := r.read(ctx, desc)
		if err != nil {
			return err
		}
		m, err := decodeManifest(desc, raw)
		if err != nil {
			return err
		}
		for _, part := range append(m.Layers, m.Config) {
			if err := r.add(ctx, part, depth+1); err != nil {
				return err
			}
		}
		b.raw = raw
	default:
		if err := desc.Digest.Validate(); err != nil {
			return fmt.Errorf("blob %s: %w: %w", quote(string(desc.Digest)), ErrMalformed, err)
		}
	}
	r.blobs = append(r.blobs, b)
	return nil
}

func tooDeep(desc ocispec.Descriptor) error {
	return fmt.Errorf("index %s: %w: more than %d indexes inside each other", desc.Digest, ErrTooLarge, MaxIndexDepth+1)
}
