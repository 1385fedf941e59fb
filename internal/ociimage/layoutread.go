package ociimage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// OpenLayout opens an OCI layout directory. The selector is a tag, that is, the org.opencontainers.image.ref.name
// of an entry of index.json, or the digest of such an entry; other annotations are not consulted. ErrNotFound if
// the directory or the entry is missing, ErrNoTag if the selector is empty, ErrNotLayout if the directory is something else.
func OpenLayout(ctx context.Context, dir, selector string) (*Image, error) {
	where := "layout " + dir
	files := dirFiles{root: dir}
	fi, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("open %s: %w: no such directory", where, ErrNotFound)
	case err != nil:
		return nil, fmt.Errorf("open %s: %w", where, err)
	case !fi.IsDir():
		return nil, fmt.Errorf("open %s: %w: it is a file, not a directory", where, ErrNotLayout)
	}
	return openLayout(ctx, where, layout{files}, selector)
}

// layoutFiles are the files of a layout, by slash-separated path.
type layoutFiles interface {
	// open gives a regular file and its size; fs.ErrNotExist if there is none.
	open(name string) (io.ReadCloser, int64, error)
	close() error
}

// layout is a source over the files of a layout.
type layout struct{ layoutFiles }

func (l layout) openManifest(ctx context.Context, desc ocispec.Descriptor) (io.ReadCloser, error) {
	return l.openBlob(ctx, desc)
}

func (l layout) openBlob(_ context.Context, desc ocispec.Descriptor) (io.ReadCloser, error) {
	rc, size, err := l.open(blobPath(desc.Digest))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open blob %s: %w in the layout", desc.Digest, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("open blob %s: %w", desc.Digest, err)
	}
	if size != desc.Size {
		rc.Close()
		return nil, fmt.Errorf("open blob %s: %w: it has %d bytes, not %d", desc.Digest, ErrDigest, size, desc.Size)
	}
	return rc, nil
}

// blobPath is the place of a blob in a layout; the digest has been validated.
func blobPath(d digest.Digest) string {
	return ocispec.ImageBlobsDir + "/" + d.Algorithm().String() + "/" + d.Encoded()
}

// readFile reads one of the two files that stand beside the blobs.
func (l layout) readFile(name string) ([]byte, error) {
	rc, size, err := l.open(name)
	if err != nil {
		return nil, err
	}
	defer rc.Close()
	if size > MaxManifestSize {
		return nil, fmt.Errorf("read %s: %w: %d bytes, at most %d", name, ErrTooLarge, size, MaxManifestSize)
	}
	data, err := io.ReadAll(io.LimitReader(rc, size+1))
	if err == nil && int64(len(data)) > size {
		err = errors.New("the file grew while it was read")
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return data, nil
}

// checkVersion refuses what is no layout, or one of another version.
func (l layout) checkVersion() error {
	raw, err := l.readFile(ocispec.ImageLayoutFile)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: there is no file %s", ErrNotLayout, ocispec.ImageLayoutFile)
	}
	if err != nil {
		return err
	}
	var version ocispec.ImageLayout
	if err := decode(raw, &version); err != nil {
		return fmt.Errorf("decode %s: %w", ocispec.ImageLayoutFile, err)
	}
	if version.Version != ocispec.ImageLayoutVersion {
		return fmt.Errorf("%w: layout version %s, only %s is known", ErrNotLayout, quote(version.Version), ocispec.ImageLayoutVersion)
	}
	return nil
}

// layoutIndex is index.json. Its entries are kept as written so that another tool's fields survive a rewrite.
type layoutIndex struct {
	SchemaVersion int                 `json:"schemaVersion"`
	MediaType     string              `json:"mediaType,omitempty"`
	ArtifactType  string              `json:"artifactType,omitempty"`
	Manifests     layoutEntries       `json:"manifests"`
	Subject       *ocispec.Descriptor `json:"subject,omitempty"`
	Annotations   map[string]string   `json:"annotations,omitempty"`
}

type layoutEntry struct {
	ocispec.Descriptor
	raw json.RawMessage
}

func (e layoutEntry) MarshalJSON() ([]byte, error) { return e.raw, nil }

func (e layoutEntry) tag() string { return e.Annotations[ocispec.AnnotationRefName] }

type layoutEntries []layoutEntry

func (l *layoutEntries) UnmarshalJSON(data []byte) error {
	*l = nil
	return decodeList(data, MaxLayoutEntries, func(dec *json.Decoder) error {
		var e layoutEntry
		if err := dec.Decode(&e.raw); err != nil {
			return err
		}
		if err := json.Unmarshal(e.raw, &e.Descriptor); err != nil {
			return err
		}
		*l = append(*l, e)
		return nil
	})
}

// readIndex reads index.json. Its schemaVersion is not judged: it lists what the layout holds and is itself no
// index that a reference could select.
func (l layout) readIndex() (*layoutIndex, error) {
	raw, err := l.readFile(ocispec.ImageIndexFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: there is no file %s", ErrNotLayout, ocispec.ImageIndexFile)
	}
	if err != nil {
		return nil, err
	}
	return decodeLayoutIndex(raw)
}

func decodeLayoutIndex(raw []byte) (*layoutIndex, error) {
	var idx layoutIndex
	if err := decode(raw, &idx); err != nil {
		return nil, fmt.Errorf("decode %s: %w", ocispec.ImageIndexFile, err)
	}
	return &idx, nil
}

// openLayout selects an entry of a layout and reads it. It owns files from now on.
func openLayout(ctx context.Context, where string, l layout, selector string) (img *Image, err error) {
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	if err := l.checkVersion(); err != nil {
		return nil, fmt.Errorf("open %s: %w", where, err)
	}
	idx, err := l.readIndex()
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", where, err)
	}
	target, err := l.resolve(idx, selector)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", where, err)
	}
	raw, err := readVerified(ctx, l.openManifest, target)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", where, err)
	}
	return open(l, where, target, raw)
}

// resolve finds the entry that a selector names.
func (l layout) resolve(idx *layoutIndex, selector string) (ocispec.Descriptor, error) {
	var found []ocispec.Descriptor
	var tags, digests []string
	for _, e := range idx.Manifests {
		if tag := e.tag(); tag != "" {
			tags = append(tags, tag)
		}
		digests = append(digests, string(e.Digest))
		if selector != "" && (e.tag() == selector || string(e.Digest) == selector) {
			found = append(found, e.Descriptor)
		}
	}
	if len(found) > 0 {
		for _, other := range found {
			if other.Digest != found[0].Digest {
				return found[0], fmt.Errorf("tag %s: %w: it names both %s and %s; select one by its digest",
					quote(selector), ErrMalformed, quote(string(found[0].Digest)), quote(string(other.Digest)))
			}
		}
		return found[0], nil
	}

	slices.Sort(tags)
	slices.Sort(digests)
	there := "the layout lists nothing"
	if len(tags) > 0 {
		there = "its tags are " + list(slices.Compact(tags))
	} else if len(digests) > 0 {
		there = "it has no tags, select a digest: " + list(slices.Compact(digests))
	}
	if selector == "" {
		return ocispec.Descriptor{}, fmt.Errorf("%w: %s", ErrNoTag, there)
	}
	if d := digest.Digest(selector); d.Validate() == nil {
		if rc, _, err := l.open(blobPath(d)); err == nil {
			rc.Close()
			return ocispec.Descriptor{}, fmt.Errorf("digest %s: %w: it is a blob of the layout, but no entry of %s; %s",
				d, ErrNotFound, ocispec.ImageIndexFile, there)
		}
		return ocispec.Descriptor{}, fmt.Errorf("digest %s: %w: %s", d, ErrNotFound, there)
	}
	return ocispec.Descriptor{}, fmt.Errorf("tag %s: %w: %s", quote(selector), ErrNotFound, there)
}

// dirFiles are the files of a layout directory.
type dirFiles struct{ root string }

func (d dirFiles) close() error { return nil }

func (d dirFiles) open(name string) (io.ReadCloser, int64, error) {
	// Links are followed, since some builders link blobs to their caches and every blob is verified. Opening a
	// pipe or a device could block forever, so the kind is looked at first.
	path := filepath.Join(d.root, filepath.FromSlash(name))
	fi, err := os.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	if !fi.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("open %s: not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	return f, fi.Size(), nil
}
