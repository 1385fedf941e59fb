package descriptor

import (
	"fmt"
	"slices"
	"strings"
)

// ExpandCreate replaces the references to create-phase args by the values of given, and where it has
// none by the defaults. A given value that is exactly one reference (a set re-exporting the arg) is
// put in as it stands. Errors are: names that are not declared or were resolved while building, a
// reference inside of longer text, required args without value, a referenced arg without any, values
// against enum or pattern, and values that hold or form a placeholder. No message holds a value.
//
// The result is a value of its own, without declarations of arguments: judge it by decoding its JSON.
func (d *Document) ExpandCreate(given map[string]string) (*Descriptor, error) {
	c := &checker{name: d.name}
	values := c.createValues(d, given)
	x := &creator{c: c, values: values}
	tree := x.node(d.root.without("args"))
	if len(c.findings) > 0 {
		return nil, d.invalid(c.findings)
	}
	if x.grown > maxGrowth {
		return nil, d.Errorf(codeTooLarge, "args", "", "the values of the arguments add more than %d bytes to the descriptor", maxGrowth)
	}
	next := &checker{name: d.name}
	out := next.descriptor(tree)
	if err := d.invalid(next.findings); len(err.Findings) > 0 {
		return nil, err
	}
	return &out, nil
}

// createValues resolves the args of the create phase.
func (c *checker) createValues(d *Document, given map[string]string) map[string]string {
	args := d.root.get("args")
	if args == nil {
		args = d.root
	}
	for _, name := range sortedKeys(given) {
		a, declared := d.d.Args[name]
		switch {
		case !declared:
			f := c.failAt(codeArgUnknown, args, name, "a value was given for %q, which the kit does not declare", name)
			if meant := nearest(name, sortedKeys(d.d.Args)); meant != "" {
				f.Hint = fmt.Sprintf("did you mean %q?", meant)
			}
		case a.BuildArg != "":
			c.fail(codeArgPhase, args.get(name), "a value was given for %q, which was resolved when the kit was built", name)
		}
	}
	values := map[string]string{}
	for _, name := range sortedKeys(d.d.Args) {
		a := d.d.Args[name]
		if a.BuildArg != "" {
			continue
		}
		at := args.get(name)
		value, ok := given[name]
		_, reexport := wholeRef(value)
		if !ok && a.Default != nil {
			value, ok = *a.Default, true
		}
		switch {
		case !ok && a.Required:
			c.fail(codeArgMissing, at, "the argument %q is required and has no value", name)
		case !ok:
		case reexport:
			values[name] = value
		case hasOpener(value, "args") || hasOpener(value, "env"):
			c.fail(codeArgOpener, at, "the value of %q holds a placeholder", name)
		default:
			if err := checkArg(a, value); err != nil {
				c.fail(codeArgValue, at, "argument %q: %s", name, err)
			}
			values[name] = value
		}
	}
	return values
}

// creator copies a tree with the values filled in.
type creator struct {
	c      *checker
	values map[string]string
	grown  int // bytes filled in so far
}

func (x *creator) node(n *node) *node {
	out := *n
	switch n.kind {
	case scalar:
		return x.scalar(n, adoptsType(n))
	case list:
		out.items = make([]*node, len(n.items))
		for i, item := range n.items {
			out.items[i] = x.node(item)
			out.items[i].parent = &out
		}
	case object:
		out.fields = make([]field, len(n.fields))
		seen := make(map[string]bool, len(n.fields))
		for i, f := range n.fields {
			key, val := x.scalar(f.key, false), x.node(f.val)
			key.parent, val.parent = &out, &out
			key.name, val.name = key.text, key.text
			if seen[key.text] {
				x.c.fail(codeArgCollide, f.key, "two keys become equal once the arguments are filled in")
			}
			seen[key.text] = true
			out.fields[i] = field{key.text, key, val}
		}
	}
	return &out
}

func (x *creator) scalar(n *node, adopts bool) *node {
	out := *n
	refs := argRefs(n.text)
	if !n.isString() || len(refs) == 0 {
		return &out
	}
	for _, r := range refs {
		if _, ok := x.values[r.name]; !ok {
			x.c.fail(codeArgMissing, n, "the argument %q has no value", r.name)
			return &out
		}
	}
	var kept []extent
	out.text, kept = x.fill(n.text, refs)
	out.authored, out.tag, out.plain, out.src = n.text, tagString, false, nil
	if name, whole := wholeRef(n.text); whole && adopts {
		out.tag = adopt(x.values[name])
	}
	for _, p := range placeholders(out.text) {
		if !slices.ContainsFunc(kept, func(k extent) bool { return k.from <= p.from && p.to <= k.to }) {
			x.c.fail(codeArgOpener, n, "the text and an argument's value form a placeholder together")
			break
		}
	}
	return &out
}

// extent is a range of bytes.
type extent struct{ from, to int }

// fill puts the values in. kept are the ranges of the result in which a placeholder is no fault: the
// author's own text between the references, and re-exported references.
func (x *creator) fill(s string, refs []reference) (out string, kept []extent) {
	var b strings.Builder
	last := 0
	literal := func(to int) {
		kept = append(kept, extent{b.Len(), b.Len() + to - last})
		b.WriteString(s[last:to])
	}
	for _, r := range refs {
		literal(r.start)
		value := x.values[r.name]
		if x.grown += len(value); x.grown > maxGrowth {
			value = ""
		}
		if _, reexport := wholeRef(value); reexport {
			kept = append(kept, extent{b.Len(), b.Len() + len(value)})
		}
		b.WriteString(value)
		last = r.end
	}
	literal(len(s))
	return b.String(), kept
}

// adoptsType tells whether a whole reference at n takes the type of its value: everywhere but in the
// size and mode of a volume.
func adoptsType(n *node) bool {
	if n.name != "size" && n.name != "mode" || n.parent == nil || n.parent.name != "config" {
		return true
	}
	t := n.parent.parent.get("type")
	return t == nil || t.text != platformNamespace+"volume@1"
}
