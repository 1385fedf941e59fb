package tck

import (
	"context"
	"encoding/json"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/sbxkit/sbxkit/descriptor"
)

// descriptorValid judges the descriptor as a published document. Warnings are for the author and
// were due when the kit was built.
func descriptorValid(_ context.Context, k *kit, r *recorder) error {
	if _, err := k.doc.Validate(descriptor.Published); err != nil {
		r.fail("%v", err)
	}
	return nil
}

func schemaVersionAnnotation(_ context.Context, k *kit, r *recorder) error {
	got, ok := k.annotations[AnnotationSchemaVersion]
	switch {
	case got == k.d.SchemaVersion:
	case !ok:
		r.fail("%s is missing; set it to the descriptor's schemaVersion, %s", AnnotationSchemaVersion, quote(k.d.SchemaVersion))
	default:
		r.fail("%s says %s, the descriptor says %s; rebuild the kit so that both agree",
			AnnotationSchemaVersion, quote(got), quote(k.d.SchemaVersion))
	}
	return nil
}

// capabilitiesAnnotation compares the list by which host policies pick kits without reading their
// descriptors. Absence means that nothing is asked for, so an empty value is not the same.
func capabilitiesAnnotation(_ context.Context, k *kit, r *recorder) error {
	got, ok := k.annotations[AnnotationCapabilities]
	want := strings.Join(k.d.CapabilityTypes(), ",")
	switch {
	case want == "" && ok:
		r.fail("%s is present (%s) although the descriptor declares no capability; remove the annotation",
			AnnotationCapabilities, quote(got))
	case want != "" && !ok:
		r.fail("%s is missing; the declared types, sorted and without repeats, are %s", AnnotationCapabilities, quote(want))
	case got != want:
		r.fail("%s says %s; the declared types, sorted and without repeats, are %s",
			AnnotationCapabilities, quote(got), quote(want))
	}
	return nil
}

// builtByAnnotation judges the form of the builder's stamp. Kits from before the stamp have none.
func builtByAnnotation(_ context.Context, k *kit, r *recorder) error {
	value, ok := k.annotations[AnnotationBuiltBy]
	if !ok {
		return nil
	}
	var stamp map[string]string
	if err := json.Unmarshal([]byte(value), &stamp); err != nil {
		r.fail(`%s is not a JSON object of strings; write {"name":…,"version":…} or leave the annotation out`, AnnotationBuiltBy)
		return nil
	}
	switch {
	case stamp["name"] == "":
		r.fail("%s names no builder; state a non-empty member name", AnnotationBuiltBy)
	case stamp["version"] == "":
		r.fail(`%s states no version of the builder; an unreleased one writes "dev"`, AnnotationBuiltBy)
	}
	return nil
}

// builderKnowledge are standard keys that a descriptor cannot supply: what they would say is the
// builder's knowledge, and provenance records it.
var builderKnowledge = []string{
	ocispec.AnnotationRevision,
	ocispec.AnnotationBaseImageName,
	ocispec.AnnotationBaseImageDigest,
}

func ociAnnotations(_ context.Context, k *kit, r *recorder) error {
	for _, want := range imageAnnotations(k.d) {
		got, ok := k.annotations[want.key]
		switch {
		case want.value == "" && ok:
			r.fail("%s is present (%s) although the descriptor gives no %s; remove the annotation", want.key, quote(got), want.field)
		case want.value != "" && !ok:
			r.fail("%s is missing; the descriptor's %s gives %s", want.key, want.field, quote(want.value))
		case got != want.value:
			r.fail("%s says %s, the descriptor's %s gives %s", want.key, quote(got), want.field, quote(want.value))
		}
	}
	if created, ok := k.annotations[ocispec.AnnotationCreated]; ok && !validRFC3339(created) {
		r.fail("%s is %s, which is not an RFC 3339 timestamp such as 2006-01-02T15:04:05Z", ocispec.AnnotationCreated, quote(created))
	}
	for _, key := range builderKnowledge {
		if _, ok := k.annotations[key]; ok {
			r.fail("%s is present, which no descriptor can supply; remove the annotation", key)
		}
	}
	return nil
}

// indexAnnotations compares the kit keys of the outermost index with the manifest's. The index may
// leave them out, since a builder that merges the work of several nodes loses them, but it must not
// say anything else.
func indexAnnotations(_ context.Context, k *kit, r *recorder) error {
	index, ok := k.src.Index()
	if !ok {
		return nil
	}
	for _, key := range []string{AnnotationDescriptor, AnnotationSchemaVersion, AnnotationCapabilities, AnnotationBuiltBy} {
		onManifest, manifestHas := k.annotations[key]
		onIndex, indexHas := index[key]
		switch {
		case indexHas && !manifestHas:
			r.fail("the index states %s, which the manifest does not; remove it from the index", key)
		case manifestHas && !indexHas:
			r.warn("the index does not repeat %s; readers have to open a platform manifest for it", key)
		case onManifest != onIndex:
			r.fail("%s on the index differs from the manifest's; copy the manifest's value", key)
		}
	}
	return nil
}
