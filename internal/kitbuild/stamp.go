package kitbuild

import (
	"encoding/json"
	"sync"

	"github.com/sbxkit/sbxkit/internal/version"
)

// builderName is how this builder signs what it builds.
const builderName = "sbxkit/" + frontendRepository

// Stamp is the value of the built-by annotation: which builder made a kit. It is the same for every
// build by one binary.
func Stamp() string { return stamp() }

var stamp = sync.OnceValue(func() string {
	name, revision := version.Read()
	data, err := json.Marshal(struct {
		Name     string `json:"name"`
		Version  string `json:"version"`
		Revision string `json:"revision,omitempty"`
	}{builderName, name, revision})
	if err != nil {
		panic("[internal error] encode builder stamp: " + err.Error()) // three strings always encode
	}
	return string(data)
})

// builderRelease is the version alone, for people who watch a build.
func builderRelease() string {
	name, _ := version.Read()
	return name
}
