package descriptor

import (
	"fmt"
	"path"
	"strings"
)

// AgentContext is the config of agent-context@1: where the agent's instruction file lives, and what a
// kit adds to it. Empty fields are absent.
type AgentContext struct{ Directory, Filename, ContentFile, Content string }

// DecodeAgentContext reads c.Config strictly. References that are still open are kept as text.
func DecodeAgentContext(c Capability) (AgentContext, error) {
	e, fault := decodeConfig(c, TypeAgentContext)
	if fault != nil {
		return AgentContext{}, fault
	}
	text := func(key string) string {
		if n := e.read.get(key); n.isString() {
			return n.text
		}
		return ""
	}
	return AgentContext{text("directory"), text("filename"), text("contentFile"), text("content")}, nil
}

// decodeConfig judges the config of a capability on its own, outside of a document.
func decodeConfig(capability Capability, typ string) (*entry, error) {
	if capability.Type != typ {
		return nil, fmt.Errorf("decode config: the type is %s, not %s", quoted(capability.Type), typ)
	}
	e := &entry{typ: typ, known: capabilityTypes[strings.TrimPrefix(typ, platformNamespace)]}
	e.read = nodeOf(configOf(capability))
	e.read.name = "config"
	c := &checker{form: Published}
	e.read.walk(func(n *node, key bool) {
		c.lenient = c.lenient || n.kind == scalar && open(n.text)
	})
	e.known.config(c, e)
	d := &Document{name: typ}
	if faults, _ := split(d.settle(c.findings)); len(faults) > 0 {
		return nil, &InvalidError{Name: typ, Findings: faults}
	}
	return e, nil
}

func configOf(c Capability) map[string]any {
	if c.Config == nil {
		return map[string]any{}
	}
	return c.Config
}

var contextKeys = []string{"directory", "filename", "contentFile", "content"}

// agentContext judges agent-context@1. The rules on its fields hold for literal parts even while
// others are filled in later.
func agentContext(c *checker, e *entry) {
	if !c.object(e.read, contextKeys) {
		return
	}
	m := mapping{c: c, n: e.read}
	if len(e.read.fields) == 0 {
		c.lint(codeNothing, e.read, "an agent context without fields says nothing")
		return
	}
	lenient := c.lenient
	c.lenient = false
	c.contextPlace(e)
	c.lenient = lenient
	body, bodyFile := e.read.get("content"), e.read.get("contentFile")
	for _, key := range []string{"content", "contentFile"} {
		if text, literal := m.text(key); literal && text == "" && e.read.get(key).isString() {
			c.lint(codeNothing, e.read.get(key), "an empty %s counts as none", key)
		}
	}
	both := body != nil && bodyFile != nil
	if !e.open && !lenient {
		both = body.isString() && body.text != "" && bodyFile.isString() && bodyFile.text != ""
	}
	if both {
		later := bodyFile
		if bodyFile.at.before(body.at) {
			later = body
		}
		c.failFirm(codeTogether, later, "content and contentFile exclude each other").Path = e.read.path()
	}
}

// contextPlace judges directory and filename.
func (c *checker) contextPlace(e *entry) {
	m := mapping{c: c, n: e.read}
	directory, filename := e.read.get("directory"), e.read.get("filename")
	if directory == nil {
		name, _ := m.text("filename")
		switch {
		case filename.orNil() == nil || !filename.isString() || name == "":
		case e.kind == Mixin:
			c.fail(codeTogether, filename, "a mixin names its instruction file together with a directory").
				Hint = "add directory, or leave filename to the workload"
		case strings.ContainsAny(name, "/\\\x00") || name == "." || name == "..":
			c.lint(codePath, filename, "%s is not a single file name", filename.quote())
		}
		return
	}
	switch dir, literal := c.text(directory); {
	case directory.isNull(): // reported as no text
	case !literal:
	case !isCanonical(dir) || strings.Contains(dir, `\`):
		c.fail(codePath, directory, "%s is not a canonical absolute path: no //, no . or .. component, no / at the end, no backslash", directory.quote())
	}
	switch name, literal := m.text("filename"); {
	case filename.orNil() == nil || literal && name == "":
		c.failAt(codeMissing, e.read, "filename", "directory needs filename")
	case literal && (strings.ContainsAny(name, "/\\\x00") || name == "." || name == ".."):
		c.fail(codePath, filename, "%s is not a single file name", filename.quote())
	}
}

// agentContextKeys: one entry per destination.
func agentContextKeys(e *entry) []instanceKey {
	dir, name := e.read.get("directory"), e.read.get("filename")
	if !dir.isString() || !name.isString() || open(dir.text) || open(name.text) || name.text == "" {
		return nil
	}
	at := path.Join(dir.text, name.text)
	return []instanceKey{{at, "an agent context at " + quoted(at), e.n}}
}

// contextRules judges the agent contexts of a block together: at most one without a directory, and at
// most one with a body.
func (c *checker) contextRules(b *block) {
	var plain, body *entry
	for _, e := range b.of("agent-context@1") {
		if e.read.kind != object {
			continue
		}
		if !e.read.has("directory") {
			if plain != nil {
				c.fail(codeSingleton, e.n.get("type"), "one agent context may be without a directory, and there is one already").
					Hint = "first at " + c.place(plain.n)
			} else {
				plain = e
			}
		}
		if e.read.has("content") || e.read.has("contentFile") {
			if body != nil {
				c.fail(codeTogether, e.read, "one agent context may have a body, and there is one already").Hint = "first at " + c.place(body.n)
			} else {
				body = e
			}
		}
	}
}
