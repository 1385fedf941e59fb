package layerfs

import (
	"context"
	"io"
)

// Blob is one layer: a tar stream, plain or compressed with gzip or zstd, opened anew for each pass.
//
// Blobs of one digest hold the same bytes: a stack reads one of them for all. A digest that is empty names nothing.
// Every pass reads a stream to its end, so that a blob which verifies itself at the end is verified before
// anything that came out of it is believed. A stack reads one blob at a time.
type Blob interface {
	Digest() string
	Open(ctx context.Context) (io.ReadCloser, error)
}

// Stack is a list of layers, bottom first. Its methods may be called from several goroutines at once.
type Stack struct {
	limits limits
	layers []*layer
	turn   chan struct{} // holds one token; who has it may read blobs and change what follows

	keep    func(path string) bool
	left    limits // what the layers surveyed so far leave of limits
	kept    int64  // bytes of bodies in memory
	view    view   // the inventories, nil until all are there
	failure error  // what went wrong for good when they were collected
	overlay *Overlay

	noOverlay error // what went wrong for good when it was made
}

// layer is one blob and what is known of it. Places of a stack that hold one blob share it.
type layer struct {
	blob   Blob
	inv    *inventory
	bodies map[int][]byte // by place of the entry in the archive
	wanted map[int]bool   // bodies to fetch when the blob is read again
}

// NewStack does not read anything yet: the first question reads every layer once.
func NewStack(layers []Blob) *Stack {
	s := &Stack{limits: defaultLimits, left: defaultLimits, turn: make(chan struct{}, 1)}
	known := make(map[string]*layer)
	for _, b := range layers {
		d := b.Digest()
		l := known[d]
		if l == nil || d == "" {
			l = &layer{blob: b, bodies: make(map[int][]byte), wanted: make(map[int]bool)}
			known[d] = l
		}
		s.layers = append(s.layers, l)
	}
	return s
}

// Keep has the first pass over each layer keep the bodies of the regular files that match names, as far as they fit
// into [MaxKeptBytes], so that reading them costs no further pass. It is asked with absolute paths, spelled as the
// archive spells them. Call it before the first question; later it changes nothing.
func (s *Stack) Keep(match func(path string) bool) {
	s.turn <- struct{}{}
	defer s.release()
	s.keep = match
}

// acquire waits for the turn to read blobs, or for the end of the context.
func (s *Stack) acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Stack) release() { <-s.turn }

// open gives the inventories of all layers and collects them when this is the first question.
func (s *Stack) open(ctx context.Context) (view, error) {
	if err := s.acquire(ctx); err != nil {
		return nil, err
	}
	defer s.release()
	return s.survey(ctx)
}

// meter starts counting the work of one question.
func (s *Stack) meter() *meter { return &meter{max: s.limits.steps} }
