package descriptor

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// mapping reads one mapping of a config.
type mapping struct {
	c     *checker
	n     *node // nil: absent, all fields are
	nulls nullRule
}

// nullRule says what null means to a type.
type nullRule int

const (
	nullAbsent   nullRule = iota // the same as leaving the field out
	nullError                    // an error
	nullReported                 // an error that was reported for the whole config already
)

// mapping opens n with the keys it may have. ok is false when n is something else.
func (c *checker) mapping(n *node, keys ...string) (m mapping, ok bool) {
	if n != nil && !c.object(n, keys) {
		return mapping{}, false
	}
	return mapping{c: c, n: n}, true
}

// strictMapping is mapping for types that refuse null everywhere.
func (c *checker) strictMapping(n *node, keys ...string) (m mapping, ok bool) {
	m, ok = c.mapping(n, keys...)
	m.nulls = nullError
	return m, ok
}

// get gives the value of a field, nil when it is absent or null.
func (m mapping) get(key string) *node {
	n := m.n.get(key)
	if !n.isNull() {
		return n
	}
	switch m.nulls {
	case nullAbsent:
		m.c.lint(codeNull, n, "%s is null, which counts as absent", key).Hint = "leave it out"
	case nullError:
		m.c.fail(codeNull, n, "%s is null; leave it out or give a value", key)
	}
	return nil
}

// has tells whether the field is stated, null included.
func (m mapping) has(key string) bool { return m.n.has(key) }

// text reads a field that must be text. literal is false when there is nothing to judge: the field is
// absent, is no text (reported), or is filled in later.
func (m mapping) text(key string) (s string, literal bool) { return m.c.text(m.get(key)) }

func (c *checker) text(n *node) (s string, literal bool) {
	switch {
	case n == nil:
		return "", false
	case !n.isString():
		c.fail(codeKind, n, "want text, got %s", n.describe()).Hint = quoteHint(n)
		return "", false
	case open(n.text):
		return n.text, false
	}
	return n.text, true
}

// flag reads a boolean. known is false when it is absent or filled in later.
func (m mapping) flag(key string) (value, known bool) {
	n := m.get(key)
	if n == nil || isWholeRef(n) {
		return false, false
	}
	if n.kind != scalar || n.tag != tagBool {
		m.c.fail(codeKind, n, "want true or false, got %s", n.describe())
		return false, false
	}
	return strings.EqualFold(n.text, "true"), true
}

// number reads a number. known as in flag.
func (m mapping) number(key string) (value float64, known bool) {
	n := m.get(key)
	if n == nil || isWholeRef(n) {
		return 0, false
	}
	if n.kind == scalar && (n.tag == tagInt || n.tag == tagFloat) {
		switch v, _ := n.value(); v := v.(type) {
		case int64:
			return float64(v), true
		case uint64:
			return float64(v), true
		case float64:
			return v, true
		}
	}
	m.c.fail(codeKind, n, "want a number, got %s", n.describe())
	return 0, false
}

// integer reads a whole number; 80.0 counts as one, since published documents write it as 80.
func (m mapping) integer(key string) (value float64, known bool) {
	value, known = m.number(key)
	if known && value != math.Trunc(value) {
		m.c.fail(codeKind, m.n.get(key), "want a whole number")
		return 0, false
	}
	return value, known
}

func isWholeRef(n *node) bool {
	if n.kind != scalar || !n.isString() {
		return false
	}
	_, ok := wholeRef(n.text)
	return ok
}

// list gives the items of a field that must be a list.
func (m mapping) list(key string) []*node { return m.c.items(m.get(key)) }

// texts visits the items of a list of text that can be judged now, and counts all.
func (m mapping) texts(key string, visit func(item *node, s string)) int {
	return m.c.eachText(m.get(key), m.nulls, visit)
}

func (c *checker) eachText(n *node, nulls nullRule, visit func(item *node, s string)) int {
	items := c.items(n)
	for _, item := range items {
		switch {
		case !item.isNull():
			if s, literal := c.text(item); literal {
				visit(item, s)
			}
		case nulls == nullAbsent:
			c.lint(codeNullItem, item, "an empty item of a list counts as empty text")
			visit(item, "")
		case nulls == nullError:
			c.fail(codeNull, item, "an item of a list is null")
		}
	}
	return len(items)
}

// command reads a command: text for a shell, or a list of arguments. stated is false when there is
// none, or an empty one. argv is nil when it holds references.
func (m mapping) command(key string) (argv []string, stated bool) {
	n := m.get(key)
	switch {
	case n == nil:
		return nil, false
	case n.isString():
		if open(n.text) {
			return nil, true
		}
		return []string{"sh", "-c", n.text}, true
	case n.kind != listKind:
		m.c.fail(codeKind, n, "want a command, as text or as a list of text, got %s", n.describe()).Hint = quoteHint(n)
		return nil, true
	}
	literal := 0
	count := m.c.eachText(n, m.nulls, func(_ *node, s string) {
		argv = append(argv, s)
		literal++
	})
	if literal < count {
		argv = nil
	}
	return argv, count > 0
}

// choice reads text that must be one of the given; empty text counts as absent, with a warning.
func (m mapping) choice(key string, of ...string) (s string, literal bool) {
	s, literal = m.text(key)
	n := m.n.get(key)
	switch {
	case !literal:
	case s == "":
		m.c.lint(codeEmpty, n, "%s is empty, which counts as absent", key).Hint = "leave it out"
		return "", false
	case !slices.Contains(of, s):
		f := m.c.fail(codeChoice, n, "%s is none of %s", n.quote(), strings.Join(of, ", "))
		if meant := nearest(s, of); meant != "" {
			f.Hint = fmt.Sprintf("did you mean %q?", meant)
		}
		return "", false
	}
	return s, literal
}

// canonicalPath reads an absolute path that cleaning leaves alone; root says whether "/" is one.
func (m mapping) canonicalPath(key string, root bool) (s string, literal bool) {
	s, literal = m.text(key)
	if !literal {
		if m.n.get(key).orNil() == nil {
			m.c.failMissing(m.n, key, "a path is needed")
		}
		return "", false
	}
	n := m.n.get(key)
	switch {
	case !strings.HasPrefix(s, "/"):
		m.c.fail(codePath, n, "%s is not an absolute path", n.quote())
	case !isCanonical(s):
		m.c.fail(codePath, n, "%s is not canonical: no //, no . or .. component, no / at the end", n.quote())
	case s == "/" && !root:
		m.c.fail(codePath, n, "the root directory is not allowed here")
	default:
		return s, true
	}
	return "", false
}

// failMissing reports a field that must be there. container may be nil when the config is absent.
func (c *checker) failMissing(container *node, key, message string) {
	c.failAt(codeMissing, container, key, "%s is missing: %s", key, message)
}
