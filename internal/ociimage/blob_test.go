package ociimage

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

func TestVerifier(t *testing.T) {
	const good = "all of the blob"
	desc := ocispec.Descriptor{Digest: digest.FromString(good), Size: int64(len(good))}
	sha512 := ocispec.Descriptor{Digest: digest.SHA512.FromString(good), Size: int64(len(good))}
	nothing := ocispec.Descriptor{Digest: digest.FromString("")}
	broken := errors.New("the wire broke")
	for _, c := range []struct {
		name string
		desc ocispec.Descriptor
		r    io.Reader
		is   error
		says string
	}{
		{"right", desc, strings.NewReader(good), nil, ""},
		{"right with sha512", sha512, strings.NewReader(good), nil, ""},
		{"right byte by byte", desc, iotest.OneByteReader(strings.NewReader(good)), nil, ""},
		{"right with early end", desc, iotest.DataErrReader(strings.NewReader(good)), nil, ""},
		{"empty", nothing, strings.NewReader(""), nil, ""},
		{"empty promised", nothing, strings.NewReader("x"), ErrDigest, "goes on after 0 bytes"},
		{"altered", desc, strings.NewReader("all of the blub"), ErrDigest, "its digest is sha256:"},
		{"short", desc, strings.NewReader(good[:7]), ErrDigest, "ends after 7 of 15 bytes"},
		{"none", desc, strings.NewReader(""), ErrDigest, "ends after 0 of 15 bytes"},
		{"long", desc, strings.NewReader(good + "!"), ErrDigest, "goes on after 15 bytes"},
		{"broken", desc, io.MultiReader(strings.NewReader(good[:7]), iotest.ErrReader(broken)), broken, "read blob"},
		{"broken after the end", desc, io.MultiReader(strings.NewReader(good), iotest.ErrReader(broken)), nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			rc, err := openVerified(context.Background(), func(context.Context, ocispec.Descriptor) (io.ReadCloser, error) {
				return io.NopCloser(c.r), nil
			}, c.desc)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(rc)
			if c.is != nil {
				wantError(t, err, c.is, c.says, string(c.desc.Digest))
				if len(got) >= len(good) {
					t.Errorf("all of a wrong blob was handed out")
				}
				if _, again := rc.Read(make([]byte, 1)); !errors.Is(again, c.is) {
					t.Errorf("the next read gives %v", again)
				}
				return
			}
			if err != nil || int64(len(got)) != c.desc.Size {
				t.Fatalf("%q, %v", got, err)
			}
			if n, err := rc.Read(make([]byte, 1)); n != 0 || err != io.EOF {
				t.Errorf("after the end: %d, %v", n, err)
			}
		})
	}
}

func TestDescriptorsRefused(t *testing.T) {
	opened := false
	open := func(context.Context, ocispec.Descriptor) (io.ReadCloser, error) {
		opened = true
		return io.NopCloser(bytes.NewReader(nil)), nil
	}
	ok := digest.FromString("")
	for name, c := range map[string]struct {
		desc ocispec.Descriptor
		is   error
	}{
		"path as digest":  {ocispec.Descriptor{Digest: "sha256:../../../../etc/passwd"}, ErrMalformed},
		"no digest":       {ocispec.Descriptor{}, ErrMalformed},
		"other algorithm": {ocispec.Descriptor{Digest: "md5:d41d8cd98f00b204e9800998ecf8427e"}, ErrMalformed},
		"negative size":   {ocispec.Descriptor{Digest: ok, Size: -1}, ErrMalformed},
		"too large":       {ocispec.Descriptor{Digest: ok, Size: MaxManifestSize + 1}, ErrTooLarge},
	} {
		_, err := readVerified(context.Background(), open, c.desc)
		if !errors.Is(err, c.is) || opened {
			t.Errorf("%s: %v, opened %v", name, err, opened)
		}
	}
}

func TestLargestManifest(t *testing.T) {
	data := bytes.Repeat([]byte(" "), MaxManifestSize)
	desc := ocispec.Descriptor{Digest: digest.FromBytes(data), Size: MaxManifestSize}
	got, err := readVerified(context.Background(), func(context.Context, ocispec.Descriptor) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(data)), nil
	}, desc)
	if err != nil || len(got) != MaxManifestSize {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	l, _ := sample(t)
	_, err := OpenLayout(ctx, l.Dir, "1.0.0")
	wantError(t, err, context.Canceled)
}
