package descriptor

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Severity of a finding.
type Severity int

// The severities. Only Error makes a document invalid.
const (
	Error Severity = iota
	Warning
	Note
)

// String names the severity as reports print it.
func (s Severity) String() string {
	switch s {
	case Error:
		return "error"
	case Warning:
		return "warning"
	case Note:
		return "note"
	}
	return "severity " + strconv.Itoa(int(s))
}

// Position is a 1-based place in the bytes as they were written; the zero value means unknown.
// Columns count characters.
type Position struct{ Line, Column int }

func (p Position) before(q Position) bool {
	return comparePositions(p, q) < 0
}

// Finding is one located fault, warning or note.
type Finding struct {
	Severity Severity
	Code     string // stable, "KIT0123"
	Path     string // dotted and zero-based, "capabilities[0].config.runtime"; empty: the document
	Message  string // holds neither position nor path
	Hint     string // one line, or empty
	Start    Position
	End      Position // just behind the last character
}

// InvalidError is the one error type of this package: what is wrong with one document, in document
// order (position, then rule). Error() draws every finding with its source line and a caret.
type InvalidError struct {
	Name     string // display name of the document: a path, or an annotation key
	Source   []byte // the bytes that the positions count in
	Findings []Finding
}

// Error draws the findings as Render does, without the final line end.
func (e *InvalidError) Error() string {
	var b strings.Builder
	Render(&b, e.Name, e.Source, e.Findings) // a strings.Builder cannot fail
	return strings.TrimSuffix(b.String(), "\n")
}

// Render draws findings one below the other, a blank line between them:
//
//	kit.yaml:4:12: requires[0]: "node ^20" is neither a name nor a name with version constraints
//	  |
//	4 | requires: ["node ^20"]
//	  |            ^
//	hint: for any 20.x write "node >= 20, < 21"
//
// A finding that is not an error is marked by its severity behind the position. The excerpt is left
// out where the position is unknown or lies outside src. Of a line longer than an editor's width,
// such as a descriptor in one line of JSON, only the surroundings of the place are drawn. Control
// characters, wherever they come from, are drawn as U+FFFD.
func Render(w io.Writer, name string, src []byte, findings []Finding) error {
	var b bytes.Buffer
	lines := &lineReader{lines: splitLines(src)}
	for i := range findings {
		if i > 0 {
			b.WriteByte('\n')
		}
		findings[i].render(&b, name, lines)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (f *Finding) render(b *bytes.Buffer, name string, lines *lineReader) {
	if name != "" {
		b.WriteString(visible(name) + ":")
		if f.Start.Line > 0 {
			fmt.Fprintf(b, "%d:%d:", f.Start.Line, f.Start.Column)
		}
		b.WriteByte(' ')
	}
	if f.Severity != Error {
		b.WriteString(f.Severity.String() + ": ")
	}
	if f.Path != "" && !strings.HasPrefix(f.Message, f.Path+":") {
		b.WriteString(visible(f.Path) + ": ")
	}
	b.WriteString(visible(f.Message))
	b.WriteByte('\n')
	if text, ok := lines.line(f.Start.Line); ok {
		excerpt(b, f.Start, text)
	}
	if f.Hint != "" {
		b.WriteString("hint: " + visible(f.Hint) + "\n")
	}
}

// shown gives what stands for r in a drawing. An escape sequence of a foreign file, or a mark that turns the
// writing direction, must not reach the terminal.
func shown(r rune) rune {
	if unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp) {
		return utf8.RuneError
	}
	return r
}

// visible is text for one line of a drawing: a path, or a key of a config, is anyone's text.
func visible(s string) string { return strings.Map(shown, s) }

// lineReader gives the characters of a line, and remembers the last: many findings may stand in one.
type lineReader struct {
	lines [][]byte
	no    int
	text  []rune
}

func (r *lineReader) line(no int) (text []rune, ok bool) {
	if no < 1 || no > len(r.lines) {
		return nil, false
	}
	if no != r.no {
		line := r.lines[no-1]
		if no == 1 {
			line = bytes.TrimPrefix(line, bom)
		}
		r.no, r.text = no, []rune(string(trimBreak(line)))
	}
	return r.text, true
}

// maxShown is how many characters of a source line an excerpt shows.
const maxShown = 160

// excerpt draws the gutter line, the source line and the caret line.
func excerpt(b *bytes.Buffer, at Position, text []rune) {
	col := min(max(at.Column, 1)-1, len(text))
	lead, tail := "", ""
	if len(text) > maxShown {
		from := max(0, min(col-maxShown/2, len(text)-maxShown))
		if from > 0 {
			lead = "…"
		}
		if from+maxShown < len(text) {
			tail = "…"
		}
		text, col = text[from:from+maxShown], col-from
	}
	text = slices.Clone(text)
	pad := strings.Repeat(" ", utf8.RuneCountInString(lead))
	for i, r := range text {
		if r != '\t' {
			text[i] = shown(r)
		}
		if i < col {
			if r == '\t' {
				pad += "\t"
			} else {
				pad += " "
			}
		}
	}
	number := strconv.Itoa(at.Line)
	gutter := strings.Repeat(" ", len(number)) + " |"
	fmt.Fprintf(b, "%s\n%s | %s%s%s\n%s %s^\n", gutter, number, lead, string(text), tail, gutter, pad)
}

var bom = []byte("\ufeff")

// finding is a Finding on its way: its node is known, its place is filled in at the end.
type finding struct {
	Finding
	n *node
}

// settle fills in the places, drops what stands twice and sorts by position; findings of one place
// stay in the order in which the rules found them.
func settle(found []finding, ends func() endIndex) []Finding {
	out := make([]Finding, 0, len(found))
	seen := make(map[Finding]bool, len(found))
	var index endIndex
	for _, f := range found {
		if f.n != nil && f.Start == (Position{}) {
			f.Start = f.n.at
		}
		if f.End == (Position{}) && f.Start != (Position{}) {
			if index == nil {
				index = ends()
			}
			f.End = index.end(f.Start, f.n)
		}
		if !seen[f.Finding] {
			seen[f.Finding] = true
			out = append(out, f.Finding)
		}
	}
	slices.SortStableFunc(out, func(a, b Finding) int { return comparePositions(a.Start, b.Start) })
	return out
}

// split parts findings into errors and the rest.
func split(found []Finding) (faults, rest []Finding) {
	for _, f := range found {
		if f.Severity == Error {
			faults = append(faults, f)
		} else {
			rest = append(rest, f)
		}
	}
	return faults, rest
}
