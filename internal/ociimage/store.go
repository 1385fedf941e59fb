package ociimage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/pkg/filters"
	"github.com/containerd/errdefs"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// store is a layout's blobs as a content store. containerd's own local store is not used since it resumes
// unfinished blobs from a folder that all processes share: two builds into one layout would write into each
// other's files. Here each writer starts from nothing, in a file of its own, and the first to finish wins.
type store struct{ layout *Layout }

var _ content.Store = (*store)(nil)

func (s *store) blobFile(d digest.Digest) (string, error) {
	if err := d.Validate(); err != nil {
		return "", fmt.Errorf("blob %s: %w: %w", quote(string(d)), err, errdefs.ErrInvalidArgument)
	}
	return s.layout.path(filepath.FromSlash(blobPath(d))), nil
}

func missing(d digest.Digest) error {
	return fmt.Errorf("blob %s: %w in the layout", d, errdefs.ErrNotFound)
}

func (s *store) Info(_ context.Context, d digest.Digest) (content.Info, error) {
	path, err := s.blobFile(d)
	if err != nil {
		return content.Info{}, err
	}
	fi, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return content.Info{}, missing(d)
	}
	if err != nil {
		return content.Info{}, err
	}
	return content.Info{Digest: d, Size: fi.Size(), CreatedAt: fi.ModTime(), UpdatedAt: fi.ModTime()}, nil
}

// ReaderAt gives a blob unverified, since it is read in any order.
func (s *store) ReaderAt(_ context.Context, desc ocispec.Descriptor) (content.ReaderAt, error) {
	path, err := s.blobFile(desc.Digest)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missing(desc.Digest)
	}
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return blobReaderAt{f, fi.Size()}, nil
}

type blobReaderAt struct {
	*os.File
	size int64
}

func (b blobReaderAt) Size() int64 { return b.size }

func (s *store) Walk(ctx context.Context, fn content.WalkFunc, filter ...string) error {
	match, err := filters.ParseAll(filter...)
	if err != nil {
		return err
	}
	root := s.layout.path(ocispec.ImageBlobsDir)
	algorithms, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing was written yet
	}
	if err != nil {
		return err
	}
	for _, alg := range algorithms {
		names, err := os.ReadDir(filepath.Join(root, alg.Name()))
		if err != nil {
			return err
		}
		for _, name := range names {
			d := digest.NewDigestFromEncoded(digest.Algorithm(alg.Name()), name.Name())
			if d.Validate() != nil {
				continue
			}
			info, err := s.Info(ctx, d)
			if err != nil {
				return err
			}
			if !match.Match(content.AdaptInfo(info)) {
				continue
			}
			if err := fn(info); err != nil {
				return err
			}
		}
	}
	return nil
}

// Update is refused: a layout has no place for labels.
func (s *store) Update(context.Context, content.Info, ...string) (content.Info, error) {
	return content.Info{}, fmt.Errorf("label a blob of a layout: %w", errdefs.ErrFailedPrecondition)
}

// Delete is refused: another entry or another process may need the blob.
func (s *store) Delete(context.Context, digest.Digest) error {
	return fmt.Errorf("delete a blob of a layout: %w", errdefs.ErrFailedPrecondition)
}

// Status finds nothing, as nothing outlives its writer.
func (s *store) Status(_ context.Context, ref string) (content.Status, error) {
	return content.Status{}, fmt.Errorf("ingest %s: %w", ref, errdefs.ErrNotFound)
}

// ListStatuses finds nothing, as nothing outlives its writer.
func (s *store) ListStatuses(context.Context, ...string) ([]content.Status, error) { return nil, nil }

// Abort finds nothing: closing a writer has removed what it wrote.
func (s *store) Abort(_ context.Context, ref string) error {
	return fmt.Errorf("ingest %s: %w", ref, errdefs.ErrNotFound)
}

// Writer begins a blob. A blob that is there already is ErrAlreadyExists; one of another size than expected counts
// as absent and is replaced.
func (s *store) Writer(ctx context.Context, opts ...content.WriterOpt) (content.Writer, error) {
	var o content.WriterOpts
	for _, opt := range opts {
		if err := opt(&o); err != nil {
			return nil, err
		}
	}
	w := &writer{store: s, ref: o.Ref, total: o.Desc.Size, sum: digest.Canonical.Digester()}
	if want := o.Desc.Digest; want != "" {
		if err := want.Validate(); err != nil {
			return nil, fmt.Errorf("write blob %s: %w: %w", quote(string(want)), err, errdefs.ErrInvalidArgument)
		}
		if s.has(want, o.Desc.Size) {
			return nil, fmt.Errorf("blob %s: %w", want, errdefs.ErrAlreadyExists)
		}
		w.sum = want.Algorithm().Digester()
	}
	path, err := s.layout.beginIngest(ctx)
	if err != nil {
		return nil, fmt.Errorf("write blob into layout %s: %w", s.layout.Dir, err)
	}
	// Not os.CreateTemp, which would keep the blob from other users whatever the umask says.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o644)
	if err != nil {
		s.layout.closeWriter()
		return nil, fmt.Errorf("write blob into layout %s: %w", s.layout.Dir, err)
	}
	w.path, w.file = path, f
	return w, nil
}

// has tells whether a blob is there, with the size given if one is.
func (s *store) has(d digest.Digest, size int64) bool {
	path, err := s.blobFile(d)
	if err != nil {
		return false
	}
	fi, err := os.Stat(path)
	return err == nil && fi.Mode().IsRegular() && (size <= 0 || fi.Size() == size)
}

// writer writes one blob. It is for one goroutine, as content.Writer says.
type writer struct {
	store  *store
	ref    string
	path   string
	file   *os.File // nil once closed
	offset int64
	total  int64
	sum    digest.Digester
}

func (w *writer) Write(p []byte) (int, error) {
	if w.file == nil {
		return 0, fmt.Errorf("write blob: %w: the writer is closed", errdefs.ErrFailedPrecondition)
	}
	n, err := w.file.Write(p)
	w.sum.Hash().Write(p[:n])
	w.offset += int64(n)
	return n, err
}

func (w *writer) Digest() digest.Digest { return w.sum.Digest() }

func (w *writer) Status() (content.Status, error) {
	// Times are left out: nothing is resumed by its age.
	return content.Status{Ref: w.ref, Offset: w.offset, Total: w.total}, nil
}

func (w *writer) Truncate(size int64) error {
	if size != 0 || w.file == nil {
		return fmt.Errorf("truncate blob: %w: only an open one, and to nothing", errdefs.ErrInvalidArgument)
	}
	if _, err := w.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	w.sum.Hash().Reset()
	w.offset = 0
	return w.file.Truncate(0)
}

// Commit makes the blob appear under its digest, complete and flushed. Where another writer was first the result
// is ErrAlreadyExists. The writer is closed in any case.
func (w *writer) Commit(_ context.Context, size int64, expected digest.Digest, _ ...content.Opt) error {
	if w.file == nil {
		return fmt.Errorf("commit blob: %w: the writer is closed", errdefs.ErrFailedPrecondition)
	}
	defer w.Close()
	if size > 0 && size != w.offset {
		return fmt.Errorf("commit blob %s: %w: %d bytes written, %d expected", expected, errdefs.ErrFailedPrecondition, w.offset, size)
	}
	got, err := w.digestAs(expected)
	if err != nil {
		return fmt.Errorf("commit blob %s: %w", expected, err)
	}
	if expected != "" && got != expected {
		return fmt.Errorf("commit blob %s: %w: the digest of what was written is %s", expected, errdefs.ErrFailedPrecondition, got)
	}
	target, err := w.store.blobFile(got)
	if err != nil {
		return err
	}
	if w.store.has(got, w.offset) {
		return fmt.Errorf("blob %s: %w", got, errdefs.ErrAlreadyExists)
	}
	// Flushed before the rename: after a power cut a name must not lead to an empty file. The directory is
	// flushed by Tag, once for all.
	err = w.file.Sync()
	if cerr := w.file.Close(); err == nil {
		err = cerr
	}
	w.file = nil
	if err == nil {
		err = w.store.layout.mkdirAll(filepath.Dir(target))
	}
	if err == nil {
		err = os.Rename(w.path, target)
	}
	w.discard()
	if err != nil {
		return fmt.Errorf("commit blob %s: %w", got, err)
	}
	return nil
}

// digestAs gives the digest of what was written by the algorithm of the expected one, which need not be that
// announced at the beginning.
func (w *writer) digestAs(expected digest.Digest) (digest.Digest, error) {
	got := w.sum.Digest()
	if expected == "" {
		return got, nil
	}
	if err := expected.Validate(); err != nil {
		return "", fmt.Errorf("%w: %w", err, errdefs.ErrInvalidArgument)
	}
	if expected.Algorithm() == got.Algorithm() {
		return got, nil
	}
	if _, err := w.file.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	return expected.Algorithm().FromReader(w.file)
}

// Close abandons the blob unless it has been committed.
func (w *writer) Close() error {
	if w.file == nil {
		return nil
	}
	err := w.file.Close()
	w.file = nil
	w.discard()
	return err
}

func (w *writer) discard() {
	_ = os.Remove(w.path) // gone already after a commit
	w.store.layout.closeWriter()
}
