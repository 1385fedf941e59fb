package descriptor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// checker collects what is wrong with one document. Its methods read values strictly: each says at
// the value's own place what it would have taken, and goes on.
type checker struct {
	name     string // of the document, for pointing at a second place
	form     Form
	findings []finding

	// lenient is set inside of a capability whose config still holds references. Its rules are due when
	// they are filled in (SPEC-v3 §7.3), so that until then faults are only announced.
	lenient bool
}

// maxFindings is how many findings one document draws; a file that is wrong everywhere is not read on.
const maxFindings = 1000

func (c *checker) full() bool { return len(c.findings) >= maxFindings }

func (c *checker) add(f finding) *finding {
	if c.full() {
		return &f
	}
	c.findings = append(c.findings, f)
	return &c.findings[len(c.findings)-1]
}

// fail reports an error at n. The result lives until the next call; set its Hint at once.
func (c *checker) fail(code string, n *node, format string, args ...any) *finding {
	f := Finding{Code: code, Path: n.path(), Message: fmt.Sprintf(format, args...)}
	if c.lenient {
		f.Severity = Warning
		f.Message += "; this is an error once the references of this entry are filled in"
	}
	return c.add(finding{n: n, Finding: f})
}

// failFirm is fail for the rules that hold even while references are open.
func (c *checker) failFirm(code string, n *node, format string, args ...any) *finding {
	lenient := c.lenient
	c.lenient = false
	f := c.fail(code, n, format, args...)
	c.lenient = lenient
	return f
}

// failAt reports an error at a place below n that does not exist: a missing field.
func (c *checker) failAt(code string, n *node, below, format string, args ...any) *finding {
	f := c.fail(code, n, format, args...)
	f.Path = joinPath(f.Path, below)
	return f
}

func (c *checker) warn(code string, n *node, format string, args ...any) *finding {
	return c.add(finding{n: n, Finding: Finding{Severity: Warning, Code: code, Path: n.path(), Message: fmt.Sprintf(format, args...)}})
}

// lint reports what is accepted but probably not meant. It is said to authors only: who loads an
// artifact cannot change it.
func (c *checker) lint(code string, n *node, format string, args ...any) *finding {
	if c.form != Authored {
		return &finding{}
	}
	return c.warn(code, n, format, args...)
}

// place points at a value in a hint: "kit.yaml:9:17".
func (c *checker) place(n *node) string {
	if n.at.Line == 0 {
		return n.path()
	}
	name := c.name
	if name != "" {
		name += ":"
	}
	return fmt.Sprintf("%s%d:%d", name, n.at.Line, n.at.Column)
}

// object reads a mapping with the given keys; other keys are errors. A key that is probably a
// misspelt one is reported and then read as the one meant, so that it draws no second error.
func (c *checker) object(n *node, keys []string) bool {
	if n.kind != object {
		c.fail(codeKind, n, "want a mapping, got %s", n.describe())
		return false
	}
	for i := range n.fields {
		f := &n.fields[i]
		if slices.Contains(keys, f.name) {
			continue
		}
		meant := nearest(f.name, keys)
		if legacy := renamedKeys[f.name]; meant == "" && slices.Contains(keys, legacy) {
			meant = legacy
		}
		at := c.fail(codeUnknownKey, f.key, "unknown key %s", f.key.quote())
		switch {
		case meant == "":
			at.Hint = "known here: " + strings.Join(keys, ", ")
		case n.has(meant):
			at.Hint = fmt.Sprintf("did you mean %q? it stands here already", meant)
		default:
			at.Hint = fmt.Sprintf("did you mean %q?", meant)
			f.name, f.val.name = meant, meant
		}
	}
	return true
}

// renamedKeys are spellings that earlier formats or other tools use.
var renamedKeys = map[string]string{
	"image": "ref", "title": "displayName", "authors": "author", "license": "licenses",
	"homepage": "sourceUrl", "icon": "iconUrl", "cmd": "command", "regex": "pattern",
}

// items gives the items of a list, none for nil.
func (c *checker) items(n *node) []*node {
	if n == nil {
		return nil
	}
	if n.kind != list {
		c.fail(codeKind, n, "want a list, got %s", n.describe())
		return nil
	}
	return n.items
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
