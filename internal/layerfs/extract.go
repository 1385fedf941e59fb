package layerfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// node is what a layer, once unpacked, has under a name. Hard links share one. Only directories ever change.
type node struct {
	kind     nodeKind
	target   string // of a link
	owner    Owner  // of a directory, meaningful when known
	known    bool
	opaque   bool // hides what lower layers have below this directory
	children map[string]*node
}

type nodeKind uint8

const (
	nodeFile nodeKind = iota // whatever has nothing below it: files, devices, FIFOs
	nodeDir
	nodeLink
	nodeWhiteout
)

func newDir() *node { return &node{kind: nodeDir, children: make(map[string]*node)} }

// An entry that cannot be placed ends its layer: unpacking would stop there. What came before it counts.
var (
	errRefused     = errors.New("entry cannot be extracted")
	errInTheWay    = fmt.Errorf("%w: what is on its way is no directory", errRefused)
	errLinksOnWay  = fmt.Errorf("%w: too many links on its way", errRefused)
	errPathTooLong = fmt.Errorf("%w: name too long", errRefused)
)

// tree is one layer unpacked into a folder of its own.
type tree struct {
	root  *node
	lower []*tree // the layers below, nearest first
	work  *extraction
}

// extraction counts the work of one model.
type extraction struct {
	meter *meter
	nodes int // that may still be made
	max   int
}

// extract unpacks one layer.
func extract(ctx context.Context, inv *inventory, lower []*tree, work *extraction) (*tree, error) {
	t := &tree{root: newDir(), lower: lower, work: work}
	for i := range inv.entries {
		err := t.apply(ctx, &inv.entries[i])
		if errors.Is(err, errRefused) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

// way is where a path leads inside one layer: the names from the root, links followed, and the nodes along them as far
// as they exist. nodes[0] is the root.
type way struct {
	names    []string
	nodes    []*node
	followed int // links
}

func (w *way) exists() bool { return len(w.nodes) == len(w.names)+1 }
func (w *way) last() *node  { return w.nodes[len(w.nodes)-1] }

func (w *way) up() {
	if len(w.names) > 0 {
		w.names = w.names[:len(w.names)-1]
		w.nodes = w.nodes[:min(len(w.nodes), len(w.names)+1)]
	}
}

// walk follows a path from the root through this layer alone.
func (t *tree) walk(ctx context.Context, p string) (way, error) {
	w := way{nodes: []*node{t.root}}
	err := t.follow(ctx, &w, p)
	return w, err
}

// follow goes on along a way. What is missing has plain names. A link that lies in the root is walked as it is spelled,
// so that ".." climbs from where a link before it led; the target of one further down is first joined to its
// directory. This is how the common unpackers resolve names.
func (t *tree) follow(ctx context.Context, w *way, p string) error {
	todo := trail{p}
	for {
		name, ok := todo.next()
		if !ok {
			return nil
		}
		if err := t.work.meter.add(ctx, 1); err != nil {
			return err
		}
		if name == "." {
			continue
		}
		if name == ".." {
			w.up()
			continue
		}
		if !w.exists() {
			w.names = append(w.names, name)
			continue
		}
		if w.last().kind != nodeDir {
			return errInTheWay
		}
		child := w.last().children[name]
		if child == nil {
			w.names = append(w.names, name)
			continue
		}
		if child.kind != nodeLink {
			w.names, w.nodes = append(w.names, name), append(w.nodes, child)
			continue
		}
		if w.followed++; w.followed > MaxExtractExpansions {
			return errLinksOnWay
		}
		switch {
		case strings.HasPrefix(child.target, "/"):
			w.names, w.nodes = w.names[:0], w.nodes[:1]
			todo.push(child.target)
		case len(w.names) == 0:
			todo.push(child.target)
		default:
			todo.push(path.Clean(child.target))
		}
	}
}

// folder finds the directory that an entry goes into. It makes nothing yet.
func (t *tree) folder(ctx context.Context, p, base string) (way, error) {
	w, err := t.walk(ctx, p)
	if err != nil {
		return w, err
	}
	if w.exists() && w.last().kind != nodeDir {
		return w, errInTheWay
	}
	size := len(base)
	for _, name := range w.names {
		size += len(name) + 1
	}
	if size > MaxPathBytes { // links can make a short name long
		return w, errPathTooLong
	}
	return w, nil
}

// lender is how far the way to a new directory has been followed in one lower layer.
type lender struct {
	way   way
	names int // of the way in the layer that borrows
	err   error
}

// lend finds the metadata of the directory after the first n names of a way, which a layer needs and does not carry: that
// of the nearest lower layer that has anything there. What is no directory there lends a root's plain directory.
// Without any, the base decides.
func (t *tree) lend(ctx context.Context, names []string, n int, lenders []lender) (owner Owner, known bool, err error) {
	for i, lower := range t.lower {
		if err := t.work.meter.add(ctx, 1); err != nil {
			return Owner{}, false, err
		}
		// Each layer goes on from the directory before, so that a deep way is walked once.
		l := &lenders[i]
		if l.way.nodes == nil {
			l.way.nodes = []*node{lower.root}
		}
		if l.err == nil {
			l.err = lower.follow(ctx, &l.way, strings.Join(names[l.names:n], "/"))
			l.names = n
		}
		if errors.Is(l.err, errInTheWay) {
			continue
		}
		if l.err != nil {
			return Owner{}, false, l.err
		}
		if !l.way.exists() {
			continue
		}
		if n := l.way.last(); n.kind == nodeDir {
			return n.owner, n.known, nil
		}
		return Owner{Mode: 0o755}, true, nil
	}
	return Owner{}, false, nil
}

// ensure makes the directories of a way that are missing and gives the last one.
func (t *tree) ensure(ctx context.Context, w way) (*node, error) {
	if w.exists() {
		return w.last(), nil
	}
	have := len(w.nodes) - 1
	lenders := make([]lender, len(t.lower))
	var made []*node
	for n := have + 1; n <= len(w.names); n++ {
		dir := newDir()
		var err error
		if dir.owner, dir.known, err = t.lend(ctx, w.names, n, lenders); err != nil {
			return nil, err
		}
		made = append(made, dir)
	}
	// Only now: an entry that is refused leaves nothing behind.
	at := w.last()
	for i, dir := range made {
		if err := t.put(at, w.names[have+i], dir); err != nil {
			return nil, err
		}
		at = dir
	}
	return at, nil
}

// put places a node under a name, whatever was there.
func (t *tree) put(dir *node, name string, n *node) error {
	if t.work.nodes--; t.work.nodes < 0 {
		return &LimitError{What: "files and directories", Max: int64(t.work.max)}
	}
	dir.children[name] = n
	return nil
}

// apply unpacks one entry.
func (t *tree) apply(ctx context.Context, e *entry) error {
	name := path.Clean("/" + e.name)
	if name == "/" {
		return nil
	}
	if len(name)-1 > MaxPathBytes {
		return errPathTooLong
	}
	dir, base := path.Split(name)
	w, err := t.folder(ctx, dir, base)
	if err != nil {
		return err
	}
	if hidden, ok := strings.CutPrefix(base, whiteoutPrefix); ok {
		return t.remove(ctx, w, base, hidden)
	}
	n, err := t.content(ctx, e, &w, base)
	if err != nil {
		return err
	}
	parent, err := t.ensure(ctx, w)
	if err != nil {
		return err
	}
	if n == nil {
		delete(parent.children, base)
		return nil
	}
	if old := parent.children[base]; old != nil && old.kind == nodeDir && n.kind == nodeDir {
		old.owner, old.known = n.owner, true
		return nil
	}
	return t.put(parent, base, n)
}

// remove unpacks a marker that deletes.
func (t *tree) remove(ctx context.Context, w way, base, hidden string) error {
	switch hidden {
	case "", ".", "..": // these name the directory itself or what is outside of it
		return nil
	}
	parent, err := t.ensure(ctx, w)
	if err != nil {
		return err
	}
	if base == opaqueMarker {
		// overlayfs does not look at such a mark on the root of a layer.
		parent.opaque = parent != t.root
		return nil
	}
	if parent.children[hidden] != nil {
		return nil
	}
	return t.put(parent, hidden, &node{kind: nodeWhiteout})
}

// content makes the node of an entry, nil for one that only removes. What cannot be placed is refused here, before
// anything changes.
func (t *tree) content(ctx context.Context, e *entry, w *way, base string) (*node, error) {
	switch e.kind {
	case kindDir:
		n := newDir()
		n.owner = Owner{UID: e.uid, GID: e.gid, Mode: e.mode &^ fs.ModeType}
		n.known = true
		return n, nil
	case kindSymlink:
		if e.target == "" || len(e.target) > MaxPathBytes {
			return nil, fmt.Errorf("%w: bad link target", errRefused)
		}
		return &node{kind: nodeLink, target: e.target}, nil
	case kindHardLink:
		return t.linked(ctx, e.target, w, base)
	case kindNothing:
		return &node{kind: nodeWhiteout}, nil
	case kindGlobal:
		return nil, nil
	}
	return &node{kind: nodeFile}, nil
}

// linked finds the node that a hard link at base in w shares. The last name of its target is taken literally. Unpacking
// first clears the place of the link, so a target that goes away with it is missing.
func (t *tree) linked(ctx context.Context, target string, w *way, base string) (*node, error) {
	errMissing := fmt.Errorf("%w: hard link to nothing", errRefused)
	if len(target) > MaxPathBytes {
		return nil, errPathTooLong
	}
	dir, last := path.Split(target)
	at, err := t.walk(ctx, dir)
	if err != nil {
		return nil, err
	}
	if !at.exists() || at.last().kind != nodeDir {
		return nil, errMissing
	}
	n := at.last().children[last]
	if n == nil || n.kind == nodeDir {
		return nil, errMissing
	}
	if !w.exists() {
		return n, nil
	}
	if at.last() == w.last() && last == base {
		return nil, errMissing
	}
	if cleared := w.last().children[base]; cleared != nil && cleared.kind == nodeDir {
		for _, on := range at.nodes {
			if on == cleared {
				return nil, errMissing
			}
		}
	}
	return n, nil
}
