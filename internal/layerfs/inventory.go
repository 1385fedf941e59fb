package layerfs

import (
	"archive/tar"
	"cmp"
	"io/fs"
	"slices"
	"sort"
	"strings"
)

// kind is what an entry is to the readers.
type kind uint8

const (
	kindFile     kind = iota // a regular file
	kindDir                  // a directory
	kindSymlink              // a symbolic link
	kindHardLink             // another name of an inode
	kindSpecial              // a device, a FIFO
	kindNothing              // a character device 0/0, which overlayfs takes for a deletion
	kindGlobal               // a PAX global header
)

// Names that delete (image-spec, layer.md).
const (
	whiteoutPrefix = ".wh."
	opaqueMarker   = ".wh..wh..opq"
)

// entry is one header of a layer.
type entry struct {
	name   string // as in the archive
	key    string // as the composed reader knows it
	target string // of links, as in the archive
	kind   kind
	mode   fs.FileMode
	uid    int
	gid    int
	size   int64
}

// lookupName is the path under which the composed reader knows a name of the archive. It is not cleaned: a/../b
// is not b here.
func lookupName(name string) string {
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(name, "./"), "/"), "/")
}

func entryOf(h *tar.Header) entry {
	// The names of a PAX header are pieces of the whole header, up to 1 MiB each, which they would keep alive.
	name, target := strings.Clone(h.Name), strings.Clone(h.Linkname)
	e := entry{name: name, key: lookupName(name), target: target, mode: h.FileInfo().Mode(), uid: h.Uid, gid: h.Gid}
	switch h.Typeflag {
	case tar.TypeDir:
		e.kind = kindDir
	case tar.TypeSymlink:
		e.kind = kindSymlink
	case tar.TypeLink:
		e.kind = kindHardLink
	case tar.TypeChar:
		e.kind = kindSpecial
		if h.Devmajor == 0 && h.Devminor == 0 {
			e.kind = kindNothing
		}
	case tar.TypeBlock, tar.TypeFifo:
		e.kind = kindSpecial
	case tar.TypeXGlobalHeader:
		e.kind = kindGlobal
	default:
		e.kind, e.size = kindFile, h.Size
	}
	return e
}

// inventory is what one pass over a layer collects: its entries in archive order, and their places sorted by key and
// then by place, so that everything below a directory lies together.
type inventory struct {
	entries []entry
	order   []int32
}

func newInventory(entries []entry) *inventory {
	inv := &inventory{entries: entries, order: make([]int32, 0, len(entries))}
	for i := range entries {
		if entries[i].kind != kindGlobal { // it writes nothing, so no lookup finds it
			inv.order = append(inv.order, int32(i))
		}
	}
	slices.SortFunc(inv.order, func(a, b int32) int {
		if c := strings.Compare(entries[a].key, entries[b].key); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	return inv
}

// cursor is a directory of one layer: the range of order whose keys begin with the directory's path and a slash,
// which are off bytes together.
type cursor struct{ lo, hi, off int }

func (inv *inventory) root() cursor { return cursor{0, len(inv.order), 0} }

// seek finds the first place of a cursor whose rest of the key is not less than rest.
func (inv *inventory) seek(c cursor, rest string) int {
	return c.lo + sort.Search(c.hi-c.lo, func(i int) bool {
		return inv.entries[inv.order[c.lo+i]].key[c.off:] >= rest
	})
}

// exact gives the places of the entries that the directory has under name, in archive order.
func (inv *inventory) exact(c cursor, name string) []int32 {
	first := inv.seek(c, name)
	last := first
	for last < c.hi && inv.entries[inv.order[last]].key[c.off:] == name {
		last++
	}
	return inv.order[first:last]
}

// has tells whether the directory has an entry under name.
func (inv *inventory) has(c cursor, name string) bool {
	i := inv.seek(c, name)
	return i < c.hi && inv.entries[inv.order[i]].key[c.off:] == name
}

// below gives the directory of that name; it is empty when the layer has nothing below it.
func (inv *inventory) below(c cursor, name string) cursor {
	const afterSlash = string(rune('/' + 1))
	return cursor{inv.seek(c, name+"/"), inv.seek(c, name+afterSlash), c.off + len(name) + 1}
}
