package layerfs

import (
	"context"
	"errors"
	"fmt"
)

// Limits on a stack. They are generous for images that people build and small enough that a hostile one ends in an
// error before it fills memory.
const (
	// MaxLayers bounds the number of layers.
	MaxLayers = 4096
	// MaxEntries bounds the tar entries of all layers together.
	MaxEntries = 1 << 21
	// MaxNameBytes bounds the bytes of names and link targets of all layers together.
	MaxNameBytes = 256 << 20
	// MaxUnpackedBytes bounds the bytes that all layers together unpack to, and, taken alone, the packed bytes of a
	// layer and the unpacked bytes of a further pass over it.
	MaxUnpackedBytes = 64 << 30
	// MaxWindowBytes bounds the window that a zstd frame may ask for, so the memory of its decoder. It is what
	// the zstd tool accepts without being told otherwise.
	MaxWindowBytes = 128 << 20
	// MaxKeptBytes bounds the bodies that a stack keeps in memory. What does not fit is read again when asked for.
	MaxKeptBytes = 32 << 20
	// MaxSteps bounds the work of one question: one step is one name looked up in one layer.
	MaxSteps = 50_000_000
	// MaxNodes bounds the files and directories that one extraction makes, implied directories included.
	MaxNodes = 1 << 21
)

// Limits on links and names.
const (
	// MaxLinkSteps bounds the links, symbolic and hard, that one lookup of the composed reader follows.
	MaxLinkSteps = 8
	// MaxLookupExpansions bounds the symbolic links that resolving one link of an overlay follows, the link itself
	// included. It is the kernel's own bound.
	MaxLookupExpansions = 40
	// MaxExtractExpansions bounds the symbolic links that extraction follows on the way to one entry's folder.
	MaxExtractExpansions = 255
	// MaxPathBytes bounds a name and a link target that can be extracted: what the kernel takes, less the final zero.
	MaxPathBytes = 4095
)

// ErrTooLarge says that a file is over the bound that the caller gave.
var ErrTooLarge = errors.New("file is too large")

// ErrTooManyLinks says that a lookup took more than [MaxLinkSteps] link steps.
var ErrTooManyLinks = errors.New("too many links")

// LimitError says that a stack is over one of the limits of this package.
type LimitError struct {
	What string // what is counted: "entries", "unpacked bytes"
	Max  int64  // the limit: so many are allowed
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("more than %d %s", e.Max, e.What)
}

// limits are the limits of one stack; tests lower them.
type limits struct {
	layers, entries, nodes                     int
	nameBytes, unpackedBytes, keptBytes, steps int64
}

var defaultLimits = limits{
	layers:        MaxLayers,
	entries:       MaxEntries,
	nodes:         MaxNodes,
	nameBytes:     MaxNameBytes,
	unpackedBytes: MaxUnpackedBytes,
	keptBytes:     MaxKeptBytes,
	steps:         MaxSteps,
}

// meter counts the work of one question.
type meter struct{ steps, max int64 }

// contextInterval is the number of steps between two looks at the context.
const contextInterval = 1 << 12

// add counts n steps and looks at the context every now and then.
func (m *meter) add(ctx context.Context, n int) error {
	before := m.steps
	m.steps += int64(n)
	if m.steps > m.max {
		return &LimitError{What: "steps", Max: m.max}
	}
	if before/contextInterval != m.steps/contextInterval {
		return ctx.Err()
	}
	return nil
}
