package descriptor

import "strings"

// crossRules judges what the entries of a block say together (SPEC-v3 §7.2).
func (c *checker) crossRules(b *block) {
	for _, e := range b.of("sbx@1") {
		if e.kind == Mixin {
			c.fail(codeForbidden, e.n.get("type"), "only a workload runs as an sbx agent, and this kit is a mixin")
		}
	}
	if v1, v2 := b.of("network-policy@1"), b.of("network-policy@2"); len(v1) > 0 && len(v2) > 0 {
		c.fail(codeSingleton, v2[0].n.get("type"), "the policy is stated as network-policy@1 already; one version per block").
			Hint = "first at " + c.place(v1[0].n)
	}
	c.contextRules(b)
	c.sharedPaths(b)
	c.sessionRules(b)
}

// injectRules checks that each host into which a key is injected is one that the policy allows in the
// same phase (credential@1/inject-domain-in-allow). It is run where a block is complete: nothing is
// filled in later, and the policy itself is sound.
func (c *checker) injectRules(b *block) {
	var policies []*entry
	for _, e := range b.entries {
		if e.open {
			return
		}
		if strings.HasPrefix(e.typ, platformNamespace+"network-policy@") && e.known != nil {
			policies = append(policies, e)
		}
	}
	if len(policies) > 1 || len(policies) == 1 && policies[0].bad {
		return
	}
	for _, e := range b.of("credential@1") {
		if e.bad {
			continue
		}
		for _, rule := range e.read.get("apiKey").get("inject").list() {
			domain := rule.get("domain")
			for _, phase := range literalPhases(e) {
				c.inject(domain, phase.text, policies)
			}
		}
	}
}

// list gives the items of n, none for nil.
func (n *node) list() []*node {
	if n == nil {
		return nil
	}
	return n.items
}

func (c *checker) inject(domain *node, phase string, policies []*entry) {
	host := withoutPort(domain.text)
	var allowed []*node
	if len(policies) == 1 {
		allowed = allowedHosts(policies[0].read.get(phase).get("allow"))
	}
	names := make([]string, len(allowed))
	for i, h := range allowed {
		switch names[i] = withoutPort(h.text); names[i] {
		case "*", "**", host:
			return
		}
	}
	f := c.fail(codeInject, domain, "host is not in the %s allow list", phase)
	if meant := nearest(host, names); meant != "" {
		for i, name := range names {
			if name == meant {
				f.Hint = `did you mean "` + meant + `", allowed at ` + c.place(allowed[i]) + "?"
				return
			}
		}
	}
	if len(allowed) == 0 {
		f.Hint = "the network policy allows no host in that phase"
	}
}

// allowedHosts gives the hosts of an allow list, those of bounded entries included.
func allowedHosts(allow *node) []*node {
	var out []*node
	for _, item := range allow.list() {
		if item.kind == object {
			out = append(out, item.get("hosts").list()...)
		} else {
			out = append(out, item)
		}
	}
	return out
}

// withoutPort cuts at the first colon, as the rule is written; an IPv6 address loses its tail to it.
func withoutPort(host string) string {
	name, _, _ := strings.Cut(host, ":")
	return name
}
