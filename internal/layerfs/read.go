package layerfs

import (
	"context"
	"errors"
	"io/fs"
	"slices"
)

// Info is what a lookup finds at the end of all links.
type Info struct {
	Mode    fs.FileMode // type, permission, set-id and sticky bits
	UID     int
	GID     int
	Regular bool
	Size    int64 // of a regular file, in bytes
}

// find answers a lookup of the composed reader: the layer and the place of the entry that a path leads to.
func (s *Stack) find(ctx context.Context, op, path string) (q *lookup, layer, place int, err error) {
	v, err := s.open(ctx)
	if err != nil {
		return nil, 0, 0, &fs.PathError{Op: op, Path: path, Err: err}
	}
	q = &lookup{view: v, meter: s.meter()}
	layer, place, err = q.file(ctx, path)
	if err == nil && place < 0 {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, 0, 0, &fs.PathError{Op: op, Path: path, Err: err}
	}
	return q, layer, place, nil
}

// Stat tells what a path of the composed image leads to, links followed. Paths are absolute. The error wraps
// [fs.ErrNotExist] where there is no file; a directory is no file. A device or a FIFO is one that is not regular.
func (s *Stack) Stat(ctx context.Context, path string) (Info, error) {
	q, layer, place, err := s.find(ctx, "stat", path)
	if err != nil {
		return Info{}, err
	}
	e := &q.view[layer].entries[place]
	return Info{Mode: e.mode, UID: e.uid, GID: e.gid, Regular: e.kind == kindFile, Size: e.size}, nil
}

// Exists tells whether Stat finds a file. It reads no body, so no size is too large for it.
func (s *Stack) Exists(ctx context.Context, path string) (bool, error) {
	_, err := s.Stat(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// ReadFile reads the file that a path of the composed image leads to. The error wraps [fs.ErrNotExist] where Stat
// finds none, and [ErrTooLarge] where the file has more than limit bytes. The limit holds for every regular file that
// the deciding layer has under a path met on the way: one that a later entry of the same layer replaces counts, too. What is not
// regular reads as empty.
func (s *Stack) ReadFile(ctx context.Context, path string, limit int64) ([]byte, error) {
	q, layer, place, err := s.find(ctx, "read", path)
	if err != nil {
		return nil, err
	}
	if q.largest > limit {
		return nil, &fs.PathError{Op: "read", Path: path, Err: ErrTooLarge}
	}
	if q.view[layer].entries[place].kind != kindFile {
		return []byte{}, nil
	}
	b, err := s.body(ctx, layer, place, limit)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return slices.Clone(b), nil // the original may be kept for others
}
