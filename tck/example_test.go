package tck_test

import (
	"fmt"
	"maps"
	"slices"

	"github.com/sbxkit/sbxkit/descriptor"
	"github.com/sbxkit/sbxkit/tck"
)

// A builder derives what it has to write on the manifest from the descriptor alone.
func ExampleAnnotations() {
	doc, err := descriptor.Decode("kit.yaml", []byte(`schemaVersion: "3"
kind: mixin
displayName: Lantern
provides: [lantern@1.2.0]
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	annotations, err := tck.Annotations(doc.Descriptor(), `{"name":"example.org/builder","version":"dev"}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		fmt.Printf("%s = %s\n", key, annotations[key])
	}
	// Output:
	// org.opencontainers.image.title = Lantern
	// org.opencontainers.image.version = 1.2.0
	// vnd.docker.sandbox.kit.built-by = {"name":"example.org/builder","version":"dev"}
	// vnd.docker.sandbox.kit.descriptor = {"schemaVersion":"3","displayName":"Lantern","kind":"mixin","provides":["lantern@1.2.0"]}
	// vnd.docker.sandbox.kit.schema-version = 3
}
