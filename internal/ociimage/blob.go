package ociimage

import (
	"context"
	_ "crypto/sha256" // the digest algorithms that descriptors may use
	_ "crypto/sha512"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// source is where the bytes of an image come from. What it opens is raw: openVerified compares it.
type source interface {
	// openManifest opens an index or a manifest: registries keep these apart from other blobs.
	openManifest(ctx context.Context, desc ocispec.Descriptor) (io.ReadCloser, error)
	openBlob(ctx context.Context, desc ocispec.Descriptor) (io.ReadCloser, error)
	close() error
}

// opener is one of a source's two ways to open.
type opener func(ctx context.Context, desc ocispec.Descriptor) (io.ReadCloser, error)

// openVerified opens a blob whose reader fails with ErrDigest unless it yields just what desc promises.
func openVerified(ctx context.Context, open opener, desc ocispec.Descriptor) (io.ReadCloser, error) {
	// Validate also keeps a digest such as "sha256:../../etc/passwd" from becoming a path or a URL.
	if err := desc.Digest.Validate(); err != nil {
		return nil, fmt.Errorf("open blob %s: %w: %w", quote(string(desc.Digest)), ErrMalformed, err)
	}
	if desc.Size < 0 {
		return nil, fmt.Errorf("open blob %s: %w: negative size", desc.Digest, ErrMalformed)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	rc, err := open(ctx, desc)
	if err != nil {
		return nil, err
	}
	return &verifier{rc: rc, desc: desc, left: desc.Size, sum: desc.Digest.Algorithm().Digester()}, nil
}

// readVerified reads a blob of at most MaxManifestSize bytes. A larger one is refused by its declared size,
// before anything is fetched.
func readVerified(ctx context.Context, open opener, desc ocispec.Descriptor) ([]byte, error) {
	if desc.Size > MaxManifestSize {
		return nil, fmt.Errorf("read %s: %w: %d bytes, at most %d", quote(string(desc.Digest)), ErrTooLarge, desc.Size, MaxManifestSize)
	}
	rc, err := openVerified(ctx, open, desc)
	if err != nil {
		return nil, err
	}
	defer rc.Close()
	return io.ReadAll(rc)
}

// verifier compares a stream with its descriptor as it passes.
type verifier struct {
	rc   io.ReadCloser
	desc ocispec.Descriptor
	left int64 // bytes still expected
	sum  digest.Digester
	err  error // sticky
}

// Read withholds the piece that completes the blob until the whole has been found right, so that a reader who
// needs all of it cannot be given wrong content, and learns of the end together with the last byte.
func (v *verifier) Read(p []byte) (int, error) {
	if v.err != nil {
		return 0, v.err
	}
	if len(p) == 0 {
		return 0, nil
	}
	if int64(len(p)) > v.left {
		p = p[:v.left]
	}
	var n int
	if v.left > 0 {
		var err error
		n, err = v.rc.Read(p)
		v.sum.Hash().Write(p[:n])
		v.left -= int64(n)
		if v.left > 0 {
			if err == io.EOF {
				err = v.mismatch("it ends after %d of %d bytes", v.desc.Size-v.left, v.desc.Size)
			} else if err != nil {
				err = fmt.Errorf("read blob %s: %w", v.desc.Digest, err)
			}
			v.err = err
			return n, err
		}
	}
	v.err = v.finish()
	if v.err != io.EOF {
		return 0, v.err
	}
	return n, io.EOF
}

// finish judges a blob that has yielded as many bytes as expected; io.EOF if it is right.
func (v *verifier) finish() error {
	// A failure of this look ahead does not matter: the content is there, and its digest decides.
	var more [1]byte
	if n, _ := io.ReadFull(v.rc, more[:]); n > 0 {
		return v.mismatch("it goes on after %d bytes", v.desc.Size)
	}
	if got := v.sum.Digest(); got != v.desc.Digest {
		return v.mismatch("its digest is %s", got)
	}
	return io.EOF
}

func (v *verifier) mismatch(format string, args ...any) error {
	return fmt.Errorf("read blob %s: %w: %s", v.desc.Digest, ErrDigest, fmt.Sprintf(format, args...))
}

func (v *verifier) Close() error { return v.rc.Close() }
