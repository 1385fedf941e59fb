package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// mutation is one broken copy of a descriptor: what was done to it, and where the fault must be
// reported.
type mutation struct {
	what   string
	source []byte
	line   int
	column int
	warns  bool // the format accepts it: a warning, not an error
}

// step is one way down a YAML tree: the i-th entry of a sequence, or the key or value of the i-th pair
// of a mapping.
type step struct {
	index int
	key   bool
}

// mutations breaks a valid descriptor in every way that a slip of the pen can: each key misspelt, each
// value of another YAML type, and each value with a grammar of its own made ill-formed.
func mutations(t *testing.T, source []byte) []mutation {
	t.Helper()
	var root yaml.Node
	if err := yaml.Unmarshal(source, &root); err != nil {
		t.Fatal(err)
	}
	var list []mutation
	add := func(path []step, what string, change func(n *yaml.Node)) {
		list = append(list, mutate(t, source, path, what, change))
	}
	walk(root.Content[0], nil, "", func(n *yaml.Node, path []step, name string) {
		for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
			key := n.Content[i].Value
			at := append(path[:len(path):len(path)], step{i / 2, true})
			add(at, name+": key "+key+" misspelt", func(n *yaml.Node) { n.Value = misspelt(key) })
		}
		for what, change := range illFormed(n, name) {
			add(path, name+": "+what, change)
		}
		if strings.Contains(name, ".allow[") {
			for _, host := range badHosts {
				add(path, name+": host "+strconv.Quote(host), func(n *yaml.Node) {
					*n = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: host, Style: yaml.DoubleQuotedStyle}
				})
				list[len(list)-1].warns = true
			}
		}
	})
	return list
}

// misspelt doubles the last letter, a slip that makes no other key.
func misspelt(key string) string { return key + key[len(key)-1:] }

// illFormed gives the ways in which the value at name can be wrong.
func illFormed(n *yaml.Node, name string) map[string]func(*yaml.Node) {
	ways := map[string]func(*yaml.Node){}
	scalar := func(value, tag string) func(*yaml.Node) {
		return func(n *yaml.Node) {
			*n = yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
			if tag == "!!str" {
				n.Style = yaml.DoubleQuotedStyle
			}
		}
	}
	if name == "" { // the document itself
		return ways
	}
	switch n.Kind {
	case yaml.ScalarNode:
		ways["a mapping"] = func(n *yaml.Node) {
			*n = yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle, Content: []*yaml.Node{
				{Kind: yaml.ScalarNode, Value: "a"}, {Kind: yaml.ScalarNode, Value: "b"}}}
		}
		if !strings.HasSuffix(name, ".command") { // an argv is a list
			ways["a list"] = func(n *yaml.Node) {
				*n = yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle, Content: []*yaml.Node{
					{Kind: yaml.ScalarNode, Value: "a"}}}
			}
		}
		if strings.Contains(name, ".config.") && n.Tag == "!!str" {
			ways["a number"] = scalar("7", "!!int")
		}
	case yaml.SequenceNode:
		ways["a text for a list"] = scalar("nope", "!!str")
	case yaml.MappingNode:
		ways["a text for a mapping"] = scalar("nope", "!!str")
	}
	last := name[strings.LastIndexAny(name, ".")+1:]
	for what, bad := range badValues(last) {
		ways[what] = scalar(bad, "!!str")
	}
	return ways
}

// badHosts match nothing. The format has no grammar of hosts, so they are no error.
var badHosts = []string{"", "https://index.test", "index test", "index.test/simple", "index.test:", "index.test:99999", "index..test", "-index.test", "me@index.test"}

// badValues gives ill-formed texts for a field that has a grammar of its own.
func badValues(field string) map[string]string {
	bad := map[string][]string{
		"schemaVersion": {"2", "3.0", ""},
		"kind":          {"mixxin", "sandbox", ""},
		"iconUrl":       {"http://logo.test/a.svg", "https:///a.svg"},
		"version":       {"v0.7.21", "0..7", "0.7+1"},
		"provides[0]":   {"deepagents@", "Deepagents@0.7.21", "deep agents@1", "acme/x@1", "deepagents@v1"},
		"type":          {"com.docker.sandbox/x", "com.docker.sandbox/x@01", "x@1", "Com.x/y@1"},
		"path":          {"home/agent/x", "~/x"},
		"mode":          {"0888", "rw", "06444"},
		"command":       {},
		"env[0]":        {"HTTP-PROXY", "1X", ""},
	}[field]
	out := map[string]string{}
	for _, b := range bad {
		out["ill-formed: "+strconv.Quote(b)] = b
	}
	return out
}

// mutate changes the node at path in a copy and finds where it stands in the copy's text.
func mutate(t *testing.T, source []byte, path []step, what string, change func(*yaml.Node)) mutation {
	t.Helper()
	var root yaml.Node
	if err := yaml.Unmarshal(source, &root); err != nil {
		t.Fatal(err)
	}
	change(follow(root.Content[0], path))
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	if err := enc.Encode(&root); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	var again yaml.Node
	if err := yaml.Unmarshal(out.Bytes(), &again); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	n := follow(again.Content[0], path)
	return mutation{what: what, source: out.Bytes(), line: n.Line, column: n.Column}
}

func follow(n *yaml.Node, path []step) *yaml.Node {
	for _, s := range path {
		switch {
		case n.Kind == yaml.SequenceNode:
			n = n.Content[s.index]
		case s.key:
			n = n.Content[2*s.index]
		default:
			n = n.Content[2*s.index+1]
		}
	}
	return n
}

func walk(n *yaml.Node, path []step, name string, visit func(*yaml.Node, []step, string)) {
	visit(n, path, name)
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i < len(n.Content); i += 2 {
			next := n.Content[i].Value
			if name != "" {
				next = name + "." + next
			}
			walk(n.Content[i+1], append(path[:len(path):len(path)], step{i / 2, false}), next, visit)
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			walk(item, append(path[:len(path):len(path)], step{i, false}), fmt.Sprintf("%s[%d]", name, i), visit)
		}
	}
}
