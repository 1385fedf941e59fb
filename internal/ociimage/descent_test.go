package ociimage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// goodManifest writes the blobs of a small image and gives its manifest, not yet written.
func goodManifest(t testing.TB, l *Layout) ocispec.Manifest {
	t.Helper()
	config := put(t, l, ocispec.MediaTypeImageConfig, []byte(`{"os":"linux","architecture":"amd64"}`))
	layer := put(t, l, ocispec.MediaTypeImageLayerGzip, []byte("not looked into"))
	return manifestOf(config, layer)
}

// openTarget tags a target and opens it.
func openTarget(t testing.TB, l *Layout, target ocispec.Descriptor) (*Image, error) {
	t.Helper()
	entry := layoutIndex{Manifests: layoutEntries{must(newEntry(target))(t)}}
	if err := l.writeIndex(&entry); err != nil {
		t.Fatal(err)
	}
	return OpenLayout(context.Background(), l.Dir, string(target.Digest))
}

func TestShapes(t *testing.T) {
	for _, v := range vectors(t, "shapes.txt", 2) {
		for _, way := range []string{"bare", "in an index"} {
			l := newLayout(t)
			var doc map[string]any
			if err := json.Unmarshal(must(json.Marshal(goodManifest(t, l)))(t), &doc); err != nil {
				t.Fatal(err)
			}
			listed := ocispec.MediaTypeImageManifest
			field, value, _ := strings.Cut(v[0], "=")
			in := doc
			if outer, inner, ok := strings.Cut(field, "."); ok {
				in, field = doc[outer].(map[string]any), inner
			}
			if field == "listed" {
				listed = value
			} else {
				in[field] = json.RawMessage(value)
			}
			target := putJSON(t, l, listed, doc)
			if way == "in an index" {
				target = putJSON(t, l, ocispec.MediaTypeImageIndex, indexOf(onPlatform(target, "linux", "amd64")))
			}
			img, err := openTarget(t, l, target)
			if err == nil {
				_, err = img.Artifacts(context.Background())
			}
			switch {
			case v[1] == "fine" && err != nil:
				t.Errorf("%s, %s: %v", v[0], way, err)
			case v[1] != "fine" && (!errors.Is(err, ErrNotImage) || !strings.Contains(err.Error(), v[1])):
				t.Errorf("%s, %s: %v, want %q", v[0], way, err, v[1])
			}
		}
	}
}

func TestMalformedDocuments(t *testing.T) {
	mediaTypes := map[string]string{"index": ocispec.MediaTypeImageIndex, "manifest": ocispec.MediaTypeImageManifest}
	for _, v := range vectors(t, "malformed.txt", 2) {
		l := newLayout(t)
		target := put(t, l, mediaTypes[v[0]], []byte(v[1]))
		if _, err := openTarget(t, l, target); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s %s: %v", v[0], v[1], err)
		}
		// Also where it is met below an index.
		img, err := openTarget(t, l, putJSON(t, l, ocispec.MediaTypeImageIndex, indexOf(target)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := img.Artifacts(context.Background()); !errors.Is(err, ErrMalformed) {
			t.Errorf("nested %s %s: %v", v[0], v[1], err)
		}
	}
}

func TestIndexSchemaVersion(t *testing.T) {
	l := newLayout(t)
	idx := indexOf()
	idx.SchemaVersion = 1
	_, err := openTarget(t, l, putJSON(t, l, ocispec.MediaTypeImageIndex, idx))
	wantError(t, err, ErrNotImage, "the index has schemaVersion 1")

	inner := putJSON(t, l, ocispec.MediaTypeImageIndex, idx)
	img, err := openTarget(t, l, putJSON(t, l, ocispec.MediaTypeImageIndex, indexOf(inner)))
	if err != nil {
		t.Fatal(err)
	}
	_, err = img.Artifacts(context.Background())
	wantError(t, err, ErrNotImage, "the index has schemaVersion 1", string(inner.Digest))
}

func labels(all []*Artifact) []string {
	var out []string
	for _, a := range all {
		out = append(out, a.Platform)
	}
	return out
}

func TestArtifactsInListedOrder(t *testing.T) {
	ctx := context.Background()
	l := newLayout(t)
	m := putJSON(t, l, ocispec.MediaTypeImageManifest, goodManifest(t, l))
	inner := putJSON(t, l, ocispec.MediaTypeImageIndex, indexOf(onPlatform(m, "linux", "s390x"), onPlatform(m, "unknown", "unknown")))
	variant := onPlatform(m, "linux", "arm")
	variant.Platform.Variant = "v7"
	hidden := onPlatform(ocispec.Descriptor{MediaType: ocispec.MediaTypeImageIndex, Digest: "sha256:nonsense"}, "unknown", "unknown")
	outer := indexOf(variant, hidden, inner, onPlatform(m, "windows", "amd64"), m, onPlatform(m, "li\x1b[31m", "x"))
	outer.Annotations = map[string]string{"a": "outer"}
	img, err := openTarget(t, l, putJSON(t, l, ocispec.MediaTypeImageIndex, outer))
	if err != nil {
		t.Fatal(err)
	}
	all, err := img.Artifacts(ctx)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"linux/arm/v7", "linux/s390x", "windows/amd64", "", "li?[31m/x"}
	if got := labels(all); !slices.Equal(got, want) {
		t.Errorf("platforms %q, want %q", got, want)
	}
	if ann, ok := img.Index(); !ok || ann["a"] != "outer" {
		t.Errorf("index annotations %v, %v", ann, ok)
	}
	if cfg, raw, err := all[0].Config(ctx); err != nil || cfg.Architecture != "amd64" || !bytes.Contains(raw, []byte("amd64")) {
		t.Errorf("config %v %s %v", cfg, raw, err)
	}
	if len(all[0].Layers()) != 1 || all[0].Layers()[0].Digest() != all[0].Manifest.Layers[0].Digest.String() {
		t.Errorf("layers %v", all[0].Layers())
	}
}

// A bare outer index is not lent the annotations of an inner one.
func TestIndexAnnotationsAreTheOutermost(t *testing.T) {
	inner := mutate.Annotations(platformIndex(t, "linux/amd64"), map[string]string{"a": "inner"}).(v1.ImageIndex)
	l := newLayout(t)
	img, err := openTarget(t, l, putIndex(t, l, nest(platformIndex(t), inner)))
	if err != nil {
		t.Fatal(err)
	}
	if ann, ok := img.Index(); !ok || len(ann) != 0 {
		t.Errorf("annotations %v, %v", ann, ok)
	}
}

func TestBareManifest(t *testing.T) {
	ctx := context.Background()
	l := newLayout(t)
	img, err := openTarget(t, l, putJSON(t, l, ocispec.MediaTypeImageManifest, goodManifest(t, l)))
	if err != nil {
		t.Fatal(err)
	}
	if ann, ok := img.Index(); ok || ann != nil {
		t.Errorf("a bare manifest has index annotations %v", ann)
	}
	all, err := img.Artifacts(ctx)
	if err != nil || len(all) != 1 || all[0].Platform != "" {
		t.Fatalf("%v, %v", all, err)
	}
	if _, err := img.Artifact(ctx, parsePlatform(t, "linux/arm64")); err != nil {
		t.Error(err)
	}
}

func TestNoRunnableManifest(t *testing.T) {
	ctx := context.Background()
	l := newLayout(t)
	m := putJSON(t, l, ocispec.MediaTypeImageManifest, goodManifest(t, l))
	img, err := openTarget(t, l, putJSON(t, l, ocispec.MediaTypeImageIndex, indexOf(onPlatform(m, "unknown", "unknown"))))
	if err != nil {
		t.Fatal(err)
	}
	_, err = img.Artifacts(ctx)
	wantError(t, err, ErrNotImage, "no runnable manifest")
	_, err = img.Artifact(ctx, nil)
	wantError(t, err, ErrNotImage, "no runnable manifest")
}

func TestDepth(t *testing.T) {
	for indexes, fine := range map[int]bool{1: true, MaxIndexDepth + 1: true, MaxIndexDepth + 2: false} {
		idx := platformIndex(t, "linux/amd64")
		for range indexes - 1 {
			idx = nest(platformIndex(t), idx)
		}
		l := newLayout(t)
		target := putIndex(t, l, idx)
		img, err := openTarget(t, l, target)
		if err != nil {
			t.Fatal(err)
		}
		_, all := img.Artifacts(context.Background())
		_, one := img.Artifact(context.Background(), nil)
		_, reach := reachable(context.Background(), l.reader(), target)
		for _, err := range []error{all, one, reach} {
			if fine && err != nil {
				t.Errorf("%d indexes: %v", indexes, err)
			}
			if !fine {
				wantError(t, err, ErrTooLarge, "more than 5 indexes inside each other")
			}
		}
	}
}

// An index that lists another many times, which lists a third many times, is small and would take ages.
func TestEntriesOfAllIndexesAreBounded(t *testing.T) {
	l := newLayout(t)
	m := onPlatform(putJSON(t, l, ocispec.MediaTypeImageManifest, goodManifest(t, l)), "linux", "amd64")
	many := func(e ocispec.Descriptor, n int) ocispec.Descriptor {
		return putJSON(t, l, ocispec.MediaTypeImageIndex, indexOf(slices.Repeat([]ocispec.Descriptor{e}, n)...))
	}
	for name, c := range map[string]struct {
		target ocispec.Descriptor
		fine   bool
	}{
		"most":     {many(m, MaxIndexEntries), true},
		"too many": {many(m, MaxIndexEntries+1), false},
		"bomb":     {many(many(many(m, 32), 32), 32), false},
	} {
		img, err := openTarget(t, l, c.target)
		if err == nil {
			_, err = img.Artifacts(context.Background())
		}
		if c.fine && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !c.fine {
			wantError(t, err, ErrTooLarge)
		}
	}
	manifest := goodManifest(t, l)
	manifest.Layers = slices.Repeat(manifest.Layers, MaxIndexEntries+1)
	_, err := openTarget(t, l, putJSON(t, l, ocispec.MediaTypeImageManifest, manifest))
	wantError(t, err, ErrTooLarge, "more than 1024 entries")
}

// memory is a source over bytes at hand.
type memory map[digest.Digest][]byte

func (m memory) openManifest(_ context.Context, desc ocispec.Descriptor) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(m[desc.Digest])), nil
}

func (m memory) openBlob(ctx context.Context, desc ocispec.Descriptor) (io.ReadCloser, error) {
	return m.openManifest(ctx, desc)
}

func (m memory) close() error { return nil }

func TestBytesOfAllManifestsAreBounded(t *testing.T) {
	src := memory{}
	pad := strings.Repeat(" ", MaxManifestSize-200)
	var idx index
	size := 0
	for n := 0; size <= MaxDescentSize; n++ {
		raw := fmt.Appendf(nil, `{"schemaVersion":2,"config":{"mediaType":%q},"n":%d}%s`, ocispec.MediaTypeImageConfig, n, pad)
		desc := descOf(raw)
		desc.MediaType = ocispec.MediaTypeImageManifest
		src[desc.Digest] = raw
		size += len(raw)
		idx.Manifests = append(idx.Manifests, desc)
	}
	img := &Image{src: src, index: &idx}
	_, err := img.Artifacts(context.Background())
	wantError(t, err, ErrTooLarge, "together")
	idx.Manifests = idx.Manifests[1:]
	if _, err := img.Artifacts(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestPlatforms(t *testing.T) {
	for _, v := range vectors(t, "platforms.txt", 3) {
		if got := samePlatform(parsePlatform(t, v[0]), *parsePlatform(t, v[1])); got != (v[2] == "yes") {
			t.Errorf("entry %s, wanted %s: %v, want %s", v[0], v[1], got, v[2])
		}
	}
}

func TestArtifactByPlatform(t *testing.T) {
	ctx := context.Background()
	l := newLayout(t)
	host := "linux/" + runtime.GOARCH
	// The first branch has nothing to offer, the second one has both; the outermost level comes first.
	dead, rich := platformIndex(t, "linux/s390x"), platformIndex(t, "linux/riscv64", "linux/arm/v7")
	img, err := openTarget(t, l, putIndex(t, l, nest(platformIndex(t, "windows/amd64"), dead, nest(platformIndex(t), rich), platformIndex(t, host))))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"linux/arm/v7", "linux/s390x", "windows/amd64", host} {
		if a, err := img.Artifact(ctx, parsePlatform(t, p)); err != nil || a.Platform != p {
			t.Errorf("%s: %v, %v", p, a, err)
		}
	}
	if a, err := img.Artifact(ctx, nil); err != nil || a.Platform != host {
		t.Errorf("without a wish: %v, %v, want %s", a, err, host)
	}
	_, err = img.Artifact(ctx, parsePlatform(t, "linux/mips"))
	wantError(t, err, ErrNotFound, "linux/mips", `"linux/s390x"`, `"windows/amd64"`)

	other, err := openTarget(t, l, putIndex(t, l, nest(platformIndex(t), platformIndex(t, "plan9/mips", "linux/s390x"))))
	if err != nil {
		t.Fatal(err)
	}
	if a, err := other.Artifact(ctx, nil); err != nil || a.Platform != "plan9/mips" {
		t.Errorf("without a wish and without a match: %v, %v, want the first", a, err)
	}
}

func TestConfigErrors(t *testing.T) {
	ctx := context.Background()
	read := func(change func(l *Layout, m *ocispec.Manifest)) error {
		l := newLayout(t)
		m := goodManifest(t, l)
		change(l, &m)
		img, err := openTarget(t, l, putJSON(t, l, ocispec.MediaTypeImageManifest, m))
		if err != nil {
			t.Fatal(err)
		}
		a, err := img.Artifact(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = a.Config(ctx)
		return err
	}
	wantError(t, read(func(l *Layout, m *ocispec.Manifest) {
		m.Config = put(t, l, ocispec.MediaTypeImageConfig, []byte(`{"config":`))
	}), ErrMalformed)
	wantError(t, read(func(_ *Layout, m *ocispec.Manifest) { m.Config.Size = MaxManifestSize + 1 }), ErrTooLarge)
	wantError(t, read(func(_ *Layout, m *ocispec.Manifest) { m.Config.Digest = "sha256:00" }), ErrMalformed)
	wantError(t, read(func(_ *Layout, m *ocispec.Manifest) { m.Config.Size++ }), ErrDigest)
}
