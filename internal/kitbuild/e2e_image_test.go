package kitbuild_test

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/containerd/platforms"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/sbxkit/sbxkit/internal/ociimage"
	"github.com/sbxkit/sbxkit/tck"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// built is an image as its layout holds it, read without the code under test.
type built struct {
	index     map[string]string // annotations of the index
	hasIndex  bool
	platforms []builtPlatform
}

type builtPlatform struct {
	name        string
	annotations map[string]string
	config      ocispec.Image
	layers      []builtLayer
}

// builtLayer maps the paths of a layer, folders left out, to their contents.
type builtLayer struct {
	files   map[string]string
	headers map[string]*tar.Header // folders too
	digest  string
}

// text is what the stacked layers show for a file.
func (p builtPlatform) text(name string) (string, bool) {
	for _, l := range slices.Backward(p.layers) {
		if data, ok := l.files[name]; ok {
			return data, true
		}
		if _, gone := l.files[path.Join(path.Dir(name), ".wh."+path.Base(name))]; gone {
			return "", false
		}
	}
	return "", false
}

// openBuilt reads the image and lets the conformance checks judge it.
func openBuilt(t *testing.T, dir string, target ocispec.Descriptor) (*built, *tck.Verdict) {
	t.Helper()
	ctx := t.Context()
	image, err := ociimage.OpenLayout(ctx, dir, target.Digest.String())
	if err != nil {
		t.Fatal(err)
	}
	defer image.Close()
	out := &built{}
	out.index, out.hasIndex = image.Index()
	artifacts, err := image.Artifacts(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range artifacts {
		p := builtPlatform{name: a.Platform, annotations: a.Manifest.Annotations}
		_, data, err := a.Config(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &p.config); err != nil {
			t.Fatal(err)
		}
		if p.name == "" { // no index entry names it
			p.name = platforms.FormatAll(p.config.Platform)
		}
		for _, l := range a.Layers() {
			p.layers = append(p.layers, readLayer(t, l))
		}
		out.platforms = append(out.platforms, p)
	}
	verdict, err := tck.Validate(ctx, image)
	if err != nil {
		t.Fatal(err)
	}
	return out, verdict
}

func readLayer(t *testing.T, l *ociimage.Layer) builtLayer {
	t.Helper()
	blob, err := l.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer blob.Close()
	plain, err := gzip.NewReader(blob)
	if err != nil {
		t.Fatal(err)
	}
	out := builtLayer{files: map[string]string{}, headers: map[string]*tar.Header{}, digest: l.Digest()}
	for r := tar.NewReader(plain); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		name := strings.Trim(path.Clean("/"+h.Name), "/")
		out.headers[name] = h
		if h.Typeflag == tar.TypeDir {
			continue
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out.files[name] = string(data)
	}
}
