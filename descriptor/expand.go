package descriptor

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// ExpandBuild replaces each reference to a build-phase arg, in values, keys and comments (SPEC-v3 §6).
// References to other args stay. A value that is exactly one reference takes the type that its text
// spells, except where the format wants text; inserted text is never scanned again, and never changes
// the structure of the document.
//
// It refuses a reference to a build-phase arg without value, two keys of one mapping that become
// equal, and names of a package database in provides that a value brought in. The result is decoded
// anew; its positions count in the authored bytes.
func (d *Document) ExpandBuild(values map[string]string) (*Document, error) {
	c := &checker{name: d.name}
	x := &expander{values: map[string]string{}, authored: map[*yaml.Node]string{}}
	for _, name := range sortedKeys(d.d.Args) {
		v, ok := values[name]
		switch {
		case !ok || d.d.Args[name].BuildArg == "":
		case !utf8.ValidString(v):
			c.fail(codeArgValue, d.root.get("args").get(name), "argument %q: the value is not UTF-8", name)
		default:
			x.values[name] = v
		}
	}
	d.root.walk(func(n *node, key bool) {
		if n.kind != scalar {
			return
		}
		for _, r := range argRefs(n.text) {
			if _, ok := values[r.name]; !ok && d.d.Args[r.name].BuildArg != "" {
				c.fail(codeArgMissing, n, "the argument %q has no value", r.name).Hint = "give one with --build-arg " + r.name + "=VALUE"
			}
		}
	})
	if len(c.findings) > 0 {
		return nil, d.invalid(c.findings)
	}
	tree := x.copy(d.tree, map[*yaml.Node]*yaml.Node{}, roleText)
	if x.grown > maxGrowth {
		return nil, d.Errorf(codeTooLarge, "args", "", "the values of the arguments add more than %d bytes to the descriptor", maxGrowth)
	}
	next := &Document{name: d.name, src: d.src, skew: d.skew, parsed: d.parsed, tree: tree, authored: x.authored}
	c = &checker{name: d.name, form: Authored}
	out, err := next.read(c)
	if err != nil {
		return nil, err
	}
	c = &checker{name: d.name}
	for _, n := range texts(out.root.get("provides")) {
		if p, fault := parseProvide(n.text); fault == nil && derivedNamespace(p.Namespace()) {
			c.reserved(n, p.Namespace())
		}
	}
	if len(c.findings) > 0 {
		return nil, out.invalid(c.findings)
	}
	return out, nil
}

// expander copies a tree and fills in the values on the way.
type expander struct {
	values   map[string]string
	authored map[*yaml.Node]string // of the copies
	grown    int                   // bytes filled in so far
}

// maxGrowth is how much text the values of arguments may add to a document in all. What is published
// is bounded more tightly; this bounds the work until then.
const maxGrowth = 4 << 20

func (x *expander) value(name string) (string, bool) {
	v, ok := x.values[name]
	if x.grown += len(v); x.grown > maxGrowth {
		return "", ok
	}
	return v, ok
}

// copy gives a copy of y. Anchored values stay shared; done maps them to their copies.
func (x *expander) copy(y *yaml.Node, done map[*yaml.Node]*yaml.Node, role role) *yaml.Node {
	out := *y
	out.Content = nil
	done[y] = &out
	out.HeadComment = substitute(y.HeadComment, x.value)
	out.LineComment = substitute(y.LineComment, x.value)
	out.FootComment = substitute(y.FootComment, x.value)
	switch y.Kind {
	case yaml.AliasNode:
		return x.alias(&out, done, role)
	case yaml.ScalarNode:
		x.scalar(&out, role)
		return &out
	}
	for i, child := range y.Content {
		out.Content = append(out.Content, x.copy(child, done, role.child(y, i)))
	}
	return &out
}

// alias points at the copy of its target, unless this place needs another type of scalar.
func (x *expander) alias(out *yaml.Node, done map[*yaml.Node]*yaml.Node, role role) *yaml.Node {
	target := out.Alias
	if copied := done[target]; copied != nil {
		out.Alias = copied
	}
	if target.Kind != yaml.ScalarNode {
		return out
	}
	own := *target
	own.Anchor, own.HeadComment, own.LineComment, own.FootComment = "", out.HeadComment, out.LineComment, out.FootComment
	own.Line, own.Column = out.Line, out.Column
	x.scalar(&own, role)
	if own.ShortTag() == out.Alias.ShortTag() {
		return out
	}
	return &own
}

func (x *expander) scalar(out *yaml.Node, role role) {
	if out.ShortTag() != tagString {
		return
	}
	before := out.Value
	name, whole := wholeRef(before)
	value, known := x.values[name]
	out.Value = substitute(before, x.value)
	if out.Value == before && !(whole && known) {
		return
	}
	x.authored[out] = before
	out.Tag = tagString
	if whole && known && role == roleConfig {
		if tag := adopt(value); tag != tagString {
			out.Tag, out.Style = tag, 0
		}
		if f, err := strconv.ParseFloat(value, 64); err == nil && out.Tag == tagFloat && !strings.Contains(value, ".") {
			out.Value = strconv.FormatFloat(f, 'e', -1, 64) // YAML would take its digits for an integer
		}
	}
	switch {
	case out.Style&yaml.FoldedStyle != 0: // the lines of a folded text were joined when it was read
		out.Style = yaml.LiteralStyle
	case out.Style&yaml.LiteralStyle == 0 && strings.Contains(out.Value, "\n"):
		out.Style = yaml.DoubleQuotedStyle
	}
}

// adopt gives the type that a whole value takes: the one whose own spelling the text is.
func adopt(s string) string {
	if s == "true" || s == "false" {
		return tagBool
	}
	if i, err := strconv.ParseInt(s, 10, 64); err == nil && strconv.FormatInt(i, 10) == s {
		return tagInt
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) && strconv.FormatFloat(f, 'f', -1, 64) == s {
		return tagFloat
	}
	return tagString
}

// role says where in the document a value stands, as far as its type depends on that.
type role int

const (
	roleText    role = iota // text, whatever it spells; keys are
	roleRoot                // the mapping at the top
	roleList                // a list of capabilities
	roleEntry               // one capability
	roleVolume              // one of volume@1
	roleGroup               // a group
	roleConfig              // a config, or a value inside of one
	roleStorage             // the config of a volume: its size and mode stay text
)

// child gives the role of y.Content[i].
func (r role) child(y *yaml.Node, i int) role {
	switch y.Kind {
	case yaml.DocumentNode:
		return roleRoot
	case yaml.SequenceNode:
		switch {
		case r == roleList && isVolume(y.Content[i]):
			return roleVolume
		case r == roleList:
			return roleEntry
		case r == roleStorage:
			return roleConfig
		}
		return r
	}
	if i%2 == 0 {
		return roleText
	}
	key := y.Content[i-1]
	switch name := key.Value; {
	case key.ShortTag() == tagMerge:
		return r
	case (r == roleRoot || r == roleGroup) && name == "capabilities":
		return roleList
	case r == roleEntry && name == "group":
		return roleGroup
	case r == roleVolume && name == "config":
		return roleStorage
	case r == roleEntry && name == "config", r == roleConfig, r == roleStorage && name != "size" && name != "mode":
		return roleConfig
	}
	return roleText
}

func isVolume(y *yaml.Node) bool {
	for i := 0; i+1 < len(y.Content); i += 2 {
		if y.Content[i].Value != "type" {
			continue
		}
		v := y.Content[i+1]
		if v.Kind == yaml.AliasNode {
			v = v.Alias
		}
		return v.Value == platformNamespace+"volume@1"
	}
	return false
}
