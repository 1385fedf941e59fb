package layerfs

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
)

// survey collects the inventories that are still missing. The caller has the turn.
func (s *Stack) survey(ctx context.Context) (view, error) {
	if s.view != nil || s.failure != nil {
		return s.view, s.failure
	}
	if len(s.layers) > s.limits.layers {
		s.failure = &LimitError{What: "layers", Max: int64(s.limits.layers)}
		return nil, s.failure
	}
	v := make(view, 0, len(s.layers))
	for _, l := range s.layers {
		if l.inv == nil {
			if err := s.surveyLayer(ctx, l); err != nil {
				err = fmt.Errorf("read layer %s: %w", l.blob.Digest(), err)
				if ctx.Err() == nil { // who gave up must not decide for those who ask again
					s.failure = err
				}
				return nil, err
			}
		}
		v = append(v, l.inv)
	}
	s.view = v
	return v, nil
}

// surveyLayer reads one layer for the first time. Nothing of it is believed, and nothing counted, before its end.
func (s *Stack) surveyLayer(ctx context.Context, l *layer) error {
	var entries []entry
	left, kept := s.left, s.kept
	bodies := make(map[int][]byte)
	most := s.limits.unpackedBytes
	used, err := pass(ctx, l.blob, left.unpackedBytes, most, func(place int, h *tar.Header, body io.Reader) (bool, error) {
		if left.entries--; left.entries < 0 {
			return false, &LimitError{What: "entries", Max: int64(s.limits.entries)}
		}
		if left.nameBytes -= int64(len(h.Name) + len(h.Linkname)); left.nameBytes < 0 {
			return false, &LimitError{What: "bytes of names", Max: s.limits.nameBytes}
		}
		e := entryOf(h)
		entries = append(entries, e)
		if e.kind != kindFile || s.keep == nil || kept+e.size > s.limits.keptBytes || !s.keep("/"+e.key) {
			return true, nil
		}
		b, err := readBody(body, e.size)
		bodies[place] = b
		kept += e.size
		return true, err
	})
	if err != nil {
		return err
	}
	left.unpackedBytes -= used
	s.left, s.kept = left, kept
	l.inv, l.bodies = newInventory(entries), bodies
	return nil
}

// readBody reads a body whose size the caller has found small enough.
func readBody(body io.Reader, size int64) ([]byte, error) {
	b := make([]byte, size)
	_, err := io.ReadFull(body, b)
	if err == io.EOF { // a body that is missing as a whole is cut off, too
		err = io.ErrUnexpectedEOF
	}
	return b, err
}

// body gives the body of one regular file, whose size the caller has found within limit. It reads the layer again
// unless the body was kept, and takes with it the bodies that are likely to be asked for next.
func (s *Stack) body(ctx context.Context, at, place int, limit int64) ([]byte, error) {
	if err := s.acquire(ctx); err != nil {
		return nil, err
	}
	defer s.release()
	l := s.layers[at]
	if b, ok := l.bodies[place]; ok {
		return b, nil
	}
	fetch := map[int]bool{place: true}
	kept := s.kept
	for p := range l.wanted {
		size := l.inv.entries[p].size
		if l.bodies[p] == nil && size <= limit && kept+size <= s.limits.keptBytes {
			fetch[p] = true
			kept += size
		}
	}
	got := make(map[int][]byte, len(fetch))
	most := s.limits.unpackedBytes
	_, err := pass(ctx, l.blob, most, most, func(p int, h *tar.Header, body io.Reader) (bool, error) {
		if !fetch[p] {
			return true, nil
		}
		if e := l.inv.entries[p]; h.Name != e.name || h.Size != e.size {
			return false, fmt.Errorf("entry %d changed between two reads", p)
		}
		b, err := readBody(body, h.Size)
		got[p] = b
		return len(got) < len(fetch), err
	})
	if err != nil {
		return nil, fmt.Errorf("read layer %s: %w", l.blob.Digest(), err)
	}
	if len(got) < len(fetch) {
		return nil, fmt.Errorf("read layer %s: entries vanished between two reads", l.blob.Digest())
	}
	for p, b := range got {
		if size := int64(len(b)); s.kept+size <= s.limits.keptBytes {
			l.bodies[p] = b
			s.kept += size
		}
	}
	clear(l.wanted)
	return got[place], nil
}
