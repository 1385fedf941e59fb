package kitbuild_test

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// writeBase makes an OCI layout with one image for two platforms, which holds a static program and little
// else. It stands in for what a registry would give. Beside it, under the tags ARCH and ARCH-unstated, stands
// each of the two alone.
func writeBase(t testing.TB, dir string) {
	t.Helper()
	tool := filepath.Join(t.TempDir(), "tool")
	build := exec.Command("go", "build", "-o", tool, "./testdata/tool")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the tool of the base image: %v\n%s", err, out)
	}
	program, err := os.ReadFile(tool)
	if err != nil {
		t.Fatal(err)
	}
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	var both v1.ImageIndex = empty.Index
	for _, arch := range []string{"amd64", "arm64"} {
		image, err := mutate.AppendLayers(empty.Image,
			layerOf(t, map[string]string{"tool": string(program), "etc/motd": "welcome to " + arch}),
			layerOf(t, map[string]string{"etc/base": "base"}))
		if err != nil {
			t.Fatal(err)
		}
		image, err = mutate.ConfigFile(image, withConfig(t, image, arch))
		if err != nil {
			t.Fatal(err)
		}
		both = mutate.AppendManifests(both, mutate.IndexAddendum{
			Add:        image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
		// The same image alone: as a bare manifest, and in an index whose entry states no platform.
		named := func(tag string) layout.Option {
			return layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": tag})
		}
		if err := path.AppendImage(image, named(arch)); err != nil {
			t.Fatal(err)
		}
		if err := path.AppendIndex(mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: image}), named(arch+"-unstated")); err != nil {
			t.Fatal(err)
		}
	}
	if err := path.AppendIndex(both, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": "1"})); err != nil {
		t.Fatal(err)
	}
}

func withConfig(t testing.TB, image v1.Image, arch string) *v1.ConfigFile {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", arch
	config.Config = v1.Config{Env: []string{"PATH=/usr/bin:/bin", "OF_BASE=1"}, Cmd: []string{"/tool"}, WorkingDir: "/", Labels: map[string]string{"of": "base"}}
	return config
}

func layerOf(t testing.TB, files map[string]string) v1.Layer {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, name := range sortedKeys(files) {
		data := files[name]
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(data)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(buf.Bytes())), nil })
	if err != nil {
		t.Fatal(fmt.Errorf("make layer: %w", err))
	}
	return layer
}
