package descriptor

import (
	"slices"
	"strings"
)

// networkPolicy1 judges network-policy@1: lists of host patterns per phase.
func networkPolicy1(c *checker, e *entry) {
	c.phases(e, func(list *node, allow bool) {
		c.eachText(list, nullAbsent, func(item *node, host string) { c.hostLint(item, host) })
	})
}

// networkPolicy2 judges network-policy@2, whose entries may be bound to methods and paths.
func networkPolicy2(c *checker, e *entry) {
	c.phases(e, func(list *node, allow bool) {
		for _, item := range c.items(list) {
			c.networkEntry(item, allow)
		}
	})
}

// phases visits the four lists of a network policy.
func (c *checker) phases(e *entry, visit func(list *node, allow bool)) {
	m, ok := c.mapping(e.read, "install", "runtime")
	if !ok {
		return
	}
	if e.config == nil || len(e.config.fields) == 0 {
		c.lint(codeNothing, e.read, "a policy without phases grants nothing")
	}
	for _, phase := range []string{"install", "runtime"} {
		lists, ok := c.mapping(m.get(phase), "allow", "deny")
		if !ok || lists.n == nil {
			continue
		}
		for _, name := range []string{"allow", "deny"} {
			if list := lists.get(name); list != nil {
				visit(list, name == "allow")
			}
		}
	}
}

// httpMethods are the methods that a bounded entry can name; ANY stands for these and all others.
var httpMethods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "ANY"}

func (c *checker) networkEntry(n *node, allow bool) {
	if n.kind == scalar {
		switch {
		case n.isNull() || n.isString() && n.text == "":
			c.failFirm(codeValue, n, "a host is empty")
		default:
			if host, literal := c.text(n); literal {
				c.hostLint(n, host)
			}
		}
		return
	}
	if n.kind != object {
		c.fail(codeKind, n, "want a host or a mapping of hosts, methods and paths, got %s", n.describe())
		return
	}
	if !c.object(n, []string{"hosts", "methods", "paths"}) {
		return
	}
	hosts, methods, paths := n.get("hosts"), n.get("methods"), n.get("paths")
	switch {
	case hosts == nil || hosts.isNull():
		f := c.failFirm(codeMissing, n, "hosts is missing")
		f.Path = joinPath(f.Path, "hosts")
	case hosts.kind == listKind && len(hosts.items) == 0:
		c.failFirm(codeMissing, hosts, "hosts lists no host")
	}
	// A stated but empty list would silently mean "all".
	for _, list := range []*node{methods, paths} {
		if list.isNull() || list != nil && list.kind == listKind && len(list.items) == 0 {
			c.failFirm(codeMissing, list, "%s is empty; leave it out to mean all", list.name)
		}
	}
	if paths != nil && methods == nil && !paths.isNull() && (paths.kind != listKind || len(paths.items) > 0) {
		c.failFirm(codeTogether, paths, "paths needs methods").Hint = "for all methods write methods: [ANY]"
	}
	bounded := methods != nil || paths != nil
	for _, item := range c.items(hosts.orNil()) {
		if item.isNull() || item.isString() && item.text == "" {
			c.failFirm(codeValue, item, "a host is empty")
			continue
		}
		host, literal := c.text(item)
		switch {
		case !literal:
		case bounded && allow && strings.Contains(host, "*"):
			c.fail(codeValue, item, "%s: an entry with methods or paths allows literal hosts only", item.quote())
		default:
			c.hostLint(item, host)
		}
	}
	c.methods(methods.orNil())
	c.eachText(paths.orNil(), nullError, func(item *node, s string) {
		if !strings.HasPrefix(s, "/") {
			c.fail(codeValue, item, "%s: a path begins with /", item.quote())
		}
	})
}

func (c *checker) methods(n *node) {
	seen := map[string]bool{}
	count := len(c.items(n))
	c.eachText(n, nullError, func(item *node, s string) {
		switch {
		case !slices.Contains(httpMethods, s):
			f := c.fail(codeChoice, item, "%s is none of %s", item.quote(), strings.Join(httpMethods, ", "))
			if slices.Contains(httpMethods, strings.ToUpper(s)) {
				f.Hint = "methods are written in upper case"
			}
		case seen[s]:
			c.fail(codeRepeat, item, "%s stands twice", item.quote())
		case s == "ANY" && count > 1:
			c.fail(codeTogether, item, "ANY stands alone")
		}
		seen[s] = true
	})
}

// hostLint warns of patterns that are accepted but match nothing, or not what was meant. The format
// itself has no grammar of hosts.
func (c *checker) hostLint(n *node, host string) {
	switch {
	case host == "":
		c.lint(codeHost, n, "an empty host matches nothing")
	case strings.Contains(host, "://"):
		rest := host[strings.Index(host, "://")+3:]
		rest, _, _ = strings.Cut(rest, "/")
		c.lint(codeHost, n, "%s has a scheme; a host pattern has none and covers every protocol", n.quote()).Hint = `write "` + rest + `"`
	case strings.ContainsAny(host, " \t\n\r\f\v"):
		c.lint(codeHost, n, "%s holds blanks and matches nothing", n.quote())
	case strings.Contains(host, "/"):
		c.lint(codeHost, n, "%s holds a slash and matches nothing", n.quote()).Hint = "paths are bound with network-policy@2"
	case strings.Contains(host, "@"):
		c.lint(codeHost, n, "%s holds a user name and matches nothing", n.quote())
	default:
		if port, ok := hostPort(host); ok && !isPort(port) {
			c.lint(codeHost, n, "%s: the port is no number from 1 to 65535", n.quote())
		} else if !hasLabels(host) {
			c.lint(codeHost, n, "%s is no host name and matches nothing: a label is empty, or begins or ends with a hyphen", n.quote())
		}
	}
}

// hasLabels tells whether the labels of a host pattern could be those of a name. An address in brackets
// has none to look at.
func hasLabels(host string) bool {
	if strings.HasPrefix(host, "[") {
		return true
	}
	name, _, _ := strings.Cut(host, ":")
	if name == "" {
		return strings.Count(host, ":") > 1 // an address such as ::1
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(name, "."), ".") {
		if label == "" || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
	}
	return true
}

// hostPort gives the text behind the colon of host:port; an address with several colons has none.
func hostPort(host string) (port string, ok bool) {
	if strings.HasPrefix(host, "[") {
		_, after, closed := strings.Cut(host, "]")
		return strings.TrimPrefix(after, ":"), closed && after != ""
	}
	_, port, ok = strings.Cut(host, ":")
	return port, ok && !strings.Contains(port, ":")
}

func isPort(s string) bool {
	return s != "" && len(s) <= 5 && every(s, digit) && s[0] != '0' && (len(s) < 5 || s <= "65535")
}
