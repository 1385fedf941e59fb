package descriptor

import "strings"

// The placeholders that a host fills into the argument lists of sessions.
const (
	promptMark  = "{{.Prompt}}"
	sessionMark = "{{.SessionID}}"
)

// agentSessions judges agent-sessions@1: how a host drives the agent without a terminal. Empty lists
// are absent.
func agentSessions(c *checker, e *entry) {
	m, ok := c.mapping(e.read, "prompt", "resume", "continue", "list")
	if !ok {
		return
	}
	verbs := c.tail(m, "prompt", promptMark) + c.tail(m, "resume", sessionMark) + c.tail(m, "continue", "")
	if _, stated := m.command("list"); stated {
		verbs++
	}
	if verbs == 0 && wellFormed(m, "prompt", "resume", "continue", "list") {
		c.fail(codeMissing, e.read, "sessions have at least one of prompt, resume, continue and list")
	}
}

// tail judges a list of arguments that must hold a mark somewhere, and counts the list unless empty.
func (c *checker) tail(m mapping, key, mark string) int {
	marked, literal := false, 0
	count := m.texts(key, func(_ *node, s string) {
		literal++
		marked = marked || strings.Contains(s, mark)
	})
	if count == 0 {
		return 0
	}
	if mark != "" && !marked && literal == count {
		c.fail(codeMissing, m.n.get(key), "no argument of %s holds %s", key, mark)
	}
	return 1
}

// agentInteractiveSessions judges agent-interactive-sessions@1, where an empty list is a statement.
func agentInteractiveSessions(c *checker, e *entry) {
	verbs := []string{"prompt", "resume", "continue", "newSession", "sessionPicker", "list"}
	if !c.object(e.read, verbs) {
		return
	}
	m := mapping{c: c, n: e.read, nulls: nullReported}
	c.nullsFirm(e.read)
	if len(e.read.fields) == 0 {
		c.fail(codeMissing, e.read, "interactive sessions state at least one of %s", strings.Join(verbs, ", "))
	}
	for _, key := range []string{"prompt", "resume"} {
		mark := promptMark
		if key == "resume" {
			mark = sessionMark
		}
		if n := e.read.get(key); n != nil && n.kind == listKind && len(n.items) == 0 {
			c.fail(codeMissing, n, "no argument of %s holds %s", key, mark)
			continue
		}
		if n := e.read.get(key); !n.isNull() {
			c.tail(m, key, mark)
		}
	}
	for _, key := range []string{"continue", "newSession", "sessionPicker"} {
		if n := e.read.get(key); !n.isNull() {
			m.texts(key, func(*node, string) {})
		}
	}
	if n := e.read.get("list"); n != nil && !n.isNull() {
		c.program(m, "list")
	}
}

// nullsFirm reports nulls of a config, at any depth, even while references are open.
func (c *checker) nullsFirm(n *node) {
	n.walk(func(v *node, key bool) {
		if !key && v.isNull() {
			c.failFirm(codeNull, v, "null is no value here; leave it out or give one")
		}
	})
}

// program judges a command that must name something to run, and takes it even while references are
// open.
func (c *checker) program(m mapping, key string) {
	n := m.n.get(key)
	switch {
	case n.kind == listKind && len(n.items) == 0:
		c.failFirm(codeMissing, n, "%s names no program", key)
	case n.kind == listKind && n.items[0].isString() && strings.TrimSpace(n.items[0].text) == "",
		n.isString() && strings.TrimSpace(n.text) == "":
		c.failFirm(codeMissing, n, "%s is blank", key)
	}
	m.command(key)
}

// sessionRules compares what the session types and the lifecycle of a block state about one thing.
func (c *checker) sessionRules(b *block) {
	life, plain, inter := b.of("lifecycle@1"), b.of("agent-sessions@1"), b.of("agent-interactive-sessions@1")
	if len(inter) == 0 {
		return
	}
	if len(life) > 0 {
		launch, fresh := life[0].read.get("interactive"), inter[0].read.get("newSession")
		if a, ok := literalList(launch); ok {
			if b, ok := literalList(fresh); ok && !equalTexts(a, b) {
				c.fail(codeAgree, fresh, "newSession differs from the lifecycle's interactive").Hint = "which is at " + c.place(launch)
			}
		}
	}
	if len(plain) > 0 {
		one, two := plain[0].read.get("list"), inter[0].read.get("list")
		a, okA := literalCommand(one)
		b, okB := literalCommand(two)
		if okA && okB && !equalTexts(a, b) {
			c.fail(codeAgree, two, "list differs from the one of agent-sessions").Hint = "which is at " + c.place(one)
		}
	}
}

// literalList gives the texts of a list that holds nothing else and no reference.
func literalList(n *node) ([]string, bool) {
	if n == nil || n.kind != listKind {
		return nil, false
	}
	var out []string
	for _, item := range n.items {
		if !item.isString() || open(item.text) {
			return nil, false
		}
		out = append(out, item.text)
	}
	return out, true
}

// literalCommand gives the arguments of a command that is stated, not empty and literal.
func literalCommand(n *node) ([]string, bool) {
	if n.isString() && !open(n.text) {
		return []string{"sh", "-c", n.text}, true
	}
	argv, ok := literalList(n)
	return argv, ok && len(argv) > 0
}

func equalTexts(a, b []string) bool {
	return len(a) == len(b) && strings.Join(a, "\x00") == strings.Join(b, "\x00")
}
