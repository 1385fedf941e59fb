package descriptor

import (
	"fmt"
	"net/url"
	"path"
	"strings"
)

// judge runs the rules of c.form over the document. The order of the calls is the order in which
// findings at one place are shown.
func (d *Document) judge(c *checker) {
	// The rules read a misspelt key as the one meant; the document itself must not change.
	own := *d
	own.root = d.root.clone(nil)
	d = &own
	c.topLevel(d.root, &d.d)
	c.relations(d.root)
	c.capabilities(d.root, d.d.Kind)
	c.argRules(d.root)
	c.content(d.root, &d.d)
	c.references(d)
	if c.form == Published {
		c.published(d)
	}
	if c.form == Effective {
		c.effective(d)
	}
}

func (c *checker) topLevel(root *node, d *Descriptor) {
	switch n := root.get("kind"); {
	case n == nil:
		c.failAt(codeKindField, root, "kind", "kind is missing").Hint = "write kind: workload, kind: mixin or kind: set"
	case n.kind != scalar: // reported by decoding
	case d.Kind != Workload && d.Kind != Mixin && d.Kind != Set:
		f := c.fail(codeKindField, n, "kind is %s, not workload, mixin or set", n.quote())
		if meant := nearest(n.text, []string{"workload", "mixin", "set"}); meant != "" {
			f.Hint = fmt.Sprintf("did you mean %q?", meant)
		}
		if n.text == "sandbox" {
			f.Hint = `"sandbox" is the former name of "workload"`
		}
	}
	if n := root.get("iconUrl"); d.IconURL != "" {
		u, err := url.Parse(d.IconURL)
		if err != nil || !strings.EqualFold(u.Scheme, "https") || u.Hostname() == "" {
			c.fail(codeIconURL, n, "%s is not an absolute https URL", n.quote())
		}
	}
	if n := root.get("version"); d.Version != "" && !hasArgRef(d.Version) && !ValidVersion(d.Version) {
		c.report(n, badVersion("is not", d.Version), codeVersion)
	}
	if n := root.get("dockerfile"); d.Dockerfile != "" {
		clean := path.Clean(d.Dockerfile)
		switch {
		case path.IsAbs(clean):
			c.fail(codeDockerfile, n, "the recipe's path is absolute; it must be relative to the descriptor's directory")
		case clean == ".." || strings.HasPrefix(clean, "../"):
			c.fail(codeDockerfile, n, "the recipe's path leaves the descriptor's directory")
		case clean == ".":
			c.lint(codeDockerfile, n, "the recipe's path names the descriptor's directory itself")
		}
	}
}

// report puts a fault of the name grammars at its node. code, if not empty, overrides the fault's own.
func (c *checker) report(n *node, fault *grammarError, code string) {
	if code == "" {
		code = fault.code
	}
	message := fault.message
	if n.authored != "" {
		// The message of the grammar quotes parts of the text, and with it an argument's value.
		message = "does not follow the grammar once the arguments are filled in"
	}
	c.fail(code, n, "%s %s", n.quote(), message).Hint = fault.hint
}

func (c *checker) relations(root *node) {
	for _, n := range texts(root.get("provides")) {
		if hasArgRef(n.text) {
			continue // judged when published
		}
		p, fault := parseProvide(n.text)
		switch {
		case fault != nil:
			c.report(n, fault, "")
		case c.form == Authored && derivedNamespace(p.Namespace()):
			c.reserved(n, p.Namespace())
		}
	}
	for _, list := range []string{"requires", "integrates"} {
		for _, n := range texts(root.get(list)) {
			if c.literal(n, list) {
				if _, fault := parseRelation(n.text); fault != nil {
					c.report(n, fault, "")
				}
			}
		}
	}
	for _, n := range texts(root.get("conflicts")) {
		if !c.literal(n, "conflicts") {
			continue
		}
		if _, fault := normalName(strings.Trim(n.text, blanks)); fault != nil {
			if i := strings.IndexAny(n.text, "<>=@"); i > 0 {
				fault = &grammarError{codeConflict, "is not a bare name", "leave out the version: any version conflicts"}
			}
			c.report(n, fault, "")
		}
	}
}

func (c *checker) reserved(n *node, namespace string) {
	c.fail(codeReserved, n, "%s: entries under %s/ are derived from the package database when a workload is built, never written", n.quote(), namespace)
}

// literal reports an argument reference where the resolver needs the text as it stands.
func (c *checker) literal(n *node, list string) bool {
	if !hasArgRef(n.text) {
		return true
	}
	c.fail(codeLiteral, n, "%s takes no argument references", list)
	return false
}

// texts gives the items of a list that are scalars; the others were reported by decoding.
func texts(n *node) []*node {
	if n == nil || n.kind != list {
		return nil
	}
	var out []*node
	for _, item := range n.items {
		if item.kind == scalar {
			out = append(out, item)
		}
	}
	return out
}

// published adds the rules for what an artifact carries (SPEC-v3 §9.2).
func (c *checker) published(d *Document) {
	root := d.root
	if d.d.Kind == Set {
		c.fail(codeSetKind, root.get("kind"), "a set is published as the workload or mixin that it derives to")
	}
	if n := root.get("version"); n != nil && hasArgRef(d.d.Version) {
		c.fail(codeBuildRef, n, "a published version is literal, but an argument reference is left")
	}
	for _, n := range texts(root.get("provides")) {
		if hasArgRef(n.text) {
			c.fail(codeBuildRef, n, "a published provides entry is literal, but an argument reference is left")
			continue
		}
		if p, fault := parseProvide(n.text); fault == nil && p.Version == "" && d.d.Version == "" {
			c.fail(codeUnstated, n, "%s has no version, and the descriptor states none either", n.quote()).
				Hint = fmt.Sprintf("write %s@VERSION, or set version", strings.Trim(n.text, blanks))
		}
	}
	if kits := root.get("kits"); kits != nil {
		for _, k := range kits.items {
			if ref := k.get("ref"); ref != nil && hasArgRef(ref.text) {
				c.fail(codeUnpinned, ref, "a published kit reference is literal, but an argument reference is left")
			}
			if digest := k.get("digest"); digest == nil || digest.kind == scalar && digest.text == "" {
				c.failAt(codeUnpinned, k, "digest", "a published descriptor records the digest of each kit")
			}
		}
	}
	build := map[string]bool{}
	for name, a := range d.d.Args {
		build[name] = a.BuildArg != ""
	}
	root.walk(func(n *node, key bool) {
		if n.kind != scalar || judgedElsewhere(n) {
			return
		}
		for _, r := range argRefs(n.text) {
			if build[r.name] {
				c.fail(codeBuildRef, n, "the argument %q is resolved while building, but a reference to it is left", r.name)
			}
		}
	})
	// Derived entries, arguments and aliases may have made more of it than was read.
	if size := d.publishedSize(); size > MaxSize {
		c.fail(codeTooLarge, root, "the published descriptor has %d bytes; at most %d are allowed", size, MaxSize)
	} else if size > WarnSize && len(d.raw) <= WarnSize {
		c.warn(codeLarge, root, "the published descriptor has %d bytes", size)
	}
}

// judgedElsewhere: version, provides[i] and kits[i].ref have messages of their own.
func judgedElsewhere(n *node) bool {
	p := n.parent
	switch {
	case p == nil:
		return false
	case p.parent == nil:
		return n.name == "version"
	case p.parent.parent == nil:
		return p.name == "provides"
	}
	return n.name == "ref" && p.index >= 0 && p.parent.name == "kits" && p.parent.parent.parent == nil
}

func (d *Document) publishedSize() int {
	out, err := d.d.JSON()
	if err != nil {
		return 0
	}
	return len(out)
}

// effective adds the rules for what a sandbox uses: nothing is left open.
func (c *checker) effective(d *Document) {
	d.root.walk(func(n *node, key bool) {
		if n.kind != scalar {
			return
		}
		if refs := argRefs(n.text); len(refs) > 0 {
			c.fail(codeOpenRef, n, "a reference to the argument %q is left", refs[0].name)
		}
	})
	if list := d.root.get("capabilities"); list != nil {
		for _, e := range list.items {
			if g := e.get("group"); g != nil {
				c.fail(codeOpenGroup, g, "a group is left; groups are selected before a descriptor takes effect")
			}
			e.get("config").walk(func(n *node, key bool) {
				if !key && n.kind == scalar && hasEnvRef(n.text) {
					c.fail(codeOpenRef, n, "an environment reference is left")
				}
			})
		}
	}
}
