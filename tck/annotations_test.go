package tck

import (
	"maps"
	"slices"
	"testing"

	"github.com/sbxkit/sbxkit/descriptor"
)

const full3 = `schemaVersion: "3"
kind: workload
displayName: Lantern
author: Ann <ann@example.org>
description: A light.
sourceUrl: https://example.org/lantern
licenses: [MIT, Apache-2.0]
provides: [lantern@1.2.0, lamp@1.2.0, "bare", deb/bash@5.2.37]
capabilities:
  - type: com.docker.sandbox/sbx@1
  - group:
      optional: true
      capabilities:
        - type: com.docker.sandbox/resources@1
          config: {cpu: 2}
`

func TestAnnotations(t *testing.T) {
	for _, test := range []struct {
		name, source, builtBy string
		want                  map[string]string // without the descriptor
	}{
		{"every field", full3, `{"name":"n","version":"dev"}`, map[string]string{
			AnnotationSchemaVersion:                "3",
			AnnotationCapabilities:                 "com.docker.sandbox/resources@1,com.docker.sandbox/sbx@1",
			AnnotationBuiltBy:                      `{"name":"n","version":"dev"}`,
			"org.opencontainers.image.title":       "Lantern",
			"org.opencontainers.image.description": "A light.",
			"org.opencontainers.image.authors":     "Ann <ann@example.org>",
			"org.opencontainers.image.source":      "https://example.org/lantern",
			"org.opencontainers.image.licenses":    "MIT,Apache-2.0",
			"org.opencontainers.image.version":     "1.2.0",
		}},
		{"no field", "schemaVersion: \"3\"\nkind: mixin\n", "", map[string]string{AnnotationSchemaVersion: "3"}},
		{"its own version", "schemaVersion: \"3\"\nkind: mixin\nversion: \"2.0\"\nprovides: [a@1]\n", "", map[string]string{
			AnnotationSchemaVersion: "3", "org.opencontainers.image.version": "2.0",
		}},
		{"versions that disagree", "schemaVersion: \"3\"\nkind: mixin\nprovides: [a@1.0, b@1.0.0]\n", "", map[string]string{
			AnnotationSchemaVersion: "3",
		}},
	} {
		doc, err := descriptor.Decode("kit.yaml", []byte(test.source))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Annotations(doc.Descriptor(), test.builtBy)
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		again, err := descriptor.Decode(AnnotationDescriptor, []byte(got[AnnotationDescriptor]))
		if err != nil {
			t.Fatalf("%s: the descriptor annotation: %v", test.name, err)
		}
		if same, err := again.Descriptor().JSON(); err != nil || string(same) != got[AnnotationDescriptor] {
			t.Errorf("%s: the descriptor annotation is not canonical: %s, %v", test.name, got[AnnotationDescriptor], err)
		}
		delete(got, AnnotationDescriptor)
		if !maps.Equal(got, test.want) {
			t.Errorf("%s: got %v, want keys %v", test.name, got, slices.Sorted(maps.Keys(test.want)))
		}
	}
}

func TestTagOf(t *testing.T) {
	for ref, want := range map[string]string{
		"me/kit:1.0.0":                     "1.0.0",
		"me/kit":                           "",
		"localhost:5000/me/kit":            "",
		"localhost:5000/me/kit:v2":         "v2",
		"localhost:5000/kit:1@sha256:0123": "1",
		"kit@sha256:0123":                  "",
		"":                                 "",
	} {
		if got := tagOf(ref); got != want {
			t.Errorf("%q: %q, want %q", ref, got, want)
		}
	}
}
