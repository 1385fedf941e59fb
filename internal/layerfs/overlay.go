package layerfs

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Owner is the metadata that an overlay carries for a directory.
type Owner struct {
	UID, GID int
	Mode     fs.FileMode // permission, set-id and sticky bits, without the type
}

// Link is a symbolic link of the overlay.
type Link struct {
	Path   string // absolute
	Target string // as the link spells it
}

// Overlay is what unpacking every layer into a folder of its own and stacking the folders with overlayfs would give, on
// a base that is not known. It does not change and may be used from several goroutines at once.
type Overlay struct {
	root       *node
	unresolved []Link
}

// Overlay models the extraction of all layers. An entry that cannot be unpacked ends its layer: what came before it
// counts, nothing after it does, and that is no error. The model is made once.
func (s *Stack) Overlay(ctx context.Context) (*Overlay, error) {
	if err := s.acquire(ctx); err != nil {
		return nil, err
	}
	defer s.release()
	if s.overlay != nil || s.noOverlay != nil {
		return s.overlay, s.noOverlay
	}
	v, err := s.survey(ctx)
	if err != nil {
		return nil, err
	}
	o, err := newOverlay(ctx, v, &extraction{meter: s.meter(), nodes: s.limits.nodes, max: s.limits.nodes})
	if err != nil {
		err = fmt.Errorf("model extraction: %w", err)
		if ctx.Err() == nil {
			s.noOverlay = err
		}
		return nil, err
	}
	s.overlay = o
	return o, nil
}

func newOverlay(ctx context.Context, v view, work *extraction) (*Overlay, error) {
	var lower []*tree // nearest first
	for _, inv := range v {
		t, err := extract(ctx, inv, lower, work)
		if err != nil {
			return nil, err
		}
		lower = append([]*tree{t}, lower...)
	}
	o := &Overlay{root: newDir()}
	for _, t := range slices.Backward(lower) {
		o.root = stack(o.root, t.root)
	}
	var err error
	if o.unresolved, err = findUnresolved(ctx, o.root, work.meter); err != nil {
		return nil, err
	}
	return o, nil
}

// stack puts what an upper layer has at a path over what the layers below it show there, and gives the result, which may
// be either of the two, changed. Whiteouts stay in it: they belong to the effect that the overlay has on its base,
// and so do the opaque directories. The depth is that of a path of MaxPathBytes.
func stack(lower, upper *node) *node {
	switch {
	case lower == nil || upper.kind != nodeDir:
		return upper
	case lower.kind != nodeDir: // a file or a deletion, with it all that the base has below the path
		upper.opaque = true
		return upper
	}
	if !upper.known {
		upper.owner, upper.known = lower.owner, lower.known
	}
	if upper.opaque {
		return upper
	}
	lower.owner, lower.known = upper.owner, upper.known
	for name, n := range upper.children {
		lower.children[name] = stack(lower.children[name], n)
	}
	return lower
}

// Directory tells the metadata that the overlay itself carries for path, looked up literally: no link is followed. A
// directory that only came to be because something below it was unpacked carries none, except what a lower layer of
// the overlay lends it.
func (o *Overlay) Directory(dir string) (Owner, bool) {
	n := o.root
	for name := range strings.SplitSeq(path.Clean("/" + dir)[1:], "/") {
		if name == "" { // the root, whose own entry no unpacker applies
			break
		}
		if n = n.children[name]; n == nil || n.kind != nodeDir {
			return Owner{}, false
		}
	}
	return n.owner, n.known
}

// UnresolvedLinks lists, sorted by path, the links whose target the overlay's layers do not resolve. A target resolves
// as the kernel looks it up: at most [MaxLookupExpansions] links, the link itself included, ".." climbs from where a
// link led and stops at the root, and what is followed by a slash must be a directory.
func (o *Overlay) UnresolvedLinks() []Link { return slices.Clone(o.unresolved) }

// findUnresolved looks up every link below root.
func findUnresolved(ctx context.Context, root *node, work *meter) ([]Link, error) {
	var links []Link
	var visit func(dirs []*node, at string) error
	visit = func(dirs []*node, at string) error {
		children := dirs[len(dirs)-1].children
		if err := work.add(ctx, 1+len(children)); err != nil {
			return err
		}
		for name, n := range children {
			switch n.kind {
			case nodeDir:
				if err := visit(append(dirs, n), at+name+"/"); err != nil {
					return err
				}
			case nodeLink:
				ok, err := resolves(ctx, dirs, n.target, work)
				if err != nil {
					return err
				}
				if !ok {
					links = append(links, Link{Path: at + name, Target: n.target})
				}
			}
		}
		return nil
	}
	if err := visit([]*node{root}, "/"); err != nil {
		return nil, err
	}
	slices.SortFunc(links, func(a, b Link) int { return strings.Compare(a.Path, b.Path) })
	return links, nil
}

// resolves tells whether the target of a link leads to anything. dirs are the directories from the root to the link's.
func resolves(ctx context.Context, dirs []*node, target string, work *meter) (bool, error) {
	root := dirs[:1]
	dirs = slices.Clone(dirs)
	if strings.HasPrefix(target, "/") {
		dirs = dirs[:1]
	}
	if err := work.add(ctx, len(dirs)); err != nil {
		return false, err
	}
	todo := trail{target}
	followed := 1
	for {
		name, ok := todo.next()
		if !ok {
			return true, nil
		}
		if err := work.add(ctx, 1); err != nil {
			return false, err
		}
		switch name {
		case ".":
			continue
		case "..":
			dirs = dirs[:max(1, len(dirs)-1)]
			continue
		}
		n := dirs[len(dirs)-1].children[name]
		switch {
		case n == nil || n.kind == nodeWhiteout:
			return false, nil
		case n.kind == nodeDir:
			dirs = append(dirs, n)
		case n.kind == nodeFile:
			return todo.done(), nil
		default:
			if followed++; followed > MaxLookupExpansions {
				return false, nil
			}
			if strings.HasPrefix(n.target, "/") {
				dirs = append(dirs[:0], root...)
			}
			todo.push(n.target)
		}
	}
}
