package kittest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// entry is one member of a layer's tar.
type entry struct {
	header    tar.Header
	body      []byte
	published bool // the body is the staged descriptor, followed by padding
	padding   int
}

type layer struct {
	entries []entry
	how     string // gzip, zstd or plain
	staged  []byte // what published entries hold; nil: the kit's own document
}

var entryKinds = map[string]byte{
	"dir": tar.TypeDir, "file": tar.TypeReg, "published": tar.TypeReg, "fifo": tar.TypeFifo,
	"link": tar.TypeSymlink, "hard": tar.TypeLink, "char": tar.TypeChar,
}

// parseEntry reads one indented line.
func parseEntry(line string) (entry, error) {
	words, err := split(line)
	if err != nil || len(words) < 2 {
		return entry{}, fmt.Errorf("entry %q: kind and path are missing", line)
	}
	kind, ok := entryKinds[words[0]]
	if !ok {
		return entry{}, fmt.Errorf("entry %q: unknown kind", line)
	}
	e := entry{header: tar.Header{Typeflag: kind, Name: words[1], Mode: 0o644}, published: words[0] == "published"}
	words = words[2:]
	switch kind {
	case tar.TypeDir:
		e.header.Name = strings.TrimSuffix(e.header.Name, "/") + "/"
		e.header.Mode = 0o755
	case tar.TypeSymlink, tar.TypeLink:
		e.header.Linkname, words = words[0], words[1:]
	case tar.TypeChar:
		if e.header.Devmajor, err = strconv.ParseInt(words[0], 10, 64); err != nil {
			return entry{}, err
		}
		if e.header.Devminor, err = strconv.ParseInt(words[1], 10, 64); err != nil {
			return entry{}, err
		}
		words = words[2:]
	}
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		if err := e.option(key, value); err != nil {
			return entry{}, fmt.Errorf("entry %q: %w", line, err)
		}
	}
	return e, nil
}

func (e *entry) option(key, value string) error {
	base := 10
	switch key {
	case "text":
		e.body = []byte(value)
		return nil
	case "mode":
		base = 8
	}
	n, err := strconv.ParseInt(strings.TrimSuffix(value, "MiB"), base, 64)
	if err != nil {
		return err
	}
	if strings.HasSuffix(value, "MiB") {
		n <<= 20
	}
	switch key {
	case "mode":
		e.header.Mode = n
	case "uid":
		e.header.Uid = int(n)
	case "gid":
		e.header.Gid = int(n)
	case "size":
		e.padding = int(n)
	default:
		return fmt.Errorf("unknown option %q", key)
	}
	return nil
}

// storage is how the layer is stored: as asked for, else packed, except where packing its large
// padding would only cost time.
func (l *layer) storage() string {
	if l.how == "" && slices.ContainsFunc(l.entries, func(e entry) bool { return e.padding > 0 }) {
		return "plain"
	}
	return l.how
}

// bytes gives the layer as a blob; staged is the kit's document.
func (l *layer) bytes(staged []byte) ([]byte, error) {
	var plain bytes.Buffer
	w := tar.NewWriter(&plain)
	for _, e := range l.entries {
		body := e.body
		if e.published && l.staged != nil {
			body = l.staged
		} else if e.published {
			body = staged
		}
		if e.padding > 0 { // a comment line, so that YAML stays YAML
			body = append(bytes.Clone(body), '#')
			body = append(body, bytes.Repeat([]byte("x"), max(0, e.padding-len(body)))...)
		}
		e.header.Size = int64(len(body))
		if err := w.WriteHeader(&e.header); err != nil {
			return nil, fmt.Errorf("write entry %s: %w", e.header.Name, err)
		}
		if _, err := w.Write(body); err != nil {
			return nil, fmt.Errorf("write entry %s: %w", e.header.Name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	switch l.storage() {
	case "plain":
		return plain.Bytes(), nil
	case "zstd":
		enc, err := zstd.NewWriter(nil)
		if err != nil {
			return nil, err
		}
		return enc.EncodeAll(plain.Bytes(), nil), enc.Close()
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(plain.Bytes()); err != nil {
		return nil, err
	}
	err = z.Close()
	return packed.Bytes(), err
}
