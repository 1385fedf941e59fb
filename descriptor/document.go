package descriptor

import (
	"bytes"
	"fmt"

	"gopkg.in/yaml.v3"
)

// Form says which rules a document is judged by.
type Form int

// The forms, in the order in which a descriptor goes through them.
const (
	Authored  Form = iota // as a person wrote it: argument references allowed
	Published             // as an artifact carries it: no build-phase reference left
	Effective             // as a sandbox uses it: no reference at all, no group
)

// String names the form.
func (f Form) String() string {
	switch f {
	case Authored:
		return "authored"
	case Published:
		return "published"
	case Effective:
		return "effective"
	}
	return fmt.Sprintf("form %d", int(f))
}

// Document is one decoded descriptor together with its bytes and the positions of its values.
// It is immutable: each step returns a new one whose positions still count in the first bytes.
type Document struct {
	d    Descriptor
	name string
	src  []byte // what positions count in
	raw  []byte // the text of the descriptor: src, or the block lifted out of a comment; nil once changed
	skew Position

	tree     *yaml.Node            // with comments, for writing
	parsed   *yaml.Node            // the tree as it was first read, for positions
	authored map[*yaml.Node]string // texts before arguments were filled in
	root     *node
	warnings []finding // found while decoding
}

// Decode reads one document strictly. name is shown in front of positions: a path, or an annotation
// key. A YAML stream may hold more documents; they are ignored with a warning.
//
// The error is an *InvalidError. When decoding finds a fault, the rules that hold in every form have
// been tried on the rest as well, so that one run shows all of them.
func Decode(name string, src []byte) (*Document, error) {
	return decode(name, src, src, Position{})
}

// decode reads raw, which lies within src moved by skew.
func decode(name string, src, raw []byte, skew Position) (*Document, error) {
	d := &Document{name: name, src: src, raw: raw, skew: skew}
	c := &checker{name: name}
	if d.parsed = c.parseYAML(raw); d.parsed == nil {
		for i := range c.findings {
			c.findings[i].Start = d.moved(c.findings[i].Start)
		}
		return nil, d.invalid(c.findings)
	}
	shift(d.parsed, skew)
	d.tree = d.parsed
	return d.read(c)
}

func (d *Document) moved(p Position) Position {
	return Position{p.Line + d.skew.Line, p.Column + d.skew.Column}
}

// shift moves the places of a freshly parsed tree to where its text stands in the file.
func shift(y *yaml.Node, by Position) {
	if by == (Position{}) {
		return
	}
	y.Line, y.Column = y.Line+by.Line, y.Column+by.Column
	for _, child := range y.Content {
		shift(child, by)
	}
}

// read makes values of d.tree.
func (d *Document) read(c *checker) (*Document, error) {
	d.root = c.resolve(d.tree, d.authored)
	d.d = c.descriptor(d.root)
	faulty := false
	for _, f := range c.findings {
		faulty = faulty || f.Severity == Error
	}
	if !faulty {
		d.warnings = c.findings
		return d, nil
	}
	if !c.hopeless() {
		common := &checker{name: d.name, form: anyForm}
		d.judge(common)
		c.findings = append(c.findings, common.findings...)
	}
	return nil, d.invalid(c.findings)
}

// anyForm stands for the rules that all forms share.
const anyForm Form = -1

// hopeless tells whether what was found makes the rest meaningless.
func (c *checker) hopeless() bool {
	for _, f := range c.findings {
		switch f.Code {
		case codeOldSpec, codeTooDeep, codeAliasBudget, codeNotMapping:
			return true
		}
	}
	return false
}

func (d *Document) settle(found []finding) []Finding {
	return settle(found, d.ends)
}

func (d *Document) ends() endIndex {
	src := d.src
	if d.skew != (Position{}) {
		// In a comment the marks stand where indentation is counted.
		src = bytes.Clone(src)
		for _, line := range splitLines(src) {
			if len(line) > 0 && line[0] == '#' {
				line[0] = ' '
			}
		}
	}
	return endsOf(d.parsed, src)
}

func (d *Document) invalid(found []finding) *InvalidError {
	faults, _ := split(d.settle(found))
	return &InvalidError{Name: d.name, Source: d.src, Findings: faults}
}

// Descriptor gives the decoded values. Callers must not change what it points to.
func (d *Document) Descriptor() *Descriptor { return &d.d }

// Name is the display name that Decode was given.
func (d *Document) Name() string { return d.name }

// Source gives the bytes that positions count in. Callers must not change them.
func (d *Document) Source() []byte { return d.src }

// Validate judges the document as form. It returns the warnings and notes, those of decoding
// included, in document order; the error is an *InvalidError with all errors.
func (d *Document) Validate(form Form) ([]Finding, error) {
	c := &checker{name: d.name, form: form}
	c.findings = append(c.findings, d.warnings...)
	d.judge(c)
	faults, rest := split(d.settle(c.findings))
	if len(faults) > 0 {
		return rest, &InvalidError{Name: d.name, Source: d.src, Findings: faults}
	}
	return rest, nil
}

// Errorf makes an *InvalidError with one finding at path, or at the nearest container of it that
// exists, for callers that find a fault which this package cannot see, such as a missing recipe.
// Codes of other packages begin with KIT2 or higher.
func (d *Document) Errorf(code, path, hint, format string, args ...any) *InvalidError {
	n := d.root.locate(path)
	f := finding{n: n, Finding: Finding{Code: code, Path: path, Hint: hint, Message: fmt.Sprintf(format, args...)}}
	return d.invalid([]finding{f})
}
