package ociimage

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

var documents = []string{
	`{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","size":7,"platform":{"os":"linux","architecture":"arm64"}}]}`,
	`{"schemaVersion":2,"config":{"mediaType":"application/vnd.oci.image.config.v1+json"},"layers":[{"size":-1}],"annotations":{"a":"b"}}`,
	`{"schemaVersion":2,"manifests":null}`, `{"manifests":[null,{}]}`, `{"schemaVersion":2,"manifests":[],"layers":[]}`, `[]`, ``,
}

func FuzzDecodeIndex(f *testing.F) {
	for _, doc := range documents {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		idx, err := decodeIndex(ocispec.Descriptor{}, raw)
		if err != nil {
			return
		}
		if idx.SchemaVersion != 2 || len(idx.Manifests) > MaxIndexEntries {
			t.Errorf("accepted schemaVersion %d with %d entries", idx.SchemaVersion, len(idx.Manifests))
		}
		// With nothing to be found below it, an index gives an error or nothing, and comes to an end.
		img := &Image{src: layout{&tarFiles{}}, index: idx}
		if all, err := img.Artifacts(context.Background()); err == nil {
			t.Errorf("%d manifests out of nothing", len(all))
		}
		if _, err := img.Artifact(context.Background(), &ocispec.Platform{OS: "linux", Architecture: "arm64"}); err == nil {
			t.Error("a manifest out of nothing")
		}
	})
}

func FuzzDecodeManifest(f *testing.F) {
	for _, doc := range documents {
		f.Add([]byte(doc), ocispec.MediaTypeImageManifest)
	}
	f.Fuzz(func(t *testing.T, raw []byte, mediaType string) {
		desc := ocispec.Descriptor{MediaType: mediaType}
		m, err := decodeManifest(desc, raw)
		if err != nil {
			return
		}
		a, err := newArtifact(layout{&tarFiles{}}, desc, m)
		if err != nil {
			return
		}
		if a.Manifest.SchemaVersion != 2 || len(a.Layers()) > MaxIndexEntries {
			t.Errorf("accepted %v", a.Manifest)
		}
		for _, l := range a.Layers() {
			if _, err := l.Open(context.Background()); err == nil {
				t.Errorf("layer %v out of nothing", l.Descriptor)
			}
		}
		if _, _, err := a.Config(context.Background()); err == nil {
			t.Error("a config out of nothing")
		}
	})
}

// What is read from index.json and written again means the same.
func FuzzLayoutIndex(f *testing.F) {
	for _, doc := range documents {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		idx, err := decodeLayoutIndex(raw)
		if err != nil {
			return
		}
		out, err := encodeIndex(idx)
		if err != nil {
			t.Fatal(err)
		}
		again, err := decodeLayoutIndex(out)
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if len(again.Manifests) != len(idx.Manifests) {
			t.Fatalf("%d entries became %d", len(idx.Manifests), len(again.Manifests))
		}
		for i := range idx.Manifests {
			a, b := must(json.Marshal(idx.Manifests[i].Descriptor))(t), must(json.Marshal(again.Manifests[i].Descriptor))(t)
			if !bytes.Equal(a, b) {
				t.Errorf("%s became %s", a, b)
			}
		}
	})
}

// What is indexed is what an ordinary reader of the tar finds under that name.
func FuzzIndexTar(f *testing.F) {
	var buf bytes.Buffer
	tw := tar.NewWriter(&buf)
	data := []byte("{}")
	add(tw, tar.Header{Name: "./oci-layout", Typeflag: tar.TypeReg, Mode: 0o644}, data)
	add(tw, tar.Header{Name: "blobs/sha256/" + digest.FromBytes(data).Encoded(), Typeflag: tar.TypeReg, Format: tar.FormatPAX,
		PAXRecords: map[string]string{"X.note": "x"}}, data)
	add(tw, tar.Header{Name: "index.json", Typeflag: tar.TypeReg, Format: tar.FormatGNU}, data)
	if err := tw.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(buf.Bytes())
	f.Add(buf.Bytes()[:700])
	f.Add([]byte{0x1f, 0x8b})
	f.Fuzz(func(t *testing.T, raw []byte) {
		mendChecksums(raw)
		members, err := indexTar(bytes.NewReader(raw), int64(len(raw)))
		if err != nil {
			return
		}
		found := 0
		tr := tar.NewReader(bytes.NewReader(raw))
		for {
			hdr, err := tr.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("indexed, but %v", err)
			}
			m, ok := members[path.Clean(hdr.Name)]
			if !ok || hdr.Typeflag == tar.TypeDir {
				continue
			}
			found++
			body, err := io.ReadAll(tr)
			if err != nil {
				t.Fatal(err)
			}
			if m.offset < 0 || m.size < 0 || m.offset+m.size > int64(len(raw)) {
				t.Fatalf("member %v of %d bytes", m, len(raw))
			}
			if !bytes.Equal(body, raw[m.offset:m.offset+m.size]) {
				t.Errorf("%s is %q in the tar and %q in the index", hdr.Name, body, raw[m.offset:m.offset+m.size])
			}
		}
		if found != len(members) {
			t.Errorf("%d members indexed, %d found", len(members), found)
		}
	})
}

// mendChecksums gives each header the checksum that it should have, without which a changed one is never looked at.
func mendChecksums(raw []byte) {
	for pos := 0; pos+512 <= len(raw); {
		header := raw[pos : pos+512]
		copy(header[148:156], "        ")
		sum := 0
		for _, b := range header {
			sum += int(b)
		}
		copy(header[148:156], fmt.Sprintf("%06o\x00 ", sum))
		var size int64
		_, _ = fmt.Sscanf(string(header[124:135]), "%o", &size)
		if size < 0 || size > int64(len(raw)) {
			return
		}
		pos += 512 + int(size+511)/512*512
	}
}
