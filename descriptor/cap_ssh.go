package descriptor

import "strings"

// sshAgent judges ssh-agent@1: signatures from the host's agent, all of them or bounded ones.
func sshAgent(c *checker, e *entry) {
	m, ok := c.strictMapping(e.read, "phase", "unrestricted", "sign", "authenticate")
	if !ok {
		return
	}
	c.phaseRules(e)
	n := e.read.get("unrestricted")
	value, known := m.flag("unrestricted")
	bounded := known && !value
	lists := 0
	for _, key := range []string{"sign", "authenticate"} {
		list := e.read.get(key)
		if list == nil || list.isNull() {
			if list != nil {
				m.get(key) // says that null is no value
			}
			continue
		}
		lists++
		// A reference in unrestricted is taken to hold whatever the lists need.
		if !bounded && (n == nil || known) {
			c.failFirm(codeTogether, list, "%s bounds the agent, which takes unrestricted: false", key)
		}
		c.bounds(list, key)
	}
	if bounded && lists == 0 {
		c.failFirm(codeTogether, n, "a bounded agent has sign, authenticate or both")
	}
}

func (c *checker) bounds(list *node, key string) {
	if list.kind == listKind && len(list.items) == 0 {
		c.failFirm(codeMissing, list, "%s is empty", key)
	}
	seen := map[string]bool{}
	c.eachText(list, nullError, func(item *node, s string) {
		switch {
		case seen[s]:
			c.fail(codeRepeat, item, "%s stands twice", item.quote())
		case key == "sign" && (s == "" || !every(s, func(b byte) bool { return b >= '!' && b <= '~' })):
			c.fail(codeValue, item, "%s is not a signature namespace: visible ASCII without blanks", item.quote())
		case key == "authenticate" && !isLogin(s):
			c.fail(codeValue, item, "%s is not [user@]host, the host a lower-case name and no address", item.quote())
		}
		seen[s] = true
	})
}

// isLogin: an optional user, then a host of lower-case DNS labels that is no IP address.
func isLogin(s string) bool {
	host := s
	if user, rest, ok := strings.Cut(s, "@"); ok {
		if user == "" || !lower(user[0]) && user[0] != '_' ||
			!every(user, func(b byte) bool { return lowerAlnum(b) || strings.IndexByte("_.-", b) >= 0 }) {
			return false
		}
		host = rest
	}
	for _, label := range strings.Split(host, ".") {
		if !isLabel(label, len(label)) {
			return false
		}
	}
	return !every(host, func(b byte) bool { return digit(b) || b == '.' })
}

// sshAgentKeys: one entry per phase.
func sshAgentKeys(e *entry) []instanceKey {
	var out []instanceKey
	for _, phase := range literalPhases(e) {
		out = append(out, instanceKey{phase.text, "the agent in the phase " + phase.text, phase})
	}
	return out
}
