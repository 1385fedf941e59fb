package kitbuild

import (
	"strings"
	"testing"

	"github.com/sbxkit/sbxkit/descriptor"
	"github.com/sbxkit/sbxkit/tck"
)

// What is about no one value is drawn without an excerpt; what a check of a capability type says is drawn
// at the entry that asks for it.
func TestPlaceOfFindings(t *testing.T) {
	doc, err := descriptor.Decode("lamp.yaml", []byte("# a lamp\nschemaVersion: \"3\"\nkind: workload\ncapabilities:\n"+
		"  - type: com.acme/sbx@1\n  - group:\n      capabilities:\n        - type: com.docker.sandbox/sbx@1\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ requirement, path, drawn string }{
		{"SPEC-v3 §10", "", "lamp.yaml: warning: it is so\n"},
		{"agent-skill@1/content-present", "", "lamp.yaml: warning: it is so\n"}, // not declared
		{"sbx@1/part", "capabilities[1].group.capabilities[0]", "lamp.yaml:8:11: warning: capabilities[1].group.capabilities[0]: it is so\n  |\n8 | "},
	} {
		path := askedBy(doc.Descriptor(), tck.Check{Name: "check", Requirement: c.requirement})
		f := warning(doc, "KIT2999", path, "", "it is so")
		var drawn strings.Builder
		if err := descriptor.Render(&drawn, doc.Name(), doc.Source(), []descriptor.Finding{f}); err != nil {
			t.Fatal(err)
		}
		if f.Path != c.path || !strings.HasPrefix(drawn.String(), c.drawn) {
			t.Errorf("%s: at %q:\n%s\nwant %q:\n%s", c.requirement, f.Path, drawn.String(), c.path, c.drawn)
		}
	}
}
