package ociimage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/errdefs"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// vectors reads a table of testdata: lines of so many fields between bars, comments with #.
func vectors(t *testing.T, file string, fields int) [][]string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	var all [][]string
	for n, line := range strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(line, "|")
		if len(cells) != fields {
			t.Fatalf("%s line %d: %d fields, want %d", file, n+1, len(cells), fields)
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		all = append(all, cells)
	}
	if len(all) == 0 {
		t.Fatalf("%s: no cases", file)
	}
	return all
}

// newLayout makes a layout that lists nothing in a fresh directory.
func newLayout(t testing.TB) *Layout {
	t.Helper()
	l := createLayout(t, filepath.Join(t.TempDir(), "layout"))
	if err := errors.Join(l.writeVersion(), l.writeIndex(&layoutIndex{}), l.mkdirAll(l.path("blobs", "sha256"))); err != nil {
		t.Fatal(err)
	}
	return l
}

func createLayout(t testing.TB, dir string) *Layout {
	t.Helper()
	l, err := CreateLayout(dir)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// put writes one blob through the store, as BuildKit does.
func put(t testing.TB, l *Layout, mediaType string, data []byte) ocispec.Descriptor {
	t.Helper()
	desc := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}
	if err := putDesc(l, desc, data); err != nil {
		t.Fatal(err)
	}
	return desc
}

func putDesc(l *Layout, desc ocispec.Descriptor, data []byte) error {
	store, err := l.Store()
	if err != nil {
		return err
	}
	err = content.WriteBlob(context.Background(), store, string(desc.Digest), bytes.NewReader(data), desc)
	if errors.Is(err, errdefs.ErrAlreadyExists) {
		return nil
	}
	return err
}

func putJSON(t testing.TB, l *Layout, mediaType string, doc any) ocispec.Descriptor {
	t.Helper()
	data, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return put(t, l, mediaType, data)
}

// putIndex and putImage write what the registry library makes.
func putIndex(t testing.TB, l *Layout, idx v1.ImageIndex) ocispec.Descriptor {
	t.Helper()
	m := must(idx.IndexManifest())(t)
	for _, e := range m.Manifests {
		if e.MediaType.IsIndex() {
			putIndex(t, l, must(idx.ImageIndex(e.Digest))(t))
		} else {
			putImage(t, l, must(idx.Image(e.Digest))(t))
		}
	}
	return put(t, l, string(must(idx.MediaType())(t)), must(idx.RawManifest())(t))
}

func putImage(t testing.TB, l *Layout, img v1.Image) ocispec.Descriptor {
	t.Helper()
	for _, layer := range must(img.Layers())(t) {
		rc := must(layer.Compressed())(t)
		put(t, l, string(must(layer.MediaType())(t)), must(io.ReadAll(rc))(t))
		rc.Close()
	}
	put(t, l, ocispec.MediaTypeImageConfig, must(img.RawConfigFile())(t))
	return put(t, l, string(must(img.MediaType())(t)), must(img.RawManifest())(t))
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// image is an OCI image with two random layers for a platform, os/arch or os/arch/variant.
func image(t testing.TB, platform string) v1.Image {
	t.Helper()
	img := must(random.Image(700, 2))(t)
	cfg := must(img.ConfigFile())(t).DeepCopy()
	p := must(v1.ParsePlatform(platform))(t)
	cfg.OS, cfg.Architecture, cfg.Variant = p.OS, p.Architecture, p.Variant
	img = must(mutate.ConfigFile(img, cfg))(t)
	return mutate.ConfigMediaType(mutate.MediaType(img, types.OCIManifestSchema1), types.OCIConfigJSON)
}

// platformIndex is an index with an image for each platform.
func platformIndex(t testing.TB, platforms ...string) v1.ImageIndex {
	t.Helper()
	idx := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range platforms {
		idx = mutate.AppendManifests(idx, mutate.IndexAddendum{
			Add:        image(t, p),
			Descriptor: v1.Descriptor{Platform: must(v1.ParsePlatform(p))(t)},
		})
	}
	return idx
}

func nest(idx v1.ImageIndex, inner ...v1.ImageIndex) v1.ImageIndex {
	for _, i := range inner {
		idx = mutate.AppendManifests(idx, mutate.IndexAddendum{Add: i})
	}
	return idx
}

// sample is a layout with a two-platform index under the tag 1.0.0.
func sample(t testing.TB) (*Layout, ocispec.Descriptor) {
	t.Helper()
	l := newLayout(t)
	target := putIndex(t, l, platformIndex(t, "linux/amd64", "linux/arm64"))
	if err := l.Tag(context.Background(), target, []string{"me/kit:1.0.0"}); err != nil {
		t.Fatal(err)
	}
	return l, target
}

// readEverything reads all that an image consists of, the way the checks do.
func readEverything(ctx context.Context, img *Image) error {
	all, err := img.Artifacts(ctx)
	if err != nil {
		return err
	}
	for _, a := range all {
		if _, _, err := a.Config(ctx); err != nil {
			return err
		}
		for _, l := range a.Layers() {
			rc, err := l.Open(ctx)
			if err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, rc)
			rc.Close()
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func readLayout(dir, selector string) error {
	ctx := context.Background()
	img, err := OpenLayout(ctx, dir, selector)
	if err != nil {
		return err
	}
	defer img.Close()
	return readEverything(ctx, img)
}

// wantError demands an error of a kind that says certain things.
func wantError(t testing.TB, err, kind error, says ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("error %v, want one that is %q", err, kind)
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("error %q does not say %q", err, s)
		}
	}
}

// files lists all files below dir, by slash-separated path.
func files(t testing.TB, dir string) []string {
	t.Helper()
	var all []string
	if err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			all = append(all, filepath.ToSlash(rel))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

// onlyContent demands that nothing but the content of a layout is left in dir.
func onlyContent(t testing.TB, dir string) {
	t.Helper()
	for _, e := range must(os.ReadDir(dir))(t) {
		if n := e.Name(); n != "blobs" && n != "index.json" && n != "oci-layout" {
			t.Errorf("%s was left in the layout", n)
		}
	}
}

func manifestOf(config ocispec.Descriptor, layers ...ocispec.Descriptor) ocispec.Manifest {
	return ocispec.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		Config: config, Layers: layers}
}

func indexOf(entries ...ocispec.Descriptor) ocispec.Index {
	return ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, Manifests: entries}
}

func onPlatform(desc ocispec.Descriptor, os, arch string) ocispec.Descriptor {
	desc.Platform = &ocispec.Platform{OS: os, Architecture: arch}
	return desc
}

func parsePlatform(t testing.TB, s string) *ocispec.Platform {
	t.Helper()
	if s == "-" {
		return nil
	}
	parts := append(strings.Split(s, "/"), "")
	if len(parts) < 3 {
		t.Fatal(fmt.Errorf("platform %q", s))
	}
	return &ocispec.Platform{OS: parts[0], Architecture: parts[1], Variant: parts[2]}
}
