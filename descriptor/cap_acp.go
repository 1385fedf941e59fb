package descriptor

import "strings"

// acp judges acp@1: how an agent's protocol adapter is started. Presence, nulls and unknown keys are
// judged even while references are open.
func acp(c *checker, e *entry) {
	keys := []string{"agent", "command", "env", "protocolVersion"}
	lenient := c.lenient
	c.lenient = false
	ok := c.object(e.read, keys)
	c.nullsFirm(e.read)
	for _, key := range keys[:2] {
		if ok && !e.read.has(key) {
			c.failAt(codeMissing, e.read, key, "%s is missing", key)
		}
	}
	c.lenient = lenient
	if !ok {
		return
	}
	m := mapping{c: c, n: e.read, nulls: nullReported}
	if agent, literal := c.text(e.read.get("agent").orNil()); literal {
		if _, fault := normalName(agent); fault != nil {
			n := e.read.get("agent")
			if strings.Contains(agent, "@") {
				fault.hint = "an agent is named without a version"
			}
			c.report(n, fault, "")
		}
	}
	if n := e.read.get("command"); n != nil && !n.isNull() {
		c.program(m, "command")
		c.noNUL(n)
	}
	if env := e.read.get("env").orNil(); env != nil {
		if env.kind != object {
			c.fail(codeKind, env, "want a mapping of variable names, got %s", env.describe())
		}
		for _, f := range env.fields {
			if !isIdent(f.name) {
				c.fail(codeValue, f.key, "%s is not a variable name: letters, digits and underscores, no digit first", f.key.quote())
			}
			if !f.val.isNull() {
				c.text(f.val)
			}
		}
		c.noNUL(env)
	}
	if v := e.read.get("protocolVersion"); v != nil && !v.isNull() {
		if version, known := m.integer("protocolVersion"); known && version < 1 {
			c.fail(codeRange, v, "a protocol version is 1 or higher")
		}
	}
}

// noNUL reports text that no process can be started with.
func (c *checker) noNUL(n *node) {
	n.walk(func(v *node, key bool) {
		if v.kind == scalar && strings.Contains(v.text, "\x00") {
			c.fail(codeValue, v, "the text holds a NUL")
		}
	})
}

// acpKeys: one entry per agent, by its normalised name.
func acpKeys(e *entry) []instanceKey {
	n := e.read.get("agent")
	if !n.isString() || open(n.text) {
		return nil
	}
	name, fault := normalName(n.text)
	if fault != nil {
		return nil
	}
	return []instanceKey{{name, "the adapter of " + quoted(name), n}}
}
