package kitbuild

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

func TestContextKey(t *testing.T) {
	for name, want := range map[string]string{
		"alpine":                      "alpine",
		"alpine:latest":               "alpine",
		"docker.io/library/debian:13": "debian:13",
		"ghcr.io/a/b":                 "ghcr.io/a/b",
		"base::linux/arm64":           "base::linux/arm64",
		"docker.io/library/base::a/b": "base::a/b",
	} {
		if got, err := contextKey(name); err != nil || got != want {
			t.Errorf("%s: got %q (%v), want %q", name, got, err, want)
		}
	}
	if _, err := contextKey("No Such Name"); err == nil {
		t.Error("a name that no recipe can use is accepted")
	}
}

func TestSplitLayout(t *testing.T) {
	const digest = "sha256:0000000000000000000000000000000000000000000000000000000000000001"
	for at, want := range map[string][2]string{
		"dir":                {"dir", "latest"},
		"/a/dir:1.2":         {"/a/dir", "1.2"},
		"/a/dir@" + digest:   {"/a/dir", digest},
		"/a:b/dir":           {"/a:b/dir", "latest"},
		"./dir:tag":          {"./dir", "tag"},
		"/a:b/dir@" + digest: {"/a:b/dir", digest},
	} {
		if dir, selector := splitLayout(at); dir != want[0] || selector != want[1] {
			t.Errorf("%s: got %s and %s", at, dir, selector)
		}
	}
}

func TestLayoutBlobs(t *testing.T) {
	dir := t.TempDir()
	data := []byte("a blob")
	d := digest.FromBytes(data)
	blobs := filepath.Join(dir, "blobs", "sha256")
	if err := os.MkdirAll(blobs, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(blobs, d.Encoded()), data, 0o644); err != nil {
		t.Fatal(err)
	}
	store, ctx := layoutBlobs(dir), context.Background()
	if info, err := store.Info(ctx, d); err != nil || info.Size != int64(len(data)) {
		t.Errorf("info %+v (%v)", info, err)
	}
	r, err := store.ReaderAt(ctx, ocispec.Descriptor{Digest: d})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := io.ReadAll(io.NewSectionReader(r, 0, r.Size())); err != nil || !bytes.Equal(got, data) {
		t.Errorf("read %q (%v)", got, err)
	}
	if _, err := store.Info(ctx, digest.FromString("another")); !errors.Is(err, errdefs.ErrNotFound) {
		t.Errorf("an absent blob is %v", err)
	}
	if _, err := store.Info(ctx, "sha256:../../etc/passwd"); !errors.Is(err, errdefs.ErrInvalidArgument) {
		t.Errorf("a path as digest is %v", err)
	}
	if _, err := store.Writer(ctx); !errors.Is(err, errdefs.ErrPermissionDenied) {
		t.Errorf("writing is %v", err)
	}
}
