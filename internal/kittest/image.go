package kittest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"gopkg.in/yaml.v3"
)

// Image is a finished artifact: its blobs, and which of them it starts at.
type Image struct {
	Target ocispec.Descriptor
	blobs  []blob // children before those that list them
}

type blob struct {
	descriptor ocispec.Descriptor
	data       []byte
}

func (i *Image) put(mediaType string, data []byte) ocispec.Descriptor {
	d := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}
	i.blobs = append(i.blobs, blob{d, data})
	return d
}

func (i *Image) putJSON(mediaType string, value any) (ocispec.Descriptor, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	return i.put(mediaType, data), nil
}

// image makes the artifact.
func (k *kit) image() (*Image, error) {
	annotations, err := k.derived()
	if err != nil {
		return nil, err
	}
	image := &Image{}
	layers, err := k.putLayers(image)
	if err != nil {
		return nil, err
	}
	platforms := []string{"linux/amd64", "linux/arm64"}
	if k.bare {
		platforms = platforms[:1]
	}
	var children []ocispec.Descriptor
	for _, platform := range platforms {
		child, err := k.putManifest(image, platform, layers, annotations)
		if err != nil {
			return nil, err
		}
		if !k.onlyOthers {
			children = append(children, child)
		}
	}
	for _, platform := range k.children {
		child, err := k.putManifest(image, platform, layers, nil)
		if err != nil {
			return nil, err
		}
		children = append(children, child)
	}
	image.Target = children[0]
	if k.bare {
		image.Target.Platform = nil
	} else {
		own := copyOf(annotations)
		k.annotate("index", own)
		if image.Target, err = putIndex(image, children, own); err != nil {
			return nil, err
		}
	}
	for range k.wraps {
		if image.Target, err = putIndex(image, []ocispec.Descriptor{image.Target}, nil); err != nil {
			return nil, err
		}
	}
	return image, nil
}

// stagedText is the document as its builder stages it.
func (k *kit) stagedText() ([]byte, error) {
	if k.staged != nil {
		return yaml.Marshal(map[string]any(k.staged))
	}
	return yaml.Marshal(map[string]any(k.doc))
}

func (k *kit) putLayers(image *Image) ([]ocispec.Descriptor, error) {
	text, err := k.stagedText()
	if err != nil {
		return nil, err
	}
	layers := []ocispec.Descriptor{}
	for _, l := range k.layers {
		data, err := l.bytes(text)
		if err != nil {
			return nil, err
		}
		mediaType := ocispec.MediaTypeImageLayerGzip
		switch l.storage() {
		case "zstd":
			mediaType = ocispec.MediaTypeImageLayerZstd
		case "plain":
			mediaType = ocispec.MediaTypeImageLayer
		}
		layers = append(layers, image.put(mediaType, data))
	}
	return layers, nil
}

// putManifest adds the config and the manifest of one platform; annotations is nil for a stranger.
func (k *kit) putManifest(image *Image, platform string, layers []ocispec.Descriptor, annotations map[string]string) (ocispec.Descriptor, error) {
	system, architecture, _ := strings.Cut(platform, "/")
	config, err := json.Marshal(map[string]any{
		"os": system, "architecture": architecture, "config": k.config,
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{}},
	})
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	if k.rawConfig != nil {
		config = k.rawConfig
	}
	configDescriptor := image.put(ocispec.MediaTypeImageConfig, config)
	if k.tampered {
		last := &image.blobs[len(image.blobs)-1]
		last.data = bytes.Replace(last.data, []byte(`"layers"`), []byte(`"LAYERS"`), 1)
	}
	manifest := map[string]any{
		"schemaVersion": 2, "mediaType": ocispec.MediaTypeImageManifest,
		"config": configDescriptor, "layers": layers,
	}
	if annotations != nil {
		own := copyOf(annotations)
		k.annotate(platform, own)
		manifest["annotations"] = own
	}
	for field, value := range k.manifest {
		manifest[field] = value
	}
	d, err := image.putJSON(ocispec.MediaTypeImageManifest, manifest)
	d.Platform = &ocispec.Platform{OS: system, Architecture: architecture}
	return d, err
}

func (k *kit) annotate(where string, a map[string]string) {
	for _, change := range k.annotations {
		change(where, a)
	}
}

func putIndex(image *Image, children []ocispec.Descriptor, annotations map[string]string) (ocispec.Descriptor, error) {
	return image.putJSON(ocispec.MediaTypeImageIndex, ocispec.Index{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex,
		Manifests: children, Annotations: annotations,
	})
}

func copyOf(a map[string]string) map[string]string {
	b := make(map[string]string, len(a))
	for key, value := range a {
		b[key] = value
	}
	return b
}

// WriteLayout writes the image as an OCI layout in which tag names it.
func (i *Image) WriteLayout(dir, tag string) error {
	blobs := filepath.Join(dir, "blobs", "sha256")
	if err := os.MkdirAll(blobs, 0o755); err != nil {
		return err
	}
	for _, b := range i.blobs {
		if err := os.WriteFile(filepath.Join(blobs, b.descriptor.Digest.Encoded()), b.data, 0o644); err != nil {
			return err
		}
	}
	target := i.Target
	target.Annotations = map[string]string{ocispec.AnnotationRefName: tag}
	index, err := json.Marshal(ocispec.Index{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex,
		Manifests: []ocispec.Descriptor{target},
	})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, ocispec.ImageIndexFile), index, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, ocispec.ImageLayoutFile), []byte(`{"imageLayoutVersion":"1.0.0"}`), 0o644)
}

// Push uploads the image to repository on a registry that speaks plain HTTP, as tag.
func (i *Image) Push(host, repository, tag string) error {
	base := "http://" + host + "/v2/" + repository
	for _, b := range i.blobs {
		d := b.descriptor
		if slices.Contains([]string{ocispec.MediaTypeImageManifest, ocispec.MediaTypeImageIndex}, d.MediaType) {
			names := []string{d.Digest.String()}
			if d.Digest == i.Target.Digest {
				names = append(names, tag)
			}
			for _, name := range names {
				if err := send(http.MethodPut, base+"/manifests/"+name, d.MediaType, b.data); err != nil {
					return err
				}
			}
			continue
		}
		if err := send(http.MethodPost, base+"/blobs/uploads/?digest="+d.Digest.String(), "application/octet-stream", b.data); err != nil {
			return err
		}
	}
	return nil
}

// send makes one request that must succeed.
func send(method, url, mediaType string, body []byte) error {
	request, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", mediaType)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // nothing but diagnostics is read from it
	if response.StatusCode >= 300 {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		return fmt.Errorf("%s %s: %s: %s", method, url, response.Status, text)
	}
	return nil
}
