package descriptor

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

type kind uint8

const (
	scalar kind = iota
	object
	list
)

// Tags of scalars, as the YAML library spells them.
const (
	tagString = "!!str"
	tagInt    = "!!int"
	tagFloat  = "!!float"
	tagBool   = "!!bool"
	tagNull   = "!!null"
	tagTime   = "!!timestamp"
	tagBinary = "!!binary"
	tagMerge  = "!!merge"
)

// node is one value of a document with aliases and merge keys already followed, so that the rules see
// a plain tree. It knows its place in the source and in the tree.
type node struct {
	kind   kind
	tag    string // of a scalar
	text   string // of a scalar
	plain  bool   // a scalar without quotes
	fields []field
	items  []*node

	parent *node
	name   string // under which it stands in parent, or
	index  int    // its place there; -1 in an object

	at       Position
	src      *yaml.Node // nil for values that no document holds
	authored string     // the text before arguments were filled in, if they were
}

// field is one entry of an object. The key is a node as well: it has a place and may be at fault.
type field struct {
	name string
	key  *node
	val  *node
}

// get gives the value under name, nil when there is none or n is no object.
func (n *node) get(name string) *node {
	if n == nil {
		return nil
	}
	for i := range n.fields {
		if n.fields[i].name == name {
			return n.fields[i].val
		}
	}
	return nil
}

func (n *node) has(name string) bool { return n.get(name) != nil }

func (n *node) isNull() bool { return n != nil && n.kind == scalar && n.tag == tagNull }

// isString tells whether YAML takes the scalar for text.
func (n *node) isString() bool {
	if n == nil || n.kind != scalar {
		return false
	}
	switch n.tag {
	case tagInt, tagFloat, tagBool, tagNull, tagTime, tagBinary:
		return false
	}
	return true
}

// path is the dotted, zero-based way from the document to n.
func (n *node) path() string {
	switch {
	case n == nil || n.parent == nil:
		return ""
	case n.index >= 0:
		return n.parent.path() + "[" + strconv.Itoa(n.index) + "]"
	}
	return joinPath(n.parent.path(), n.name)
}

func joinPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// maxQuoted is how many characters of a value a message repeats.
const maxQuoted = 64

// quote shows the scalar in a message. Where an argument was filled in it shows what the author wrote:
// the value of an argument never appears in a message.
func (n *node) quote() string {
	if n.authored != "" {
		return quoted(n.authored)
	}
	return quoted(n.text)
}

func quoted(s string) string {
	if utf8.RuneCountInString(s) > maxQuoted {
		s = string([]rune(s)[:maxQuoted]) + "…"
	}
	return strconv.Quote(s)
}

// describe names the sort of value, for "want text, got …".
func (n *node) describe() string {
	switch n.kind {
	case object:
		return "a mapping"
	case list:
		return "a list"
	}
	switch n.tag {
	case tagInt, tagFloat:
		return "a number"
	case tagBool:
		return "a boolean"
	case tagNull:
		return "nothing"
	case tagTime:
		return "a date"
	case tagBinary:
		return "binary data"
	}
	return "text"
}

// locate finds the value at path, or the nearest container of it that exists.
func (n *node) locate(path string) *node {
	for path != "" {
		if path[0] == '[' {
			digits, rest, _ := strings.Cut(path[1:], "]")
			i, err := strconv.Atoi(digits)
			if err != nil || i < 0 || i >= len(n.items) {
				return n
			}
			n, path = n.items[i], rest
			continue
		}
		path = strings.TrimPrefix(path, ".")
		// Keys of a config may hold dots themselves: the longest key that fits is the one meant.
		var found *field
		for i := range n.fields {
			name := n.fields[i].name
			if strings.HasPrefix(path, name) && (len(path) == len(name) || path[len(name)] == '.' || path[len(name)] == '[') &&
				(found == nil || len(name) > len(found.name)) {
				found = &n.fields[i]
			}
		}
		if found == nil {
			return n
		}
		n, path = found.val, path[len(found.name):]
	}
	return n
}

// walk visits n and everything below it: keys, then values, in document order.
func (n *node) walk(visit func(n *node, key bool)) {
	if n == nil {
		return
	}
	visit(n, false)
	for i := range n.fields {
		visit(n.fields[i].key, true)
		n.fields[i].val.walk(visit)
	}
	for _, item := range n.items {
		item.walk(visit)
	}
}

// clone copies the tree.
func (n *node) clone(parent *node) *node {
	out := *n
	out.parent = parent
	if n.fields != nil {
		out.fields = make([]field, len(n.fields))
		for i, f := range n.fields {
			out.fields[i] = field{f.name, f.key.clone(&out), f.val.clone(&out)}
		}
	}
	if n.items != nil {
		out.items = make([]*node, len(n.items))
		for i, item := range n.items {
			out.items[i] = item.clone(&out)
		}
	}
	return &out
}

// value gives the JSON value of n. ok is false where JSON has none, such as for an infinite number.
func (n *node) value() (v any, ok bool) {
	switch n.kind {
	case object:
		m := make(map[string]any, len(n.fields))
		for _, f := range n.fields {
			if m[f.name], ok = f.val.value(); !ok {
				return nil, false
			}
		}
		return m, true
	case list:
		l := make([]any, len(n.items))
		for i, item := range n.items {
			if l[i], ok = item.value(); !ok {
				return nil, false
			}
		}
		return l, true
	}
	switch n.tag {
	case tagNull:
		return nil, true
	case tagBool, tagInt, tagFloat, tagTime, tagBinary:
		return n.typed()
	}
	return n.text, true
}

// typed reads a scalar that is not text. A date becomes the text that JSON writes for it.
func (n *node) typed() (any, bool) {
	if n.src == nil {
		return n.spelled()
	}
	var v any
	if err := n.src.Decode(&v); err != nil {
		return nil, false
	}
	switch v := v.(type) {
	case int:
		return int64(v), true
	case float64:
		return v, !math.IsInf(v, 0) && !math.IsNaN(v)
	case time.Time:
		text, err := v.MarshalText()
		return string(text), err == nil
	}
	return v, true
}

// spelled reads a scalar that no document holds: its text is the canonical spelling of its type.
func (n *node) spelled() (any, bool) {
	switch n.tag {
	case tagBool:
		return n.text == "true", true
	case tagInt:
		if v, err := strconv.ParseInt(n.text, 10, 64); err == nil {
			return v, true
		}
		v, err := strconv.ParseUint(n.text, 10, 64)
		return v, err == nil
	}
	v, err := strconv.ParseFloat(n.text, 64)
	return v, err == nil
}

// without gives n with one field left out.
func (n *node) without(name string) *node {
	out := *n
	out.fields = nil
	for _, f := range n.fields {
		if f.name != name {
			out.fields = append(out.fields, f)
		}
	}
	return &out
}

// nodeOf makes a tree of JSON values. Its nodes have no place.
func nodeOf(v any) *node {
	n := &node{index: -1}
	switch v := v.(type) {
	case map[string]any:
		n.kind = object
		for _, name := range sortedKeys(v) {
			child := nodeOf(v[name])
			child.parent, child.name = n, name
			key := &node{tag: tagString, text: name, parent: n, name: name, index: -1}
			n.fields = append(n.fields, field{name, key, child})
		}
	case []any:
		n.kind = list
		for i, item := range v {
			child := nodeOf(item)
			child.parent, child.index = n, i
			n.items = append(n.items, child)
		}
	case string:
		n.tag, n.text = tagString, v
	case nil:
		n.tag, n.text = tagNull, "null"
	case bool:
		n.tag, n.text = tagBool, strconv.FormatBool(v)
	case int64:
		n.tag, n.text = tagInt, strconv.FormatInt(v, 10)
	case uint64:
		n.tag, n.text = tagInt, strconv.FormatUint(v, 10)
	case float64:
		n.tag, n.text = tagFloat, strconv.FormatFloat(v, 'g', -1, 64)
	}
	return n
}
