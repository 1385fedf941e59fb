package descriptor

import (
	"encoding/json"
	"fmt"
	"strings"
)

// platformNamespace holds the capability types that the specification defines.
const platformNamespace = "com.docker.sandbox/"

// capabilityType is what this package knows about one type. A new type is one more value of it.
type capabilityType struct {
	// single says that the type stands once in a block.
	single bool
	// config judges the config, nil if there is none in the entry. A type without this function takes
	// no config at all.
	config func(c *checker, e *entry)
	// keys gives what the entry asks for, as far as its key fields are literal. Two entries of a block
	// with one key are an error. nil: exact duplicates only.
	keys func(e *entry) []instanceKey
}

// instanceKey identifies one thing asked for. what is shown in messages.
type instanceKey struct {
	text string
	what string
	at   *node
}

// entry is one ordinary request under judgement.
type entry struct {
	n      *node
	typ    string
	known  *capabilityType // nil: opaque
	config *node           // nil: absent
	read   *node           // config, or in its absence an empty one at the entry's place
	open   bool            // holds references that are filled in later
	bad    bool            // an error was found in it
	kind   Kind            // of the kit
}

// block is a set of entries whose arity counts together: the ordinary ones at the top level, or the
// members of one group (SPEC-v3 §7.1).
type block struct {
	entries []*entry
	top     bool
}

func (b *block) of(name string) []*entry {
	var out []*entry
	for _, e := range b.entries {
		if e.typ == platformNamespace+name {
			out = append(out, e)
		}
	}
	return out
}

func (c *checker) capabilities(root *node, kind Kind) {
	list := root.get("capabilities")
	if list == nil || list.kind != listKind {
		return
	}
	top := &block{top: true}
	groups := 0
	for _, n := range list.items {
		if n.kind != object {
			continue
		}
		if g := n.get("group"); g != nil {
			groups++
			c.groupRules(n, g, kind)
			continue
		}
		if e := c.entry(n, kind); e != nil {
			top.entries = append(top.entries, e)
		}
	}
	c.blockRules(top)
	if c.form == Effective || c.form == Authored && groups == 0 {
		c.injectRules(top)
	}
}

// listKind is kind list under a name that a local variable cannot hide.
const listKind = list

// groupRules judges a group and its members (SPEC-v3 §7.1.1).
func (c *checker) groupRules(n, g *node, kind Kind) {
	for _, f := range n.fields {
		switch f.name {
		case "type", "name", "optional", "config", "description":
			c.fail(codeGroup, f.key, "%s stands beside group; a group has its own inside", f.key.quote())
		}
	}
	c.source(n)
	if g.kind != object {
		return // reported by decoding
	}
	members := g.get("capabilities").orNil()
	switch {
	case members == nil:
		c.failAt(codeGroup, g, "capabilities", "a group lists one capability or more, but capabilities is missing")
		return
	case members.kind == listKind && len(members.items) == 0:
		c.fail(codeGroup, members, "a group lists one capability or more")
		return
	}
	b := &block{}
	for _, m := range members.items {
		if m.kind != object {
			continue
		}
		if inner := m.get("group"); inner != nil {
			c.fail(codeGroup, inner, "groups do not nest")
			continue
		}
		if o := m.get("optional"); o != nil {
			c.fail(codeGroup, o, "a member takes its group's optional and states none").Hint = "move optional to the group"
		}
		if e := c.entry(m, kind); e != nil {
			b.entries = append(b.entries, e)
		}
	}
	c.blockRules(b)
}

func (c *checker) source(n *node) {
	s := n.get("source")
	switch {
	case s == nil:
	case s.isNull():
		// Decoding has refused it as no mapping.
	case s.kind == object:
		if p := s.get("path"); p == nil || p.isString() && p.text == "" {
			c.failAt(codeSource, s, "path", "a source says at which path the entry stood")
		}
	}
}

// entry judges what one request shows on its own, except for its config.
func (c *checker) entry(n *node, kind Kind) *entry {
	c.source(n)
	t := n.get("type")
	switch {
	case t == nil || t.isNull():
		c.failAt(codeType, n, "type", "the type is missing")
		return nil
	case t.kind != scalar:
		return nil
	case !isCapabilityType(t.text):
		c.fail(codeType, t, "%s is not a capability type: namespace/name@version", t.quote()).Hint = typeHint(t.text)
		return nil
	}
	e := &entry{n: n, typ: t.text, config: n.get("config").orNil(), kind: kind}
	if e.read = e.config; e.read == nil {
		e.read = &node{kind: object, parent: n, name: "config", index: -1, at: n.at}
	}
	if name, ok := strings.CutPrefix(e.typ, platformNamespace); ok {
		e.known = capabilityTypes[name]
		if e.known == nil {
			c.lint(codeUnknown, t, "%s is not a type that this program knows; a host may refuse it", t.quote()).Hint = typeHint(t.text)
		}
	}
	if raw := n.get("config"); raw != nil && e.known != nil && e.known.config == nil {
		c.fail(codeNoConfig, raw, "%s takes no config, not even an empty one", t.quote()).Hint = "leave config out"
		e.bad = true
	}
	e.config.walk(func(v *node, key bool) {
		if v.kind != scalar {
			return
		}
		if key && hasEnvRef(v.text) {
			f := c.fail(codeEnvInKey, v, "a key holds an environment reference; only values may")
			f.Path = e.config.path()
			e.bad = true
		}
		e.open = e.open || hasArgRef(v.text) || !key && v.isString() && hasEnvRef(v.text)
	})
	if e.known == nil && e.config != nil && len(e.config.fields) == 0 {
		c.lint(codeNothing, e.config, "an empty config counts as none")
	}
	return e
}

func typeHint(s string) string {
	known := make([]string, 0, len(capabilityTypes))
	for name := range capabilityTypes {
		known = append(known, platformNamespace+name)
	}
	if meant := nearest(s, known); meant != "" {
		return fmt.Sprintf("did you mean %q?", meant)
	}
	if !strings.Contains(s, "/") {
		for _, full := range known {
			if name := strings.TrimPrefix(full, platformNamespace); name == s || strings.HasPrefix(name, s+"@") && !strings.HasSuffix(s, "policy") {
				return fmt.Sprintf("did you mean %q?", full)
			}
		}
	}
	return ""
}

// blockRules judges the entries of a block: arity and duplicates first, then each config, then what
// they say together.
func (c *checker) blockRules(b *block) {
	seen := map[string]*node{}
	for _, e := range b.entries {
		if duplicate := c.arity(e, seen); duplicate {
			e.bad = true
			continue
		}
		if e.known == nil || e.known.config == nil || e.bad {
			continue
		}
		before := len(c.findings)
		c.lenient = e.open && c.form != Effective
		e.known.config(c, e)
		c.lenient = false
		for _, f := range c.findings[before:] {
			e.bad = e.bad || f.Severity == Error
		}
	}
	c.crossRules(b)
}

// arity reports an entry that stands twice. seen maps what the block holds so far to where it stands.
func (c *checker) arity(e *entry, seen map[string]*node) (duplicate bool) {
	t := e.n.get("type")
	whole := e.typ
	single := e.known != nil && e.known.single
	if !single {
		whole += "\x00\x00" + configText(e.config)
	}
	first := seen[whole]
	switch {
	case first == nil:
		seen[whole] = e.n
	case single:
		c.fail(codeSingleton, t, "%s is declared already; it stands once", t.quote()).Hint = "first at " + c.place(first)
		return true
	default:
		c.fail(codeTwice, e.n, "this is identical to %s", first.path()).Hint = "first at " + c.place(first)
		return true
	}
	if e.known == nil || e.known.keys == nil {
		return false
	}
	for _, k := range e.known.keys(e) {
		id := e.typ + "\x00" + k.text
		if first := seen[id]; first != nil {
			c.fail(codeInstance, k.at, "%s is declared already", k.what).Hint = "first at " + c.place(first)
			e.bad = true
		} else {
			seen[id] = k.at
		}
	}
	return false
}

// configText is equal for equal configs: the JSON of the values, as published descriptors are compared.
func configText(n *node) string {
	if n == nil || n.kind == object && len(n.fields) == 0 {
		return ""
	}
	if v, ok := n.value(); ok && n.kind == object {
		if out, err := json.Marshal(v); err == nil {
			return string(out)
		}
	}
	return n.path() // at fault itself, and unlike every other
}
