package descriptor

import (
	"slices"
	"strings"
)

// The phases of a sandbox in which a grant can hold.
var phases = []string{"install", "runtime"}

// phaseRules judges the field phase of credential@1 and ssh-agent@1, a word or a list of distinct
// ones. It holds while other fields are filled in later.
func (c *checker) phaseRules(e *entry) {
	n := e.read.get("phase")
	switch {
	case n == nil:
		f := c.failFirm(codeMissing, e.read, "phase is missing")
		f.Path, f.Hint = joinPath(f.Path, "phase"), "write phase: install, phase: runtime or a list of both"
	case n.kind == listKind:
		if len(n.items) == 0 {
			c.failFirm(codeMissing, n, "phase lists no phase")
		}
		var seen []string
		for _, item := range n.items {
			c.phaseWord(item)
			if item.isString() && slices.Contains(seen, item.text) {
				c.failFirm(codeRepeat, item, "%s stands twice", item.quote())
			}
			seen = append(seen, item.text)
		}
	default:
		c.phaseWord(n)
	}
}

func (c *checker) phaseWord(n *node) {
	switch {
	case !n.isString():
		c.failFirm(codeKind, n, "want install or runtime, got %s", n.describe())
	case open(n.text):
	case !slices.Contains(phases, n.text):
		f := c.failFirm(codeChoice, n, "%s is none of install, runtime", n.quote())
		if meant := nearest(n.text, phases); meant != "" {
			f.Hint = `did you mean "` + meant + `"?`
		}
	}
}

// literalPhases gives the phases that an entry names, each once, as far as they are literal.
func literalPhases(e *entry) []*node {
	n := e.read.get("phase")
	if n == nil {
		return nil
	}
	words := n.items
	if n.kind == scalar {
		words = []*node{n}
	}
	var out []*node
	for _, w := range words {
		again := slices.ContainsFunc(out, func(o *node) bool { return o.text == w.text })
		if w.isString() && slices.Contains(phases, w.text) && !again {
			out = append(out, w)
		}
	}
	return out
}

// credential judges credential@1: a service, and how its secret is presented.
func credential(c *checker, e *entry) {
	m, ok := c.strictMapping(e.read, "service", "phase", "apiKey", "oauth")
	if !ok {
		return
	}
	c.phaseRules(e)
	switch service, literal := m.text("service"); {
	case literal && !isLabel(service, maxNameLen):
		c.fail(codeValue, e.read.get("service"), "%s is not a service: 1 to %d lower-case letters, digits and hyphens", e.read.get("service").quote(), maxNameLen)
	case !m.has("service"):
		c.failMissing(e.read, "service", "a credential is for a service")
	}
	if !m.has("apiKey") && !m.has("oauth") {
		c.fail(codeMissing, e.read, "a credential is presented as apiKey or by oauth, but neither is there")
	}
	c.apiKey(m.get("apiKey"))
	c.oauth(m.get("oauth"))
}

func (c *checker) apiKey(n *node) {
	if n == nil {
		return
	}
	m, ok := c.strictMapping(n, "name", "proxyManaged", "inject")
	if !ok {
		return
	}
	name, literal := m.text("name")
	if literal && name != "" && !isIdent(name) {
		c.fail(codeValue, n.get("name"), "%s is not a variable name: letters, digits and underscores, no digit first", n.get("name").quote())
	}
	m.flag("proxyManaged")
	inject := m.list("inject")
	named := n.has("name") && (!literal || name != "")
	if list := n.get("inject").orNil(); !named && len(inject) == 0 && (list == nil || list.kind == listKind) {
		c.fail(codeMissing, n, "an API key has a name or is injected, but neither is stated")
	}
	for _, rule := range inject {
		r, ok := c.strictMapping(rule, "domain", "header", "format", "scheme", "username")
		if !ok {
			continue
		}
		switch domain, literal := r.text("domain"); {
		case literal && domain == "":
			c.fail(codeMissing, rule.get("domain"), "the domain is empty")
		case literal:
			c.hostLint(rule.get("domain"), domain)
		case !r.has("domain"):
			c.failMissing(rule, "domain", "a key is injected into requests to a host")
		}
		for _, key := range []string{"header", "format", "scheme", "username"} {
			r.text(key)
		}
	}
}

func (c *checker) oauth(n *node) {
	if n == nil {
		return
	}
	m, ok := c.strictMapping(n, "tokenEndpoint", "resourceHosts", "sentinels", "credentialFile", "responseFields", "passthrough")
	if !ok {
		return
	}
	if endpoint := m.get("tokenEndpoint"); endpoint != nil {
		if t, ok := c.strictMapping(endpoint, "host", "path"); ok {
			switch host, literal := t.text("host"); {
			case literal && host == "":
				c.fail(codeMissing, endpoint.get("host"), "the host is empty")
			case !t.has("host"):
				c.failMissing(endpoint, "host", "a token endpoint is on a host")
			}
			t.text("path")
		}
	}
	m.texts("resourceHosts", c.hostLint)
	c.textFields(m.get("sentinels"), "accessToken", "refreshToken")
	c.textFields(m.get("responseFields"), "accessToken", "refreshToken", "expiresIn")
	c.credentialFile(m.get("credentialFile"))
	m.flag("passthrough")
}

// textFields judges a mapping whose fields are all text.
func (c *checker) textFields(n *node, keys ...string) {
	if n == nil {
		return
	}
	if m, ok := c.strictMapping(n, keys...); ok {
		for _, key := range keys {
			m.text(key)
		}
	}
}

func (c *checker) credentialFile(n *node) {
	if n == nil {
		return
	}
	m, ok := c.strictMapping(n, "path", "structure", "format")
	if !ok {
		return
	}
	if m.text("path"); !m.has("path") {
		c.lint(codeMissing, n, "a credential file without path is written nowhere")
	}
	format, literal := m.text("format")
	if literal && format != "json" && format != "toml" {
		c.fail(codeChoice, n.get("format"), "%s is none of json, toml", n.get("format").quote())
	}
	structure := m.get("structure")
	if structure == nil {
		return
	}
	if structure.kind != object {
		c.fail(codeKind, structure, "want a mapping, got %s", structure.describe())
		return
	}
	structure.walk(func(v *node, key bool) {
		if !key && v.isNull() && strings.EqualFold(format, "toml") {
			c.fail(codeNull, v, "TOML has no null")
		}
	})
}

// credentialKeys: one entry per service and phase.
func credentialKeys(e *entry) []instanceKey {
	service := e.read.get("service")
	if !service.isString() || open(service.text) {
		return nil
	}
	var out []instanceKey
	for _, phase := range literalPhases(e) {
		out = append(out, instanceKey{service.text + "\x00" + phase.text,
			"a credential for " + quoted(service.text) + " in the phase " + phase.text, service})
	}
	return out
}
