package ociimage

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"strings"

	"github.com/containerd/platforms"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Artifacts lists the runnable platform manifests in listed order, nested indexes in their place. Entries for
// the operating system "unknown" are attestations and left out. One entry that is no image fails the whole,
// since an image with a part that cannot be read cannot be judged; so does an index without any manifest.
func (i *Image) Artifacts(ctx context.Context) ([]*Artifact, error) {
	if i.manifest != nil {
		a, err := newArtifact(i.src, i.Target, i.manifest)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", i.where, err)
		}
		return []*Artifact{a}, nil
	}
	d := newDescent(i.src)
	var all []*Artifact
	if err := d.walk(ctx, i.index, 0, func(e ocispec.Descriptor) error {
		a, err := d.artifact(ctx, e)
		all = append(all, a)
		return err
	}); err != nil {
		return nil, fmt.Errorf("read %s: %w", i.where, err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("read %s: %w", i.where, notImage(i.Target.Digest, "the index lists no runnable manifest"))
	}
	return all, nil
}

// Artifact picks one manifest. A wanted platform is looked for at each level first and then in the nested
// indexes, one after the other; without one the choice is linux on the architecture of this program, else the
// first runnable manifest. A bare manifest states no platform and is given whatever is wanted: its config
// knows better. ErrNotFound if no entry matches.
func (i *Image) Artifact(ctx context.Context, platform *ocispec.Platform) (*Artifact, error) {
	if i.manifest != nil {
		all, err := i.Artifacts(ctx)
		if err != nil {
			return nil, err
		}
		return all[0], nil
	}
	want := ocispec.Platform{OS: "linux", Architecture: runtime.GOARCH}
	if platform != nil {
		want = *platform
	}
	d := newDescent(i.src)
	found, err := d.pick(ctx, i.index, 0, want)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", i.where, err)
	}
	if found == nil && platform == nil {
		found = d.first
	}
	if found == nil && len(d.labels) == 0 {
		return nil, fmt.Errorf("read %s: %w", i.where, notImage(i.Target.Digest, "the index lists no runnable manifest"))
	}
	if found == nil {
		return nil, fmt.Errorf("read %s: manifest for %s: %w: there is %s",
			i.where, label(&want), ErrNotFound, list(d.labels))
	}
	a, err := d.artifact(ctx, *found)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", i.where, err)
	}
	return a, nil
}

// descent reads indexes and manifests below a target, within the limits on all of them together.
type descent struct {
	src     source
	entries int
	size    int64

	first  *ocispec.Descriptor // the first runnable entry in listed order, noted by pick
	labels []string            // platforms of the entries met by pick
}

func newDescent(src source) *descent { return &descent{src: src} }

// read reads an index or a manifest.
func (d *descent) read(ctx context.Context, desc ocispec.Descriptor) ([]byte, error) {
	if desc.Size > MaxDescentSize-d.size {
		return nil, fmt.Errorf("%w: indexes and manifests of more than %d bytes together", ErrTooLarge, MaxDescentSize)
	}
	if desc.Size > 0 { // a negative one is refused by the read
		d.size += desc.Size
	}
	return readVerified(ctx, d.src.openManifest, desc)
}

// nested reads the index of an entry that lies below an index of the given depth.
func (d *descent) nested(ctx context.Context, e ocispec.Descriptor, depth int) (*index, error) {
	if depth == MaxIndexDepth {
		return nil, tooDeep(e)
	}
	raw, err := d.read(ctx, e)
	if err != nil {
		return nil, err
	}
	return decodeIndex(e, raw)
}

// meet counts the entries of an index.
func (d *descent) meet(idx *index) error {
	d.entries += len(idx.Manifests)
	if d.entries > MaxIndexEntries {
		return fmt.Errorf("%w: more than %d index entries", ErrTooLarge, MaxIndexEntries)
	}
	return nil
}

// walk calls visit for each entry that is to be judged as a manifest, in listed order.
func (d *descent) walk(ctx context.Context, idx *index, depth int, visit func(ocispec.Descriptor) error) error {
	if err := d.meet(idx); err != nil {
		return err
	}
	for _, e := range idx.Manifests {
		switch {
		case isUnknown(e.Platform):
		case isIndex(e.MediaType):
			inner, err := d.nested(ctx, e, depth)
			if err != nil {
				return err
			}
			if err := d.walk(ctx, inner, depth+1, visit); err != nil {
				return err
			}
		default:
			if err := visit(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// pick finds the entry for a platform: first among those of idx, then in each nested index. It returns nil if
// there is none, after which first and labels are complete.
func (d *descent) pick(ctx context.Context, idx *index, depth int, want ocispec.Platform) (*ocispec.Descriptor, error) {
	if err := d.meet(idx); err != nil {
		return nil, err
	}
	for _, e := range idx.Manifests {
		if !isUnknown(e.Platform) && !isIndex(e.MediaType) && samePlatform(e.Platform, want) {
			return &e, nil
		}
	}
	for _, e := range idx.Manifests {
		switch {
		case isUnknown(e.Platform):
		case isIndex(e.MediaType):
			inner, err := d.nested(ctx, e, depth)
			if err != nil {
				return nil, err
			}
			if found, err := d.pick(ctx, inner, depth+1, want); found != nil || err != nil {
				return found, err
			}
		default:
			if d.first == nil {
				d.first = &e
			}
			d.labels = append(d.labels, cmp.Or(label(e.Platform), "no platform"))
		}
	}
	return nil, nil
}

// artifact reads the manifest of an entry.
func (d *descent) artifact(ctx context.Context, e ocispec.Descriptor) (*Artifact, error) {
	raw, err := d.read(ctx, e)
	if err != nil {
		return nil, err
	}
	m, err := decodeManifest(e, raw)
	if err != nil {
		return nil, err
	}
	return newArtifact(d.src, e, m)
}

// isUnknown tells attestations, which are listed under the operating system "unknown".
func isUnknown(p *ocispec.Platform) bool { return p != nil && p.OS == "unknown" }

// samePlatform compares normalised platforms: arm64/v8 is arm64 and amd64/v1 is amd64, while arm/v7 is not
// arm/v6 even though such a machine could run it. An entry without a platform is none.
func samePlatform(p *ocispec.Platform, want ocispec.Platform) bool {
	if p == nil || p.OS == "" { // normalising would fill in the system that this program runs on
		return false
	}
	a, b := platforms.Normalize(*p), platforms.Normalize(want)
	return a.OS == b.OS && a.Architecture == b.Architecture && a.Variant == b.Variant
}

// label spells a platform as the index states it, without what a terminal could take for a command.
func label(p *ocispec.Platform) string {
	if p == nil {
		return ""
	}
	parts := []string{p.OS, p.Architecture}
	if p.Variant != "" {
		parts = append(parts, p.Variant)
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, strings.Join(parts, "/"))
}
