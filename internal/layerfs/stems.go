package layerfs

import (
	"context"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// Stems lists, sorted, the folders right below root that hold a live file of that name: a stem is one path segment, and
// root/stem/file exists for the composed reader. Root, the folders and the files may be links. A root that is absent
// or leads nowhere has none. The error wraps [ErrTooManyLinks] where one of the lookups goes through too many.
func (s *Stack) Stems(ctx context.Context, root, file string) ([]string, error) {
	stems, err := s.stems(ctx, path.Clean("/"+root), file)
	if err != nil {
		return nil, &fs.PathError{Op: "list", Path: root, Err: err}
	}
	return stems, nil
}

func (s *Stack) stems(ctx context.Context, root, file string) ([]string, error) {
	v, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	work := s.meter()
	q := &lookup{view: v, meter: work}
	at, err := q.walk(ctx, root, len(v), true)
	if err != nil {
		return nil, err
	}
	candidates := make(map[string]bool)
	for _, p := range at.inside {
		inv := v[p.layer]
		for _, i := range inv.order[p.lo:p.hi] {
			e := &inv.entries[i]
			stem, rest, deeper := strings.Cut(e.key[p.off:], "/")
			if deeper && rest == file || !deeper && e.kind == kindSymlink {
				candidates[stem] = true
			}
		}
		if err := work.add(ctx, p.hi-p.lo); err != nil {
			return nil, err
		}
	}
	var stems []string
	found := make(map[int][]int)
	for _, stem := range slices.Sorted(maps.Keys(candidates)) {
		// A name that a path cannot hold as one segment is no stem, whatever the archive says.
		if stem == "" || stem == "." || stem == ".." {
			continue
		}
		q := &lookup{view: v, meter: work}
		layer, place, err := q.file(ctx, path.Join(root, stem, file))
		if err != nil {
			return nil, err
		}
		if place >= 0 {
			stems = append(stems, stem)
			found[layer] = append(found[layer], place)
		}
	}
	return stems, s.want(ctx, found)
}

// want marks the bodies of what Stems found: they are asked for one after the other, and shall cost one pass a layer.
func (s *Stack) want(ctx context.Context, found map[int][]int) error {
	if err := s.acquire(ctx); err != nil {
		return err
	}
	defer s.release()
	for at, places := range found {
		l := s.layers[at]
		for _, place := range places {
			if _, ok := l.bodies[place]; !ok && l.inv.entries[place].kind == kindFile {
				l.wanted[place] = true
			}
		}
	}
	return nil
}
