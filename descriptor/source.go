package descriptor

import (
	"bytes"
	"cmp"
	"slices"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// breakLen gives the length of the line break at the start of b, 0 when there is none. YAML breaks
// lines at more than LF, and positions must count as the parser counts.
func breakLen(b []byte) int {
	switch {
	case len(b) == 0:
		return 0
	case b[0] == '\n':
		return 1
	case b[0] == '\r':
		if len(b) > 1 && b[1] == '\n' {
			return 2
		}
		return 1
	case b[0] == 0xc2 && len(b) > 1 && b[1] == 0x85:
		return 2
	case b[0] == 0xe2 && len(b) > 2 && b[1] == 0x80 && (b[2] == 0xa8 || b[2] == 0xa9):
		return 3
	}
	return 0
}

// splitLines cuts src behind each line break; the breaks stay at the ends.
func splitLines(src []byte) [][]byte {
	var lines [][]byte
	start := 0
	for i := 0; i < len(src); {
		n := breakLen(src[i:])
		if n == 0 {
			i++
			continue
		}
		i += n
		lines = append(lines, src[start:i])
		start = i
	}
	return append(lines, src[start:])
}

func trimBreak(line []byte) []byte {
	for i := max(0, len(line)-3); i < len(line); i++ {
		if n := breakLen(line[i:]); n > 0 && i+n == len(line) {
			return line[:i]
		}
	}
	return line
}

// endIndex knows where the values of a document end. A container and its first key begin at one
// place, hence the second half of the key.
type endIndex map[endKey]Position

type endKey struct {
	start  Position
	scalar bool
}

func (x endIndex) end(start Position, n *node) Position {
	isScalar := n == nil || n.kind == scalar
	if p, ok := x[endKey{start, isScalar}]; ok {
		return p
	}
	if p, ok := x[endKey{start, !isScalar}]; ok {
		return p
	}
	return Position{start.Line, start.Column + 1}
}

// endsOf walks the tree as it was parsed. YAML's parser gives starts only; an end is found by reading
// the source on from there.
func endsOf(root *yaml.Node, src []byte) endIndex {
	x := endIndex{}
	lines := sourceLines(src)
	var walk func(y *yaml.Node) Position
	walk = func(y *yaml.Node) Position {
		start := Position{y.Line, y.Column}
		end := Position{start.Line, start.Column + 1}
		switch y.Kind {
		case yaml.ScalarNode:
			end = scalarEnd(y, lines)
		case yaml.AliasNode:
			end.Column = start.Column + 1 + utf8.RuneCountInString(y.Value)
		default:
			for _, child := range y.Content {
				if e := walk(child); end.before(e) {
					end = e
				}
			}
			if y.Style&yaml.FlowStyle != 0 && len(y.Content) > 0 {
				end = closing(end, lines)
			}
		}
		x[endKey{start, y.Kind == yaml.ScalarNode || y.Kind == yaml.AliasNode}] = end
		return end
	}
	if root != nil {
		walk(root)
	}
	return x
}

// closing moves past the bracket that closes a flow collection, if it stands next on the line.
func closing(p Position, lines []sourceLine) Position {
	text := restOf(p, lines)
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case ' ', '\t', ',':
		case ']', '}':
			return Position{p.Line, p.Column + i + 1}
		default:
			return p
		}
	}
	return p
}

// sourceLine is one line without its break. Columns of a line that is not plain ASCII are looked up in
// a table: a descriptor in one line of JSON is asked for thousands of places.
type sourceLine struct {
	text    []byte
	offsets []int32 // of the characters; nil for ASCII
}

func sourceLines(src []byte) []sourceLine {
	split := splitLines(src)
	lines := make([]sourceLine, len(split))
	for i, text := range split {
		if i == 0 {
			text = bytes.TrimPrefix(text, bom)
		}
		lines[i].text = trimBreak(text)
		if !every(string(lines[i].text), func(b byte) bool { return b < utf8.RuneSelf }) {
			lines[i].offsets = []int32{}
			for at := range string(lines[i].text) {
				lines[i].offsets = append(lines[i].offsets, int32(at))
			}
		}
	}
	return lines
}

// restOf gives the line from p on.
func restOf(p Position, lines []sourceLine) []byte {
	if p.Line < 1 || p.Line > len(lines) || p.Column < 1 {
		return nil
	}
	line := lines[p.Line-1]
	skip := p.Column - 1
	switch {
	case line.offsets == nil:
		skip = min(skip, len(line.text))
	case skip < len(line.offsets):
		skip = int(line.offsets[skip])
	default:
		skip = len(line.text)
	}
	return line.text[skip:]
}

// cursor turns ascending byte offsets into places.
type cursor struct {
	src    []byte
	offset int
	place  Position
}

func newCursor(src []byte) *cursor {
	c := &cursor{src: src, place: Position{1, 1}}
	if bytes.HasPrefix(src, bom) {
		c.offset = len(bom)
	}
	return c
}

func (c *cursor) at(offset int) Position {
	for c.offset < offset {
		if n := breakLen(c.src[c.offset:]); n > 0 {
			c.offset, c.place = c.offset+n, Position{c.place.Line + 1, 1}
			continue
		}
		_, n := utf8.DecodeRune(c.src[c.offset:])
		c.offset, c.place.Column = c.offset+n, c.place.Column+1
	}
	return c.place
}

// positionAt turns one byte offset into a place.
func positionAt(src []byte, offset int) Position { return newCursor(src).at(offset) }

// span is where one scalar stands.
type span struct{ start, end Position }

// scalarSpans gives the places of all scalars as they were read, sorted; what lies between is comment.
func (d *Document) scalarSpans() []span {
	spans := []span{}
	for key, end := range d.ends() {
		if key.scalar {
			spans = append(spans, span{key.start, end})
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return comparePositions(a.start, b.start) })
	return spans
}

// within tells whether p lies in one of the sorted spans.
func within(spans []span, p Position) bool {
	i, found := slices.BinarySearchFunc(spans, p, func(s span, p Position) int { return comparePositions(s.start, p) })
	if found {
		return true
	}
	return i > 0 && p.before(spans[i-1].end)
}

func comparePositions(a, b Position) int {
	return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}

func scalarEnd(y *yaml.Node, lines []sourceLine) Position {
	start := Position{y.Line, y.Column}
	text := restOf(start, lines)
	for y.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0 && len(text) > 0 && (text[0] == '&' || text[0] == '!') {
		// An anchor or a tag stands before the value.
		n := max(1, bytes.IndexAny(text, " \t,]}"))
		for n < len(text) && (text[n] == ' ' || text[n] == '\t') {
			n++
		}
		start.Column += utf8.RuneCount(text[:n])
		text = text[n:]
	}
	switch {
	case y.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return blockEnd(start, lines)
	case y.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		return quotedEnd(start, lines)
	case y.Tag == "!!null" && y.Value == "":
		return start
	case bytes.HasPrefix(text, []byte(y.Value)):
		return Position{start.Line, start.Column + utf8.RuneCountInString(y.Value)}
	}
	// A plain scalar over several lines: its first line.
	return Position{start.Line, start.Column + utf8.RuneCount(bytes.TrimRight(text, " \t"))}
}

func quotedEnd(start Position, lines []sourceLine) Position {
	p := start
	var quote byte
	for p.Line <= len(lines) {
		text := restOf(p, lines)
		for i := 0; i < len(text); {
			r, n := utf8.DecodeRune(text[i:])
			switch {
			case quote == 0 && (r == '"' || r == '\''): // a tag or an anchor may stand before it
				quote = byte(r)
			case quote == '"' && r == '\\' && i+1 < len(text):
				_, m := utf8.DecodeRune(text[i+1:])
				n, p.Column = n+m, p.Column+1
			case quote == '\'' && r == '\'' && i+1 < len(text) && text[i+1] == '\'':
				n, p.Column = 2, p.Column+1
			case quote != 0 && r == rune(quote):
				return Position{p.Line, p.Column + 1}
			}
			i, p.Column = i+n, p.Column+1
		}
		p = Position{p.Line + 1, 1}
	}
	return Position{start.Line, start.Column + 1}
}

// blockEnd finds the last line of a literal or folded scalar: its lines are blank or indented at
// least as far as its first one.
func blockEnd(start Position, lines []sourceLine) Position {
	indent := -1
	end := Position{start.Line, start.Column + utf8.RuneCount(bytes.TrimRight(restOf(start, lines), " \t"))}
	for no := start.Line + 1; no <= len(lines); no++ {
		line := lines[no-1].text
		blank := len(bytes.TrimLeft(line, " ")) == 0
		depth := len(line) - len(bytes.TrimLeft(line, " "))
		if blank {
			continue
		}
		if indent < 0 {
			indent = depth
		}
		if depth < indent || indent == 0 {
			break
		}
		end = Position{no, utf8.RuneCount(line) + 1}
	}
	return end
}
