package descriptor

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// Limits on one document. A descriptor above a limit is refused.
const (
	// MaxSize is the greatest number of bytes of a descriptor (SPEC-v3 §4).
	MaxSize = 512 << 10
	// WarnSize is the number of bytes above which a descriptor draws a warning.
	WarnSize = 64 << 10
	// MaxDepth is how deep values may nest, aliases followed.
	MaxDepth = 200
	// MaxAliasNodes is how many values aliases and merge keys may add in all.
	MaxAliasNodes = 50_000
	// MaxKey is how many characters a key may have when it is written as JSON, quotes and escapes
	// included. YAML's readers, which read the published form, look no further for the colon.
	MaxKey = 1024
	// MaxAliasBytes is how much text aliases and merge keys may add in all.
	MaxAliasBytes = 4 << 20
)

// parseYAML reads the first document of src. It gives nil when there is a fault.
func (c *checker) parseYAML(src []byte) *yaml.Node {
	if len(src) > MaxSize {
		c.add(finding{Finding: Finding{Code: codeTooLarge, Start: Position{1, 1},
			Message: fmt.Sprintf("the descriptor has %d bytes; at most %d are allowed", len(src), MaxSize)}})
		return nil
	}
	if len(src) > WarnSize {
		c.add(finding{Finding: Finding{Severity: Warning, Code: codeLarge, Start: Position{1, 1},
			Message: fmt.Sprintf("the descriptor has %d bytes; more than %d is a sign of content that belongs into the image", len(src), WarnSize)}})
	}
	if at := foreignRune(src); at >= 0 {
		message := "the text is not UTF-8"
		if r, n := utf8.DecodeRune(src[at:]); n > 1 || r != utf8.RuneError {
			message = fmt.Sprintf("the character %U is not allowed; in quotes it may be written as an escape", r)
		}
		c.add(finding{Finding: Finding{Code: codeSyntax, Start: positionAt(src, at), Message: "not readable as YAML: " + message}})
		return nil
	}
	dec := yaml.NewDecoder(bytes.NewReader(src))
	first, err := nextDocument(dec)
	switch {
	case errors.Is(err, io.EOF):
		c.syntax(src, errors.New("the document is empty"))
		return nil
	case err != nil:
		c.syntax(src, err)
		return nil
	}
	if second, err := nextDocument(dec); !errors.Is(err, io.EOF) {
		f := finding{Finding: Finding{Severity: Warning, Code: codeManyDocuments,
			Message: "only the first YAML document of the file is read"}}
		if second != nil {
			f.Start = Position{second.Line, second.Column}
		} else {
			f.Start = c.syntaxPosition(src, err)
		}
		c.add(f)
	}
	return first
}

// nextDocument parses one document. The library reports some broken streams by a panic of its own
// ("internal error … please report"); for our callers that is one more syntax error.
func nextDocument(dec *yaml.Decoder) (doc *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			doc, err = nil, errors.New("the YAML parser gave up on this text")
		}
	}()
	doc = new(yaml.Node)
	if err := dec.Decode(doc); err != nil {
		return nil, err
	}
	return doc, nil
}

// syntax reports a text that is no YAML.
func (c *checker) syntax(src []byte, err error) {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		if _, after, ok := strings.Cut(rest, ": "); ok {
			text = after
		}
	}
	hint := ""
	switch {
	case strings.Contains(text, "cannot start any token"):
		hint = "YAML indents with spaces; text that begins with a special character needs quotes"
	case strings.Contains(text, "mapping values are not allowed"):
		hint = `text that holds ": " needs quotes`
	}
	c.add(finding{Finding: Finding{Code: codeSyntax, Start: c.syntaxPosition(src, err),
		Message: "not readable as YAML: " + text, Hint: hint}})
}

// syntaxPosition reads the place out of the library's message, which has a line at most.
func (c *checker) syntaxPosition(src []byte, err error) Position {
	text, line := err.Error(), 0
	if rest, ok := strings.CutPrefix(text, "yaml: line "); ok {
		digits, problem, _ := strings.Cut(rest, ": ")
		line, _ = strconv.Atoi(digits)
		if strings.HasPrefix(problem, "did not find expected") {
			line++ // the library counts the lines of these messages from 0
		}
	}
	if _, name, ok := strings.Cut(text, "unknown anchor '"); ok && line == 0 {
		name, _, _ = strings.Cut(name, "'")
		if i := bytes.Index(src, []byte("*"+name)); i >= 0 {
			return positionAt(src, i)
		}
	}
	lines := splitLines(src)
	line = min(max(line, 1), len(lines))
	column := 1
	for _, b := range lines[line-1] {
		if b != ' ' && b != '\t' {
			break
		}
		column++
	}
	return Position{line, column}
}

// foreignRune finds the first bytes that are no character of YAML (its production c-printable), -1 when there
// are none. The library refuses them as well, but does not say where they stand.
func foreignRune(src []byte) int {
	rest := bytes.TrimPrefix(src, bom)
	for at := len(src) - len(rest); at < len(src); {
		r, n := utf8.DecodeRune(src[at:])
		switch {
		case r == utf8.RuneError && n == 1,
			r < ' ' && r != '\t' && r != '\n' && r != '\r',
			r != 0x85 && isNoYAML(r):
			return at
		}
		at += n
	}
	return -1
}

// resolver turns the parser's tree into ours: aliases and merge keys are followed within the limits,
// and keys that stand twice are reported.
type resolver struct {
	c        *checker
	authored map[*yaml.Node]string
	open     map[*yaml.Node]bool // anchored values being read: meeting one again is a cycle
	nodes    int                 // added by aliases so far
	bytes    int
	stopped  bool // a limit was passed and reported
}

func (c *checker) resolve(doc *yaml.Node, authored map[*yaml.Node]string) *node {
	r := &resolver{c: c, authored: authored, open: map[*yaml.Node]bool{}}
	root := &node{index: -1}
	y := doc
	if doc.Kind == yaml.DocumentNode {
		y = doc.Content[0]
	}
	r.fill(root, y, 0, nil)
	return root
}

func (r *resolver) stop(n *node, code, message string) {
	if !r.stopped {
		r.stopped = true
		r.c.fail(code, n, "%s", message)
	}
}

// fill reads y into n. via is the alias through which we came: values below it are reported there,
// since their own place belongs to somebody else.
func (r *resolver) fill(n *node, y *yaml.Node, depth int, via *yaml.Node) {
	n.at = Position{y.Line, y.Column}
	if via != nil {
		n.at = Position{via.Line, via.Column}
		r.nodes, r.bytes = r.nodes+1, r.bytes+len(y.Value)
	}
	n.src, n.tag = y, tagNull
	switch {
	case r.stopped:
		return
	case depth > MaxDepth:
		r.stop(n, codeTooDeep, fmt.Sprintf("values nest deeper than %d levels", MaxDepth))
		return
	case r.nodes > MaxAliasNodes || r.bytes > MaxAliasBytes:
		r.stop(n, codeAliasBudget, "aliases expand to more than a descriptor may hold")
		return
	}
	if y.Kind == yaml.AliasNode {
		target := y.Alias
		if r.open[target] {
			r.c.fail(codeCycle, n, "the alias stands inside of the value that it repeats")
			return
		}
		if via == nil {
			via = y
		}
		r.fill(n, target, depth+1, via)
		return
	}
	if y.Anchor != "" {
		r.open[y] = true
		defer delete(r.open, y)
	}
	switch y.Kind {
	case yaml.MappingNode:
		n.kind, n.tag = object, ""
		r.fillObject(n, y, depth, via)
	case yaml.SequenceNode:
		n.kind, n.tag = list, ""
		for i, item := range y.Content {
			child := &node{parent: n, index: i}
			r.fill(child, item, depth+1, via)
			n.items = append(n.items, child)
		}
	default:
		n.kind, n.tag, n.text = scalar, y.ShortTag(), y.Value
		n.plain = y.Style&^yaml.TaggedStyle == 0
		n.authored = r.authored[y]
	}
}

func (r *resolver) fillObject(n *node, y *yaml.Node, depth int, via *yaml.Node) {
	n.fields = make([]field, 0, len(y.Content)/2)
	seen := make(map[string]int, len(y.Content)/2)
	var merges []*yaml.Node
	for i := 0; i+1 < len(y.Content); i += 2 {
		k, v := y.Content[i], y.Content[i+1]
		if k.Kind == yaml.ScalarNode && k.ShortTag() == tagMerge {
			merges = append(merges, v)
			continue
		}
		key := &node{parent: n, index: -1}
		r.fill(key, k, depth+1, via)
		if r.stopped {
			return // the keys that follow were not read: they all look alike
		}
		if key.kind != scalar || key.isNull() { // a null would come back as other text each time it is written
			r.c.fail(codeKey, key, "a key must be text, not %s", key.describe())
			continue
		}
		if key.name = key.text; key.authored != "" {
			key.name = key.authored // paths show no values of arguments
		}
		if !publishable(key.text) {
			// With the key in its path, the message would have no end.
			f := r.c.fail(codeKey, n, "a key is too long: as JSON it has more than %d characters", MaxKey)
			f.n = key
			continue
		}
		if first, twice := seen[key.text]; twice && (key.authored != "" || n.fields[first].key.authored != "") {
			r.c.fail(codeArgCollide, key, "two keys of this mapping become equal once the arguments are filled in").
				Hint = "the other is at line " + strconv.Itoa(n.fields[first].key.at.Line)
			continue
		} else if twice {
			r.c.fail(codeDuplicateKey, key, "the key %s stands twice in this mapping", key.quote()).
				Hint = "first at line " + strconv.Itoa(n.fields[first].key.at.Line)
			continue
		}
		child := &node{parent: n, name: key.name, index: -1}
		r.fill(child, v, depth+1, via)
		seen[key.text] = len(n.fields)
		n.fields = append(n.fields, field{key.text, key, child})
	}
	for _, m := range merges {
		r.merge(n, m, depth+1, via, seen)
	}
}

// merge takes over the keys of a "<<" value that n does not state itself.
func (r *resolver) merge(n *node, m *yaml.Node, depth int, via *yaml.Node, seen map[string]int) {
	from := &node{parent: n.parent, name: n.name, index: n.index}
	r.fill(from, m, depth, via)
	parts := []*node{from}
	if from.kind == list {
		parts = from.items
	}
	for _, part := range parts {
		if part.kind != object {
			r.c.fail(codeMerge, part, "a merge key takes a mapping or a list of mappings, not %s", part.describe())
			continue
		}
		for _, f := range part.fields {
			if _, stated := seen[f.name]; !stated {
				f.key.parent, f.val.parent = n, n
				seen[f.name] = len(n.fields)
				n.fields = append(n.fields, f)
			}
		}
	}
}
