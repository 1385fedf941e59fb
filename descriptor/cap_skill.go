package descriptor

import "path"

// maxSkillName is the longest name of a skill, in bytes: it becomes a directory.
const maxSkillName = 255

// AgentSkill is the config of agent-skill@1: a directory of the image, and the name under which
// agents see it. Name is the effective one: the base name of Path where none was stated.
type AgentSkill struct{ Path, Name string }

// DecodeAgentSkill reads c.Config strictly. References that are still open are kept as text.
func DecodeAgentSkill(c Capability) (AgentSkill, error) {
	e, fault := decodeConfig(c, TypeAgentSkill)
	if fault != nil {
		return AgentSkill{}, fault
	}
	s := AgentSkill{Path: e.read.get("path").text}
	if n := e.read.get("name"); n.isString() {
		s.Name = n.text
	} else {
		s.Name = path.Base(s.Path)
	}
	return s, nil
}

// agentSkill judges agent-skill@1. Its path is judged even while the name is filled in later.
func agentSkill(c *checker, e *entry) {
	m, ok := c.mapping(e.read, "path", "name")
	if !ok {
		return
	}
	lenient := c.lenient
	c.lenient = false
	defer func() { c.lenient = lenient }()
	where := e.read.get("path")
	_, literal := m.canonicalPath("path", false)
	if where.isString() && open(where.text) {
		switch {
		case hasEnvRef(where.text) && c.form == Authored, hasArgRef(where.text) && c.form == Authored && !e.buildOnly(where.text):
			c.lint(codeSkillPath, where, "a published skill's path is literal; this reference is still open then")
		case c.form == Published:
			c.fail(codeSkillPath, where, "a published skill's path is literal")
		}
	}
	stated := e.read.get("name")
	switch {
	case stated.isNull():
		c.fail(codeNull, stated, "name is null; leave it out or give a value")
	case stated != nil:
		if name, ok := m.text("name"); ok && !isSkillName(name) {
			c.fail(codeValue, stated, "%s is not a skill's name: letters, digits, dots, hyphens and underscores, a letter or digit first", stated.quote())
		}
	case literal && !isSkillName(path.Base(where.text)):
		c.fail(codeValue, where, "the base name of %s is not a skill's name", where.quote()).Hint = "state a name"
	}
}

// buildOnly tells whether all references of s are filled in by the build.
func (e *entry) buildOnly(s string) bool {
	root := e.n
	for root != nil && root.parent != nil {
		root = root.parent
	}
	for _, r := range argRefs(s) {
		if b := root.get("args").get(r.name).get("buildArg"); b == nil || b.text == "" {
			return false
		}
	}
	return true
}

func isSkillName(s string) bool {
	return s != "" && len(s) <= maxSkillName && alnum(s[0]) &&
		every(s, func(b byte) bool { return alnum(b) || b == '.' || b == '_' || b == '-' })
}

// agentSkillKeys: one entry per effective name.
func agentSkillKeys(e *entry) []instanceKey {
	name := ""
	n := e.read.get("name")
	switch p := e.read.get("path"); {
	case n.isString():
		name = n.text
	case n == nil && p.isString():
		n, name = p, path.Base(p.text)
	}
	if n == nil || name == "" || open(n.text) {
		return nil
	}
	return []instanceKey{{name, "a skill named " + quoted(name), n}}
}
