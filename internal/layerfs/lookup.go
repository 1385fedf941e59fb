package layerfs

import (
	"context"
	"path"
	"strings"
)

// view is the inventories of a stack, bottom first.
type view []*inventory

// part is what one layer has of a directory.
type part struct {
	layer int
	cursor
}

// folder is what the layers have of a directory, bottom first. A layer that has nothing below it, or whose part an
// upper layer hides, is left out.
type folder []part

// lookup is one question to the composed reader. It counts link steps over all its walks.
type lookup struct {
	view  view
	meter *meter
	links int
	// largest is the size of the largest regular file under any path that was met on the way, in the layer that
	// decides about that path. The bound on contents applies to each of them: a reader of the stream sees them all.
	largest int64
}

// spot is where a path leads.
type spot struct {
	dir    string // the directory reached, absolute, links followed
	layer  int    // the layer that decides about the last name
	place  int    // the entry in that layer, -1 when there is no file or link
	inside folder // what is below, when there is no file or link
}

var nowhere = spot{place: -1}

// root is the root directory as the lowest n layers have it.
func (q *lookup) root(n int) folder {
	f := make(folder, 0, n)
	for i, inv := range q.view[:n] {
		f = append(f, part{i, inv.root()})
	}
	return q.opaque(f)
}

// opaque drops the parts below the highest one that marks the directory as opaque.
func (q *lookup) opaque(f folder) folder {
	for i := len(f) - 1; i > 0; i-- {
		if q.view[f[i].layer].has(f[i].cursor, opaqueMarker) {
			return f[i:]
		}
	}
	return f
}

// child decides what a directory has under a name: the deciding file or link, if it is one, and what is below. Bottom
// to top, a layer first deletes, then its last entry for the path decides.
func (q *lookup) child(ctx context.Context, f folder, name string) (layer, place int, below folder, err error) {
	layer, place = 0, -1
	visible := 0                                      // parts below this one are hidden where they lie below name
	marker := strings.HasPrefix(name, whiteoutPrefix) // a marker deletes; nothing is ever found under its own name
	for i, p := range f {
		inv := q.view[p.layer]
		if marker {
			continue
		}
		if inv.has(p.cursor, whiteoutPrefix+name) {
			place, visible = -1, i
		}
		entries := inv.exact(p.cursor, name)
		if err := q.meter.add(ctx, 1+len(entries)); err != nil {
			return 0, -1, nil, err
		}
		if len(entries) == 0 {
			continue
		}
		last := int(entries[len(entries)-1])
		if inv.entries[last].kind == kindDir {
			place = -1
			continue
		}
		layer, place, visible = p.layer, last, i+1
	}
	if place >= 0 {
		return layer, place, nil, nil
	}
	for _, p := range f[visible:] {
		if c := q.view[p.layer].below(p.cursor, name); c.lo < c.hi {
			below = append(below, part{p.layer, c})
		}
	}
	return 0, -1, q.opaque(below), q.meter.add(ctx, len(f))
}

// step counts one link step.
func (q *lookup) step() error {
	if q.links++; q.links > MaxLinkSteps {
		return ErrTooManyLinks
	}
	return nil
}

// linkTarget is the path that a symbolic link in dir stands for. An empty target leads nowhere.
func linkTarget(dir, target string) string {
	if strings.HasPrefix(target, "/") {
		return path.Clean(target)
	}
	return path.Join(dir, target)
}

// walk goes to a path through the lowest n layers. Links on the way are followed, the last name only if follow says so.
// The path is absolute; its names are taken literally.
func (q *lookup) walk(ctx context.Context, p string, n int, follow bool) (spot, error) {
	for {
		at, next, err := q.walkToLink(ctx, p, n, follow)
		if err != nil || next == "" {
			return at, err
		}
		p = next
	}
}

// walkToLink goes to a path, or to the first link to follow: next is then the path to go on with.
func (q *lookup) walkToLink(ctx context.Context, p string, n int, follow bool) (at spot, next string, err error) {
	f := q.root(n)
	if err := q.meter.add(ctx, n); err != nil {
		return nowhere, "", err
	}
	dir, rest := "/", p[1:]
	for rest != "" {
		name, tail, _ := strings.Cut(rest, "/")
		layer, place, below, err := q.child(ctx, f, name)
		if err != nil {
			return nowhere, "", err
		}
		if place >= 0 {
			q.note(layer, place, len(q.view[layer].entries))
			e := &q.view[layer].entries[place]
			switch {
			case e.kind == kindSymlink && (tail != "" || follow):
				if err := q.step(); err != nil {
					return nowhere, "", err
				}
				if e.target == "" {
					return nowhere, "", nil
				}
				return nowhere, path.Join(linkTarget(dir, e.target), tail), nil
			case tail != "":
				return nowhere, "", nil // what is not a directory has nothing below it
			}
			return spot{dir: dir, layer: layer, place: place}, "", nil
		}
		if len(below) == 0 {
			return nowhere, "", nil
		}
		f, rest = below, tail
		dir = strings.TrimSuffix(p[:len(p)-len(rest)], "/")
	}
	return spot{dir: dir, place: -1, inside: f}, "", nil
}

// note remembers the size of the largest regular file under an entry's path, among the entries before the given place.
func (q *lookup) note(layer, place, before int) {
	inv := q.view[layer]
	for _, i := range inv.exact(inv.root(), inv.entries[place].key) {
		if int(i) < before {
			q.largest = max(q.largest, inv.entries[i].size)
		}
	}
}

// inode follows hard links from an entry to the entry that made the inode. A hard link means the inode as of its own
// place in the archive: the last entry of that path before it or, without one, what the layers below have there.
// Whatever later happens to the path does not matter.
func (q *lookup) inode(ctx context.Context, layer, place int) (int, int, error) {
	for q.view[layer].entries[place].kind == kindHardLink {
		if err := q.step(); err != nil {
			return 0, -1, err
		}
		inv := q.view[layer]
		name := lookupName(inv.entries[place].target)
		before := -1
		same := inv.exact(inv.root(), name)
		if err := q.meter.add(ctx, 1+len(same)); err != nil {
			return 0, -1, err
		}
		for _, i := range same {
			if int(i) < place {
				before = int(i)
			}
		}
		if before >= 0 {
			if inv.entries[before].kind == kindDir {
				return 0, -1, nil
			}
			q.note(layer, before, place)
			place = before
			continue
		}
		at, err := q.walk(ctx, "/"+name, layer, false)
		if err != nil || at.place < 0 {
			return 0, -1, err
		}
		layer, place = at.layer, at.place
	}
	return layer, place, nil
}

// file finds the file that a path leads to at the end of all links; place is -1 when there is none. A directory is no
// file.
func (q *lookup) file(ctx context.Context, p string) (layer, place int, err error) {
	p = path.Clean("/" + p)
	for {
		at, err := q.walk(ctx, p, len(q.view), true)
		if err != nil || at.place < 0 {
			return 0, -1, err
		}
		layer, place, err = q.inode(ctx, at.layer, at.place)
		if err != nil || place < 0 {
			return 0, -1, err
		}
		e := &q.view[layer].entries[place]
		if e.kind != kindSymlink {
			return layer, place, nil
		}
		// Another name of a symbolic link: it leads on from where that name is, through all layers.
		if err := q.step(); err != nil || e.target == "" {
			return 0, -1, err
		}
		p = linkTarget(at.dir, e.target)
	}
}
