package layerfs

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// The leading bytes that tell how a layer is packed. Its media type is not looked at: publishers get it wrong, and the
// specification's own tools go by the bytes.
var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// readerFunc is a reader in one function.
type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// boundedReader ends in a LimitError where r has more than left bytes.
type boundedReader struct {
	r    io.Reader
	left int64
	over *LimitError
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, b.over
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, b.over
	}
	return n, err
}

// unpack gives the tar stream of a layer; done releases the decoder.
func unpack(packed io.Reader) (plain io.Reader, done func(), err error) {
	in := bufio.NewReaderSize(packed, 64<<10)
	head, err := in.Peek(len(zstdMagic))
	if err != nil && err != io.EOF { // a stream may well be shorter; whether it is a tar is seen below
		return nil, nil, err
	}
	switch {
	case bytes.HasPrefix(head, gzipMagic):
		z, err := gzip.NewReader(in)
		return z, func() {}, err
	case bytes.HasPrefix(head, zstdMagic):
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(MaxWindowBytes))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	}
	return in, func() {}, nil
}

// pass reads a layer from its start. visit sees every entry with its place in the archive, until it wants no more. The
// packed stream is read to its end in any case. No more than allow bytes are unpacked, which is what is left of max; the
// number of those that were is returned.
func pass(ctx context.Context, b Blob, allow, max int64,
	visit func(place int, h *tar.Header, body io.Reader) (more bool, err error)) (used int64, err error) {
	raw, err := b.Open(ctx)
	if err != nil {
		return 0, err
	}
	defer func() {
		if cerr := raw.Close(); err == nil {
			err = cerr
		}
	}()
	packed := &boundedReader{
		r: readerFunc(func(p []byte) (int, error) {
			if err := ctx.Err(); err != nil {
				return 0, err
			}
			return raw.Read(p)
		}),
		left: MaxUnpackedBytes,
		over: &LimitError{What: "packed bytes", Max: MaxUnpackedBytes},
	}
	stream, done, err := unpack(packed)
	if err != nil {
		return 0, err
	}
	defer done()
	plain := &boundedReader{
		// A small packed stream can unpack for minutes between two reads of its own.
		r: readerFunc(func(p []byte) (int, error) {
			if err := ctx.Err(); err != nil {
				return 0, err
			}
			return stream.Read(p)
		}),
		left: allow,
		over: &LimitError{What: "unpacked bytes", Max: max},
	}
	archive := tar.NewReader(plain)
	for place := 0; ; place++ {
		h, err := archive.Next()
		if err == io.EOF {
			break
		}
		// Names that leave the archive are confined by both readers, whatever the process-wide setting of
		// archive/tar says about them.
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			return 0, err
		}
		more, err := visit(place, h, archive)
		if err != nil {
			return 0, err
		}
		if !more {
			break
		}
	}
	if _, err := io.Copy(io.Discard, packed); err != nil {
		return 0, err
	}
	return allow - plain.left, nil
}
