// Package kits_test holds the kits that ship with the project to what their pages promise.
package kits_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// kit is the part of a descriptor that these tests ask about. The grammar is not judged here.
type kit struct {
	Version      string
	Kind         string
	Provides     []string
	Requires     []string
	Capabilities []struct {
		Type   string
		Config yaml.Node
	}
}

type network struct {
	Install, Runtime struct{ Allow, Deny []string }
}

type lifecycle struct {
	Install []hook
	Startup []hook
	Files   []file
}

type hook struct {
	Command string
	User    string
	Env     []string
}

type file struct {
	Path      string
	Content   string
	Overwrite *bool
}

func parse(text []byte) (*kit, error) {
	var k kit
	if err := yaml.Unmarshal(text, &k); err != nil {
		return nil, err
	}
	return &k, nil
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func load(t *testing.T, path string) *kit {
	t.Helper()
	k, err := parse(read(t, path))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// config decodes the config of the one request of that type into out.
func (k *kit) config(typ string, out any) error {
	found := 0
	for _, c := range k.Capabilities {
		if c.Type != typ {
			continue
		}
		found++
		if err := c.Config.Decode(out); err != nil {
			return fmt.Errorf("decode %s: %w", typ, err)
		}
	}
	if found != 1 {
		return fmt.Errorf("find %s: %d requests of this type", typ, found)
	}
	return nil
}

// pin is one of the places where the deepagents kit states a version. find has one group: the version.
type pin struct {
	name string
	find *regexp.Regexp
}

// pins finds each statement in the text of the descriptor.
var pins = []pin{
	{"version", regexp.MustCompile(`(?m)^version: "([^"]*)"$`)},
	{"provides", regexp.MustCompile(`(?m)^provides: \["deepagents@([^"]*)"\]$`)},
	{"installer", regexp.MustCompile(`(?m)pip install .*'deepagents==([^']*)'`)},
	{"re-read", regexp.MustCompile(`(?m)if found != "([^"]*)"`)},
}

// pinned returns the one version that all places state, or an error that shows who differs.
func pinned(text string) (string, error) {
	var stated []string
	versions := map[string]bool{}
	for _, p := range pins {
		found := p.find.FindAllStringSubmatch(text, -1)
		if len(found) != 1 {
			return "", fmt.Errorf("find the version in %s: stated %d times", p.name, len(found))
		}
		versions[found[0][1]] = true
		stated = append(stated, p.name+" "+found[0][1])
	}
	for version := range versions {
		if len(versions) == 1 && version != "" {
			return version, nil
		}
	}
	return "", fmt.Errorf("versions differ: %s", strings.Join(stated, ", "))
}
