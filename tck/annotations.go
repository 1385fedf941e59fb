package tck

import (
	"fmt"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/sbxkit/sbxkit/descriptor"
)

// Annotation keys of a kit, on each platform manifest and, as a convenience for readers, on the
// index (SPEC-v3 §9.3).
const (
	AnnotationDescriptor    = "vnd.docker.sandbox.kit.descriptor"
	AnnotationSchemaVersion = "vnd.docker.sandbox.kit.schema-version"
	AnnotationCapabilities  = "vnd.docker.sandbox.kit.capabilities"
	AnnotationBuiltBy       = "vnd.docker.sandbox.kit.built-by"
)

// Annotations derives the annotations that a descriptor demands of its manifest: the kit keys, and
// the standard OCI ones so that registry tools which know nothing of kits can show it. builtBy is
// the JSON stamp of the builder, empty for none. An empty field yields no key. The builder writes
// this map and the checks compare with it, so the two cannot drift apart.
//
// The error says that the descriptor holds a value that JSON cannot express.
func Annotations(d *descriptor.Descriptor, builtBy string) (map[string]string, error) {
	canonical, err := d.JSON()
	if err != nil {
		return nil, fmt.Errorf("write descriptor as JSON: %w", err)
	}
	derived := map[string]string{
		AnnotationDescriptor:    string(canonical),
		AnnotationSchemaVersion: d.SchemaVersion,
		AnnotationCapabilities:  strings.Join(d.CapabilityTypes(), ","),
		AnnotationBuiltBy:       builtBy,
	}
	for _, a := range imageAnnotations(d) {
		derived[a.key] = a.value
	}
	for key, value := range derived {
		if value == "" {
			delete(derived, key)
		}
	}
	return derived, nil
}

// imageAnnotation is a standard key, the field that it repeats, and the value that this field gives.
type imageAnnotation struct{ key, field, value string }

func imageAnnotations(d *descriptor.Descriptor) []imageAnnotation {
	return []imageAnnotation{
		{ocispec.AnnotationTitle, "displayName", d.DisplayName},
		{ocispec.AnnotationDescription, "description", d.Description},
		{ocispec.AnnotationAuthors, "author", d.Author},
		{ocispec.AnnotationSource, "sourceUrl", d.SourceURL},
		{ocispec.AnnotationLicenses, "licenses", strings.Join(d.Licenses, ",")},
		{ocispec.AnnotationVersion, "version", imageVersion(d)},
	}
}

// imageVersion is the version that the whole image may be labelled with: the descriptor's own, else
// the one that all versioned provides agree on. Entries read from a package database do not vote,
// because a distribution never agrees on one version.
func imageVersion(d *descriptor.Descriptor) string {
	if d.Version != "" {
		return d.Version
	}
	agreed := ""
	for _, entry := range d.Provides {
		p, err := descriptor.ParseProvide(entry)
		if err != nil || p.Version == "" || databaseOf(p.Namespace()) != nil {
			continue
		}
		if agreed != "" && agreed != p.Version {
			return ""
		}
		agreed = p.Version
	}
	return agreed
}
