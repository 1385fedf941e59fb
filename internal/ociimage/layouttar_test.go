package ociimage

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// writeTarOf packs a directory as it is.
func writeTarOf(t testing.TB, dir, file string) {
	t.Helper()
	f := must(os.Create(file))(t)
	defer f.Close()
	tw := tar.NewWriter(f)
	if err := tw.AddFS(os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
}

// rewrite passes the members of a tar through a function that says what to write in place of each.
func rewrite(t testing.TB, file string, change func(tw *tar.Writer, hdr *tar.Header, body []byte)) {
	t.Helper()
	tr := tar.NewReader(bytes.NewReader(must(os.ReadFile(file))(t)))
	var out bytes.Buffer
	tw := tar.NewWriter(&out)
	for {
		hdr, err := tr.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		change(tw, hdr, must(io.ReadAll(tr))(t))
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func add(tw *tar.Writer, hdr tar.Header, body []byte) {
	hdr.Size = int64(len(body))
	if err := tw.WriteHeader(&hdr); err != nil {
		panic(err)
	}
	if _, err := tw.Write(body); err != nil {
		panic(err)
	}
}

func TestOpenLayoutTar(t *testing.T) {
	ctx := context.Background()
	l, target := sample(t)
	type change func(tw *tar.Writer, hdr *tar.Header, body []byte)
	same := func(tw *tar.Writer, hdr *tar.Header, body []byte) { add(tw, *hdr, body) }
	blob := blobPath(target.Digest)
	// at changes one member.
	at := func(name string, do change) change {
		return func(tw *tar.Writer, hdr *tar.Header, body []byte) {
			if hdr.Name == name {
				do(tw, hdr, body)
			} else {
				same(tw, hdr, body)
			}
		}
	}
	rename := func(to string) change {
		return func(tw *tar.Writer, hdr *tar.Header, body []byte) {
			hdr.Name = to
			add(tw, *hdr, body)
		}
	}
	for name, c := range map[string]struct {
		do   change
		is   error
		says string
	}{
		"as it is":         {same, nil, ""},
		"dotted names":     {func(tw *tar.Writer, h *tar.Header, b []byte) { rename("./"+h.Name)(tw, h, b) }, nil, ""},
		"roundabout names": {func(tw *tar.Writer, h *tar.Header, b []byte) { rename("x/.././"+h.Name)(tw, h, b) }, nil, ""},
		"PAX names": {func(tw *tar.Writer, h *tar.Header, b []byte) {
			h.Format = tar.FormatPAX
			h.PAXRecords = map[string]string{"X.note": "long"}
			same(tw, h, b)
		}, nil, ""},
		"strangers": {at("index.json", func(tw *tar.Writer, h *tar.Header, b []byte) {
			same(tw, h, b)
			add(tw, tar.Header{Name: "repositories"}, []byte("{}"))
			_ = tw.WriteHeader(&tar.Header{Name: "old/layer.tar", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"})
		}), nil, ""},
		"absolute":     {at("index.json", rename("/index.json")), ErrNotLayout, "no file index.json"},
		"climbing out": {at("index.json", rename("../index.json")), ErrNotLayout, "no file index.json"},
		"index twice":  {at("index.json", func(tw *tar.Writer, h *tar.Header, b []byte) { same(tw, h, b); rename("./index.json")(tw, h, b) }), ErrMalformed, `"index.json" comes twice`},
		"blob twice":   {at(blob, func(tw *tar.Writer, h *tar.Header, b []byte) { same(tw, h, b); same(tw, h, b) }), ErrMalformed, "comes twice"},
		"index is a symlink": {at("index.json", func(tw *tar.Writer, h *tar.Header, _ []byte) {
			add(tw, tar.Header{Name: h.Name, Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}, nil)
		}), ErrMalformed, "not a plain file"},
		"blob is a hard link": {at(blob, func(tw *tar.Writer, h *tar.Header, _ []byte) {
			add(tw, tar.Header{Name: h.Name, Typeflag: tar.TypeLink, Linkname: "index.json"}, nil)
		}), ErrMalformed, "not a plain file"},
		"blob is a pipe": {at(blob, func(tw *tar.Writer, h *tar.Header, _ []byte) {
			add(tw, tar.Header{Name: h.Name, Typeflag: tar.TypeFifo}, nil)
		}), ErrMalformed, "not a plain file"},
		"no layout in it": {at("oci-layout", rename("other")), ErrNotLayout, "no file oci-layout"},
		"docker save":     {at("oci-layout", rename("manifest.json")), ErrNotLayout, "archive of docker save"},
		"blob missing":    {at(blob, rename("blobs/elsewhere")), ErrNotFound, string(target.Digest)},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "layout.tar")
			f := must(os.Create(file))(t)
			defer f.Close()
			if err := WriteTar(ctx, f, l.Dir, target, []string{"kit:1.0.0"}); err != nil {
				t.Fatal(err)
			}
			rewrite(t, file, c.do)
			img, err := OpenLayoutTar(ctx, file, "1.0.0")
			if c.is != nil {
				wantError(t, err, c.is, c.says)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer img.Close()
			if err := readEverything(ctx, img); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestOpenLayoutTarRefuses(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	var packed bytes.Buffer
	zw := gzip.NewWriter(&packed)
	if _, err := zw.Write(make([]byte, 1024)); err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	// The library writes no sparse members, but takes any other name for the same records.
	var sparse bytes.Buffer
	tw := tar.NewWriter(&sparse)
	add(tw, tar.Header{Name: "index.json", Typeflag: tar.TypeReg, Format: tar.FormatPAX, PAXRecords: map[string]string{
		"XYZ.sparse.map": "1,2", "XYZ.sparse.numblocks": "1", "XYZ.sparse.size": "9"}}, []byte("{}"))
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	l, target := sample(t)
	var whole bytes.Buffer
	if err := WriteTar(ctx, &whole, l.Dir, target, nil); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		file string
		is   error
		says string
	}{
		"missing":   {filepath.Join(dir, "none"), ErrNotFound, "no such file"},
		"directory": {dir, ErrNotLayout, "it is a directory"},
		"empty":     {write("empty", nil), ErrNotLayout, "no file oci-layout"},
		"gzip":      {write("gzip", packed.Bytes()), ErrNotLayout, "compressed with gzip"},
		"zstd":      {write("zstd", []byte{0x28, 0xb5, 0x2f, 0xfd, 0, 0}), ErrNotLayout, "compressed with zstd"},
		"text":      {write("text", bytes.Repeat([]byte("kit "), 300)), ErrMalformed, "read tar"},
		"sparse":    {write("sparse", bytes.ReplaceAll(sparse.Bytes(), []byte("XYZ."), []byte("GNU."))), ErrMalformed, "not a plain file"},
		"cut off":   {write("cut", whole.Bytes()[:whole.Len()/3]), ErrMalformed, "read tar"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := OpenLayoutTar(ctx, c.file, "1")
			wantError(t, err, c.is, c.says)
		})
	}
}

func TestTarMembersAreBounded(t *testing.T) {
	var buf bytes.Buffer
	tw := tar.NewWriter(&buf)
	member := func(n int) {
		if err := tw.WriteHeader(&tar.Header{Name: fmt.Sprintf("blobs/sha256/%d", n), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
	}
	index := func() error { // an end marker is not needed
		_, err := indexTar(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
		return err
	}
	for n := range MaxTarMembers {
		member(n)
	}
	if err := index(); err != nil {
		t.Error(err)
	}
	member(MaxTarMembers)
	wantError(t, index(), ErrTooLarge, "more than 100000 members")
}
