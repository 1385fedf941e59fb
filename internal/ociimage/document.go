package ociimage

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Media types of Docker's older formats, which differ from those of OCI in name alone.
const (
	dockerIndex    = "application/vnd.docker.distribution.manifest.list.v2+json"
	dockerManifest = "application/vnd.docker.distribution.manifest.v2+json"
	dockerConfig   = "application/vnd.docker.container.image.v1+json"
)

func isIndex(mediaType string) bool {
	return mediaType == ocispec.MediaTypeImageIndex || mediaType == dockerIndex
}

func isManifest(mediaType string) bool {
	return mediaType == ocispec.MediaTypeImageManifest || mediaType == dockerManifest
}

// descriptors is a list that stops decoding once it is too long: 8 MiB of "{}," would otherwise become
// hundreds of megabytes of structs.
type descriptors []ocispec.Descriptor

func (d *descriptors) UnmarshalJSON(data []byte) error {
	*d = nil
	return decodeList(data, MaxIndexEntries, func(dec *json.Decoder) error {
		var one ocispec.Descriptor
		if err := dec.Decode(&one); err != nil {
			return err
		}
		*d = append(*d, one)
		return nil
	})
}

// decodeList walks a JSON array, or null, of at most most elements.
func decodeList(data []byte, most int, element func(*json.Decoder) error) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	start, err := dec.Token()
	if err != nil || start == nil {
		return err
	}
	if start != json.Delim('[') {
		return fmt.Errorf("%w: a list was expected", ErrMalformed)
	}
	for n := 0; dec.More(); n++ {
		if n == most {
			return fmt.Errorf("%w: more than %d entries in one list", ErrTooLarge, most)
		}
		if err := element(dec); err != nil {
			return err
		}
	}
	return nil
}

// index and manifest know each other's fields so that a document which is both is refused: programs that
// dispatch on different fields would see different content under one digest.
type index struct {
	SchemaVersion int               `json:"schemaVersion"`
	Manifests     descriptors       `json:"manifests"`
	Annotations   map[string]string `json:"annotations"`
	Config        json.RawMessage   `json:"config"`
	Layers        json.RawMessage   `json:"layers"`
}

type manifest struct {
	SchemaVersion int                 `json:"schemaVersion"`
	MediaType     string              `json:"mediaType"`
	ArtifactType  string              `json:"artifactType"`
	Config        ocispec.Descriptor  `json:"config"`
	Layers        descriptors         `json:"layers"`
	Subject       *ocispec.Descriptor `json:"subject"`
	Annotations   map[string]string   `json:"annotations"`
	Manifests     json.RawMessage     `json:"manifests"`
}

// decodeIndex decodes an index and refuses one that is not of the second schema.
func decodeIndex(desc ocispec.Descriptor, raw []byte) (*index, error) {
	var idx index
	if err := decode(raw, &idx); err != nil {
		return nil, fmt.Errorf("decode index %s: %w", desc.Digest, err)
	}
	if present(idx.Config) || present(idx.Layers) {
		return nil, fmt.Errorf("decode index %s: %w: it has the fields of a manifest as well", desc.Digest, ErrMalformed)
	}
	if idx.SchemaVersion != 2 {
		return nil, notImage(desc.Digest, "the index has schemaVersion %d, 2 is needed", idx.SchemaVersion)
	}
	return &idx, nil
}

// decodeManifest decodes a manifest; shape judges whether it is an image.
func decodeManifest(desc ocispec.Descriptor, raw []byte) (*manifest, error) {
	var m manifest
	if err := decode(raw, &m); err != nil {
		return nil, fmt.Errorf("decode manifest %s: %w", desc.Digest, err)
	}
	if present(m.Manifests) {
		return nil, fmt.Errorf("decode manifest %s: %w: it has the fields of an index as well", desc.Digest, ErrMalformed)
	}
	return &m, nil
}

func decode(raw []byte, into any) error {
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return nil
}

func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// shape refuses a manifest that is not a runnable image, and says which rule decided. Types of layers are not
// looked at: their bytes tell how they are packed.
func shape(desc ocispec.Descriptor, m *manifest) error {
	mediaType := desc.MediaType
	if mediaType == "" {
		mediaType = m.MediaType
	}
	switch {
	case !isManifest(mediaType):
		return notImage(desc.Digest, "its media type is %s, %s is needed", quote(mediaType), ocispec.MediaTypeImageManifest)
	case m.SchemaVersion != 2:
		return notImage(desc.Digest, "the manifest has schemaVersion %d, 2 is needed", m.SchemaVersion)
	case m.ArtifactType != "":
		return notImage(desc.Digest, "the manifest has artifactType %s, an image has none", quote(m.ArtifactType))
	case m.Config.MediaType != ocispec.MediaTypeImageConfig && m.Config.MediaType != dockerConfig:
		return notImage(desc.Digest, "the media type of its config is %s, %s is needed",
			quote(m.Config.MediaType), ocispec.MediaTypeImageConfig)
	}
	return nil
}

func notImage(dgst digest.Digest, format string, args ...any) error {
	return fmt.Errorf("%s: %w: %s", dgst, ErrNotImage, fmt.Sprintf(format, args...))
}
