package descriptor_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/sbxkit/sbxkit/descriptor"
)

const staged = "/usr/share/sandbox/kit/lamp/notes.md"

func TestWithContentFile(t *testing.T) {
	head := "schemaVersion: \"3\"\nkind: mixin\ndescription: see docs/notes.md\ncapabilities:\n"
	context := "type: com.docker.sandbox/agent-context@1"
	cases := []struct {
		name, body string
		entry      int
	}{
		{"plain", "  - " + context + "\n    config: {contentFile: docs/notes.md} # here\n", 0},
		{"second", "  - type: com.acme/x@1\n  - " + context + "\n    config:\n      contentFile: ./docs/notes.md\n", 1},
		{"in a group behind a null", "  -\n  - group:\n      capabilities:\n        - type: com.acme/x@1\n        - " + context + "\n          config: {contentFile: docs/notes.md}\n", 1},
		{"config by alias", "  - type: com.acme/x@1\n    config: &c {contentFile: docs/notes.md}\n  - " + context + "\n    config: *c\n", 1},
		{"config that others repeat", "  - " + context + "\n    config: &c {contentFile: docs/notes.md}\n  - type: com.acme/x@1\n    config: *c\n", 0},
		{"value by alias", "  - type: com.acme/x@1\n    config: {a: &f docs/notes.md}\n  - " + context + "\n    config: {contentFile: *f}\n", 1},
		{"by a merge key", "  - " + context + "\n    config: {<<: {contentFile: docs/notes.md}}\n", 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			doc := decode(t, head+c.body)
			before := doc.Descriptor().Declared()
			next, err := doc.WithContentFile(c.entry, staged)
			if err != nil {
				t.Fatal(err)
			}
			after := next.Descriptor().Declared()
			for i := range after {
				want := before[i]
				if i == c.entry {
					want.Config = map[string]any{"contentFile": staged}
				}
				if !reflect.DeepEqual(after[i], want) {
					t.Errorf("entry %d is %+v, want %+v", i, after[i], want)
				}
			}
			if next.Descriptor().Description != "see docs/notes.md" {
				t.Error("text elsewhere has changed")
			}
			routes(t, next, descriptor.Authored)
			got, err := descriptor.DecodeAgentContext(after[c.entry])
			if err != nil || got.ContentFile != staged {
				t.Errorf("the config decodes as %+v, %v", got, err)
			}
		})
	}
	for _, entry := range []int{-1, 1, 2} {
		if _, err := decode(t, head+"  - "+context+"\n    config: {contentFile: a}\n  - type: com.acme/x@1\n").WithContentFile(entry, staged); err == nil {
			t.Errorf("entry %d: accepted", entry)
		} else if found := invalid(t, err); found[0].Code != "KIT0614" {
			t.Errorf("entry %d: %v", entry, found)
		}
	}
}

func TestWithProvides(t *testing.T) {
	head := "schemaVersion: \"3\"\nkind: workload\nversion: \"1\"\n"
	derived := []string{"deb/jq@1.7.1", "deb/zlib1g@1.3"}
	cases := map[string]string{
		"none":           "",
		"null":           "provides:\n",
		"block":          "provides:\n  - a # one\n",
		"flow":           "provides: [a] # one\n",
		"empty":          "provides: []\n",
		"unused anchor":  "provides: &p [a]\n",
		"by alias":       "conflicts: &p [a]\nprovides: *p\n",
		"by a merge key": "<<: {provides: [a]}\n",
	}
	for name, body := range cases {
		doc := decode(t, head+body)
		next, err := doc.WithProvides(derived)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := append(append([]string{}, doc.Descriptor().Provides...), derived...)
		if got := next.Descriptor().Provides; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
		if !reflect.DeepEqual(next.Descriptor().Conflicts, doc.Descriptor().Conflicts) {
			t.Errorf("%s: conflicts changed to %v", name, next.Descriptor().Conflicts)
		}
		if _, err := next.Validate(descriptor.Published); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		out, err := next.YAML()
		if err != nil || strings.Contains(body, "# one") && !strings.Contains(string(out), "# one") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		routes(t, next, descriptor.Published)
	}
	_, err := decode(t, head+"provides: &p [a]\nconflicts: *p\n").WithProvides(derived)
	if err == nil || invalid(t, err)[0].Code != "KIT0808" {
		t.Errorf("a shared list: %v", err)
	}
}

func TestDeclared(t *testing.T) {
	doc := decode(t, "schemaVersion: \"3\"\nkind: mixin\ncapabilities:\n  - type: com.b/x@1\n  - group: {optional: true, capabilities: [{type: com.a/x@1}, {type: com.b/x@1}]}\n  - type: com.c/x@1\n")
	var types []string
	for _, c := range doc.Descriptor().Declared() {
		types = append(types, c.Type)
	}
	if got := strings.Join(types, " "); got != "com.b/x@1 com.a/x@1 com.b/x@1 com.c/x@1" {
		t.Errorf("declared %s", got)
	}
	if got := strings.Join(doc.Descriptor().CapabilityTypes(), ","); got != "com.a/x@1,com.b/x@1,com.c/x@1" {
		t.Errorf("types %s", got)
	}
	if !doc.Descriptor().Declared()[1].Optional {
		t.Error("a member does not have its group's optional")
	}
}

func TestDecodeConfigs(t *testing.T) {
	skill := descriptor.Capability{Type: descriptor.TypeAgentSkill, Config: map[string]any{"path": "/skills/triage"}}
	if got, err := descriptor.DecodeAgentSkill(skill); err != nil || got != (descriptor.AgentSkill{Path: "/skills/triage", Name: "triage"}) {
		t.Errorf("got %+v, %v", got, err)
	}
	for name, config := range map[string]map[string]any{"nothing": nil, "unknown key": {"path": "/a", "x": 1.5}, "number": {"path": int64(3)}} {
		if _, err := descriptor.DecodeAgentSkill(descriptor.Capability{Type: descriptor.TypeAgentSkill, Config: config}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := descriptor.DecodeAgentContext(skill); err == nil {
		t.Error("another type: accepted")
	}
	if got, err := descriptor.DecodeAgentContext(descriptor.Capability{Type: descriptor.TypeAgentContext}); err != nil || got != (descriptor.AgentContext{}) {
		t.Errorf("no config: got %+v, %v", got, err)
	}
}

// A fault that a caller found is placed at its path, or at the nearest container that exists.
func TestErrorf(t *testing.T) {
	doc := decode(t, "schemaVersion: \"3\"\nkind: mixin\ndockerfile: x\ncapabilities:\n  - type: com.acme/x@1\n    config: {a.b: {c: [1, 2]}}\n")
	for path, want := range map[string]descriptor.Position{
		"":           {Line: 1, Column: 1},
		"dockerfile": {Line: 3, Column: 13}, "build": {Line: 1, Column: 1},
		"capabilities[0].type": {Line: 5, Column: 11}, "capabilities[0].name": {Line: 5, Column: 5},
		"capabilities[7].type": {Line: 5, Column: 3}, "capabilities[x": {Line: 5, Column: 3},
		"capabilities[0].config.a.b.c[1]": {Line: 6, Column: 27},
	} {
		err := doc.Errorf("KIT2001", path, "look there", "recipe %s is missing", "x")
		f := err.Findings[0]
		if f.Start != want || f.Path != path || f.Code != "KIT2001" || f.Message != "recipe x is missing" || f.Hint != "look there" {
			t.Errorf("%s: got %+v, want %v", path, f, want)
		}
	}
}

// A document may be judged from several goroutines.
func TestConcurrentUse(t *testing.T) {
	doc := decode(t, sample(t))
	done := make(chan error)
	for range 4 {
		go func() {
			_, err := doc.Validate(descriptor.Authored)
			if err == nil {
				_, err = doc.ExpandBuild(map[string]string{"flavour": "full"})
			}
			if err == nil {
				_, err = doc.YAML()
			}
			done <- err
		}()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
