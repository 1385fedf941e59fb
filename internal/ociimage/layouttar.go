package ociimage

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// OpenLayoutTar opens a layout in an uncompressed tar file; the selector is as for OpenLayout. The members are
// listed once, blobs are then read where they lie, so the file has to be seekable and must not change. An
// archive written by docker save holds no layout unless a recent Docker wrote it, and is refused.
func OpenLayoutTar(ctx context.Context, file, selector string) (*Image, error) {
	where := "layout tar " + file
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open %s: %w: no such file", where, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", where, err)
	}
	members, err := indexFile(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("open %s: %w", where, err)
	}
	return openLayout(ctx, where, layout{&tarFiles{file: f, members: members}}, selector)
}

func indexFile(f *os.File) (map[string]member, error) {
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if fi.IsDir() {
		return nil, fmt.Errorf("%w: it is a directory, not a tar file", ErrNotLayout)
	}
	if !fi.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: it is not a regular file, and blobs are read out of order", ErrNotLayout)
	}
	return indexTar(f, fi.Size())
}

// member is where the bytes of a tar member lie.
type member struct{ offset, size int64 }

// indexTar lists the members of a layout tar that belong to the layout. Others are passed over, whatever they
// are. It refuses what would make the answer depend on the reader: a name twice, links, sparse files.
func indexTar(r io.ReaderAt, size int64) (map[string]member, error) {
	// A section can seek, which has two uses: the tar reader skips bodies, and after each header the position
	// is where the body begins, since it reads in whole blocks and never ahead.
	section := io.NewSectionReader(r, 0, size)
	if err := refuseCompressed(section); err != nil {
		return nil, err
	}
	members := map[string]member{}
	docker := false
	tr := tar.NewReader(section)
	for n := 0; ; n++ {
		hdr, err := tr.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read tar: %w: %w", ErrMalformed, err)
		}
		if n == MaxTarMembers {
			return nil, fmt.Errorf("read tar: %w: more than %d members", ErrTooLarge, MaxTarMembers)
		}
		name := path.Clean(hdr.Name)
		docker = docker || name == dockerManifestFile
		if !belongs(name) || hdr.Typeflag == tar.TypeDir {
			continue
		}
		if hdr.Typeflag != tar.TypeReg || isSparse(hdr) {
			return nil, fmt.Errorf("read tar: %w: member %s is not a plain file", ErrMalformed, quote(name))
		}
		if _, twice := members[name]; twice {
			return nil, fmt.Errorf("read tar: %w: member %s comes twice", ErrMalformed, quote(name))
		}
		offset, err := section.Seek(0, io.SeekCurrent)
		if err != nil {
			return nil, err
		}
		if hdr.Size > size-offset {
			return nil, fmt.Errorf("read tar: %w: member %s goes on after the end of the file", ErrMalformed, quote(name))
		}
		members[name] = member{offset, hdr.Size}
	}
	if _, ok := members[ocispec.ImageLayoutFile]; !ok && docker {
		return nil, fmt.Errorf("%w: it is an archive of docker save without one; write it with --output type=oci, "+
			"or push the image to a registry and name it there", ErrNotLayout)
	}
	return members, nil
}

// belongs tells the cleaned names of a layout's files. One that climbs out or is absolute belongs to none.
func belongs(name string) bool {
	return name == ocispec.ImageLayoutFile || name == ocispec.ImageIndexFile ||
		strings.HasPrefix(name, ocispec.ImageBlobsDir+"/")
}

// isSparse tells a member whose bytes in the tar are not its content.
func isSparse(hdr *tar.Header) bool {
	for key := range hdr.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false // the old form has a type of its own
}

// refuseCompressed names the likely mistake, which a tar reader would call an invalid header.
func refuseCompressed(section *io.SectionReader) error {
	var magic [4]byte
	n, err := section.ReadAt(magic[:], 0)
	if err != nil && err != io.EOF {
		return err
	}
	for name, want := range map[string][]byte{"gzip": {0x1f, 0x8b}, "zstd": {0x28, 0xb5, 0x2f, 0xfd}} {
		if bytes.HasPrefix(magic[:n], want) {
			return fmt.Errorf("%w: it is compressed with %s; decompress it first", ErrNotLayout, name)
		}
	}
	return nil
}

// tarFiles are the files of a layout tar.
type tarFiles struct {
	file    *os.File
	members map[string]member
}

func (t *tarFiles) open(name string) (io.ReadCloser, int64, error) {
	m, ok := t.members[name]
	if !ok {
		return nil, 0, fs.ErrNotExist
	}
	return io.NopCloser(io.NewSectionReader(t.file, m.offset, m.size)), m.size, nil
}

func (t *tarFiles) close() error { return t.file.Close() }
