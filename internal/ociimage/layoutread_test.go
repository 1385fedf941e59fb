package ociimage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

func TestOpenLayout(t *testing.T) {
	l, target := sample(t)
	for _, selector := range []string{"1.0.0", string(target.Digest)} {
		img, err := OpenLayout(context.Background(), l.Dir, selector)
		if err != nil {
			t.Fatal(err)
		}
		if img.Target.Digest != target.Digest || img.Target.MediaType != target.MediaType {
			t.Errorf("%s: target %v", selector, img.Target)
		}
		if err := readEverything(context.Background(), img); err != nil {
			t.Error(err)
		}
		if _, err := img.Sibling(context.Background(), "me/other", string(target.Digest)); !errors.Is(err, ErrNoSiblings) {
			t.Errorf("sibling: %v", err)
		}
		if err := img.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestOpenLayoutRefuses(t *testing.T) {
	l, target := sample(t)
	ctx := context.Background()
	if err := l.Tag(ctx, target, []string{"kit:2.0.0"}); err != nil {
		t.Fatal(err)
	}
	img, err := OpenLayout(ctx, l.Dir, "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	inner, err := img.Artifact(ctx, parsePlatform(t, "linux/amd64"))
	if err != nil {
		t.Fatal(err)
	}
	plain := t.TempDir()
	file := filepath.Join(plain, "file")
	noIndex := t.TempDir()
	for path, data := range map[string]string{file: "", filepath.Join(noIndex, "oci-layout"): `{"imageLayoutVersion":"1.0.0"}`} {
		if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	future := t.TempDir()
	if err := os.WriteFile(filepath.Join(future, "oci-layout"), []byte(`{"imageLayoutVersion":"2.0.0"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		dir, selector string
		is            error
		says          []string
	}{
		"no directory":        {filepath.Join(plain, "none"), "1.0.0", ErrNotFound, []string{"none", "no such directory"}},
		"a file":              {file, "1.0.0", ErrNotLayout, []string{"it is a file"}},
		"no layout":           {plain, "1.0.0", ErrNotLayout, []string{"no file oci-layout"}},
		"no index.json":       {noIndex, "1.0.0", ErrNotLayout, []string{"no file index.json"}},
		"later version":       {future, "1.0.0", ErrNotLayout, []string{`"2.0.0"`, "1.0.0"}},
		"no such tag":         {l.Dir, "3.0.0", ErrNotFound, []string{`tag "3.0.0"`, `"1.0.0", "2.0.0"`}},
		"whole name":          {l.Dir, "docker.io/me/kit:1.0.0", ErrNotFound, []string{`"1.0.0"`}},
		"no selector":         {l.Dir, "", ErrNoTag, []string{`no tag given: its tags are "1.0.0"`}},
		"digest of a blob":    {l.Dir, string(inner.Descriptor.Digest), ErrNotFound, []string{"is a blob of the layout", `"1.0.0"`}},
		"digest of nothing":   {l.Dir, "sha256:" + strings.Repeat("0", 64), ErrNotFound, []string{`"1.0.0"`}},
		"not quite a digest":  {l.Dir, "sha256:00", ErrNotFound, []string{`tag "sha256:00"`}},
		"text of another kit": {l.Dir, "\x1b[2J", ErrNotFound, []string{`"\x1b[2J"`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := OpenLayout(ctx, c.dir, c.selector)
			wantError(t, err, c.is, c.says...)
		})
	}
}

func TestEmptyAndUntaggedLayout(t *testing.T) {
	l := newLayout(t)
	_, err := OpenLayout(context.Background(), l.Dir, "1")
	wantError(t, err, ErrNotFound, "lists nothing")
	target := putJSON(t, l, ocispec.MediaTypeImageManifest, goodManifest(t, l))
	if err := l.Tag(context.Background(), target, nil); err != nil {
		t.Fatal(err)
	}
	_, err = OpenLayout(context.Background(), l.Dir, "1")
	wantError(t, err, ErrNotFound, "no tags", string(target.Digest))
	if err := readLayout(l.Dir, string(target.Digest)); err != nil {
		t.Error(err)
	}
}

// writeIndexJSON replaces index.json by other means than ours.
func writeIndexJSON(t testing.TB, l *Layout, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(l.Dir, "index.json"), data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestIndexJSON(t *testing.T) {
	l, target := sample(t)
	other := putJSON(t, l, ocispec.MediaTypeImageManifest, goodManifest(t, l))
	entry := func(d ocispec.Descriptor, tag string) string {
		return fmt.Sprintf(`{"mediaType":%q,"digest":%q,"size":%d,"annotations":{"org.opencontainers.image.ref.name":%q}}`,
			d.MediaType, d.Digest, d.Size, tag)
	}
	wrap := func(entries ...string) []byte {
		return []byte(`{"manifests":[` + strings.Join(entries, ",") + `]}`)
	}
	var many []string
	for range MaxLayoutEntries {
		many = append(many, entry(target, "1.0.0"))
	}
	for name, c := range map[string]struct {
		data []byte
		is   error
		says string
	}{
		"same content twice": {wrap(entry(target, "1.0.0"), entry(target, "1.0.0")), nil, ""},
		"two contents":       {wrap(entry(target, "1.0.0"), entry(other, "1.0.0")), ErrMalformed, "select one by its digest"},
		"as many as may be":  {wrap(many...), nil, ""},
		"one more":           {wrap(append(many, entry(target, "1.0.0"))...), ErrTooLarge, "10000 entries"},
		"too large":          {append(wrap(entry(target, "1.0.0")), bytes.Repeat([]byte(" "), MaxManifestSize)...), ErrTooLarge, "index.json"},
		"no JSON":            {[]byte("kit"), ErrMalformed, "index.json"},
		"wrong size":         {wrap(strings.Replace(entry(target, "1.0.0"), `"size":`, `"size":1`, 1)), ErrDigest, string(target.Digest)},
		"size left out":      {wrap(strings.Replace(entry(target, "1.0.0"), `"size":`, `"was":`, 1)), ErrDigest, string(target.Digest)},
		"escaping digest":    {wrap(strings.Replace(entry(target, "1.0.0"), string(target.Digest), "sha256:../../index.json", 1)), ErrMalformed, "index.json"},
	} {
		t.Run(name, func(t *testing.T) {
			writeIndexJSON(t, l, c.data)
			err := readLayout(l.Dir, "1.0.0")
			if c.is == nil && err != nil {
				t.Error(err)
			}
			if c.is != nil {
				wantError(t, err, c.is, c.says)
			}
		})
	}
}

// damage is one way to spoil a blob.
var damage = map[string]struct {
	do func([]byte) []byte // nil: remove it
	is error
}{
	"altered": {func(b []byte) []byte { b[len(b)/2] ^= 1; return b }, ErrDigest},
	"short":   {func(b []byte) []byte { return b[:len(b)-1] }, ErrDigest},
	"emptied": {func([]byte) []byte { return nil }, ErrDigest},
	"long":    {func(b []byte) []byte { return append(b, 0) }, ErrDigest},
	"removed": {nil, ErrNotFound},
}

// Every blob is damaged in turn, in each way, and met on each route.
func TestDamagedBlobs(t *testing.T) {
	ctx := context.Background()
	l, target := sample(t)
	tarFile := filepath.Join(t.TempDir(), "layout.tar")
	blobs := 0
	for _, name := range files(t, l.Dir) {
		if !strings.HasPrefix(name, "blobs/") {
			continue
		}
		blobs++
		file := filepath.Join(l.Dir, name)
		good := must(os.ReadFile(file))(t)
		for how, d := range damage {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			if d.do != nil {
				if err := os.WriteFile(file, d.do(bytes.Clone(good)), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			writeTarOf(t, l.Dir, tarFile)
			routes := map[string]error{
				"directory": readLayout(l.Dir, "1.0.0"),
				"write tar": WriteTar(ctx, &bytes.Buffer{}, l.Dir, target, nil),
			}
			img, err := OpenLayoutTar(ctx, tarFile, "1.0.0")
			if err == nil {
				err = readEverything(ctx, img)
				img.Close()
			}
			routes["tar"] = err
			for route, err := range routes {
				if !errors.Is(err, d.is) || !strings.Contains(err.Error(), path.Base(name)) {
					t.Errorf("%s %s, %s: %v", name, how, route, err)
				}
			}
			if err := os.WriteFile(file, good, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if blobs != 9 { // an index and two images of manifest, config and two layers
		t.Errorf("%d blobs", blobs)
	}
	if err := readLayout(l.Dir, "1.0.0"); err != nil {
		t.Error(err)
	}
}

func TestBlobIsALinkOrNoFile(t *testing.T) {
	l, target := sample(t)
	file := filepath.Join(l.Dir, filepath.FromSlash(blobPath(target.Digest)))
	elsewhere := filepath.Join(t.TempDir(), "cache")
	if err := os.Rename(file, elsewhere); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, file); err != nil {
		t.Fatal(err)
	}
	if err := readLayout(l.Dir, "1.0.0"); err != nil {
		t.Errorf("a linked blob: %v", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(file, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := readLayout(l.Dir, "1.0.0"); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a directory as blob: %v", err)
	}
}
