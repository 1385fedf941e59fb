package tck

import (
	"context"
	"errors"

	"github.com/sbxkit/sbxkit/descriptor"
	"github.com/sbxkit/sbxkit/internal/layerfs"
)

// overlay gives the extraction model of a mixin's layers. It is nil when there is nothing to judge,
// which has then been settled: a workload is no overlay, and a build has no layers yet.
func (k *kit) overlay(ctx context.Context, r *recorder) (*layerfs.Overlay, error) {
	if k.d.Kind != descriptor.Mixin {
		return nil, nil
	}
	o, err := k.src.Overlay(ctx)
	switch {
	case errors.Is(err, ErrUnobservable):
		r.skip("the layers are not assembled yet")
		return nil, nil
	case err != nil:
		return nil, r.unreadable(err)
	}
	return o, nil
}

// overlayHomeOwnership guards the two directories whose owner decides whether the agent can use its
// home: a mixin's directory entry replaces the base's, owner included.
func overlayHomeOwnership(ctx context.Context, k *kit, r *recorder) error {
	o, err := k.overlay(ctx, r)
	if o == nil || err != nil {
		return err
	}
	levels := []struct {
		path, owner string
		uid         int
	}{
		{"/home", "root (uid 0)", 0},
		{"/home/agent", "agent (uid 1000)", 1000},
	}
	for _, level := range levels {
		if got, carried := o.Directory(level.path); carried && got.UID != level.uid {
			r.fail("the overlay carries %s owned by uid %d, which replaces the base's; it belongs to %s: "+
				"set that owner, or leave the directory out", level.path, got.UID, level.owner)
		}
	}
	return nil
}

// overlayLinksResolve warns about links that lead out of the overlay: which base it will land on is
// unknown, so nothing promises that their targets exist.
func overlayLinksResolve(ctx context.Context, k *kit, r *recorder) error {
	o, err := k.overlay(ctx, r)
	if o == nil || err != nil {
		return err
	}
	for _, link := range o.UnresolvedLinks() {
		r.warn("%s links to %s, which the kit's own layers do not carry; ship the target, or drop the link",
			link.Path, quote(link.Target))
	}
	return nil
}
