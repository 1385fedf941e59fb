package tck

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// TextOptions say how a report is laid out for people. The zero value suits a file or a pipe.
type TextOptions struct {
	Width   int  // columns; 0, and anything under minWidth, means defaultWidth; maxWidth at most
	Color   bool // ANSI colours
	Links   bool // requirements become terminal hyperlinks, which replace the list of links at the end
	Verbose bool // list the checks that passed, too
}

// Columns of the layout, in characters.
const (
	defaultWidth = 100
	minWidth     = 40
	maxWidth     = 140 // longer lines are hard to read
	nameColumn   = 20  // at least; the longest name of a group sets it
)

// tone is an ANSI colour, the number between ESC [ and m.
type tone string

const (
	bold  tone = "1"
	faint tone = "2"
	red   tone = "31"
	green tone = "32"
	amber tone = "33"
)

// textWriter lays a report out.
type textWriter struct {
	bytes.Buffer
	TextOptions
	cited []string // requirements shown, first-seen order
}

// WriteText writes the report for people: what was judged, a block for each group of platforms with equal reports,
// the verdict, where the specification states what was found wanting, and the counts once more.
func (o *Output) WriteText(w io.Writer, options TextOptions) error {
	if options.Width < minWidth {
		options.Width = defaultWidth
	}
	options.Width = min(options.Width, maxWidth)
	t := &textWriter{TextOptions: options}
	fmt.Fprintf(t, "%s %s · %s · %s\n", t.paint(bold, o.Tool), o.Version, suite, printable(o.Target))
	if o.Verdict.Digest != "" {
		fmt.Fprintf(t, "%s\n", printable(o.Verdict.Digest))
	}
	for _, r := range o.Verdict.Results {
		t.block(r)
	}
	if o.Verdict.Conforms() {
		fmt.Fprintf(t, "\n%s conforms\n", t.paint(green, "✓"))
	} else {
		fmt.Fprintf(t, "\n%s does not conform\n", t.paint(red, "✗"))
	}
	t.specificationList()
	t.WriteString("\n")
	for _, r := range o.Verdict.Results {
		if len(r.Platforms) > 0 {
			fmt.Fprintf(t, "%s: ", printable(strings.Join(r.Platforms, ", ")))
		}
		fmt.Fprintf(t, "%s\n", strings.Join(t.counts(r.Report.Summary()), ", "))
	}
	if _, err := w.Write(t.Bytes()); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// block writes the findings of one group of platforms, worst first, and the tally.
func (t *textWriter) block(r Result) {
	t.WriteString("\n")
	if len(r.Platforms) > 0 {
		fmt.Fprintf(t, "%s\n", t.paint(bold, printable(strings.Join(r.Platforms, ", "))))
	}
	t.group("failed", "✗", red, r.Report.with(Fail))
	t.group("warned", "!", amber, r.Report.with(Warn))
	t.group("skipped", "–", faint, r.Report.with(Skip))
	if t.Verbose {
		var passed []Finding
		for _, c := range r.Report.passed() {
			passed = append(passed, Finding{Check: c})
		}
		t.group("passed", "✓", green, passed)
	}
	summary := r.Report.Summary()
	checks := fmt.Sprintf("%d checks", summary.Checks)
	if summary.Checks == 1 {
		checks = "1 check"
	}
	fmt.Fprintf(t, "  %s\n", strings.Join(append([]string{checks}, t.counts(summary)...), " · "))
}

// with gives the findings of one severity.
func (r *Report) with(s Severity) []Finding {
	return slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool { return f.Severity != s })
}

// counts names the categories that are not empty.
func (t *textWriter) counts(s Summary) []string {
	var parts []string
	for _, c := range []struct {
		n    int
		name string
		tone tone
	}{{s.Failed, "failed", red}, {s.Warned, "warned", amber}, {s.Skipped, "skipped", faint}, {s.Passed, "passed", green}} {
		if c.n > 0 {
			parts = append(parts, t.paint(c.tone, fmt.Sprintf("%d %s", c.n, c.name)))
		}
	}
	return parts
}

func (t *textWriter) group(title, symbol string, color tone, findings []Finding) {
	if len(findings) == 0 {
		return
	}
	fmt.Fprintf(t, "  %s\n", title)
	longest := 0
	for _, f := range findings {
		longest = max(longest, utf8.RuneCountInString(f.Name))
	}
	column := max(nameColumn, longest)
	for _, f := range findings {
		fmt.Fprintf(t, "    %s %s", t.paint(color, symbol), f.Name)
		detail := printable(f.Detail)
		requirement := f.Requirement
		if requirement == f.Name {
			requirement = ""
		}
		if f.Severity != Passed && requirement != "" && !slices.Contains(t.cited, requirement) {
			t.cited = append(t.cited, requirement)
		}
		verbatim := strings.Contains(detail, "\n")
		if verbatim || longest*5 > t.Width*2 {
			t.WriteString("\n")
			t.detail(detail, requirement, 6, verbatim)
			continue
		}
		t.WriteString(strings.Repeat(" ", column-utf8.RuneCountInString(f.Name)+1))
		t.detail(detail, requirement, 6+column+1, false)
	}
}

// detail writes a wrapped, or verbatim, text whose left edge is at column indent, and the
// requirement behind it where that fits, below it otherwise. When the cursor is not at the start of
// a line it already stands at that edge.
func (t *textWriter) detail(text, requirement string, indent int, verbatim bool) {
	lines := strings.Split(text, "\n")
	if !verbatim {
		lines = wrap(text, t.Width-indent)
	}
	if requirement != "" {
		last := len(lines) - 1
		fits := utf8.RuneCountInString(lines[last])+utf8.RuneCountInString(requirement)+3 <= t.Width-indent
		switch bracket := t.link("["+requirement+"]", specLink(requirement)); {
		case lines[last] == "":
			lines[last] = bracket
		case fits && !verbatim:
			lines[last] += " " + bracket
		default:
			lines = append(lines, bracket)
		}
	}
	edge := strings.Repeat(" ", indent)
	for i, line := range lines {
		if line != "" && (i > 0 || bytes.HasSuffix(t.Bytes(), []byte("\n"))) {
			t.WriteString(edge)
		}
		t.WriteString(line + "\n")
	}
}

// wrap breaks text at blanks into lines of at most width characters; a longer word gets a line of
// its own and is left whole.
func wrap(text string, width int) []string {
	var lines []string
	used := 0
	for i, word := range strings.Split(text, " ") {
		n := utf8.RuneCountInString(word)
		if i > 0 && used+1+n <= width {
			lines[len(lines)-1] += " " + word
			used += 1 + n
			continue
		}
		lines, used = append(lines, word), n
	}
	return lines
}

// specificationList says where the cited requirements are stated. Those that cannot be placed are
// left out.
func (t *textWriter) specificationList() {
	if t.Links {
		return
	}
	column := 0
	var placed []string
	for _, id := range t.cited {
		if specLink(id) != "" {
			placed = append(placed, id)
			column = max(column, utf8.RuneCountInString(id))
		}
	}
	if len(placed) == 0 {
		return
	}
	t.WriteString("\nspecification\n")
	for _, id := range placed {
		fmt.Fprintf(t, "  %s%s  %s\n", id, strings.Repeat(" ", column-utf8.RuneCountInString(id)), specLink(id))
	}
}

func (t *textWriter) paint(c tone, s string) string {
	if !t.Color {
		return s
	}
	return "\x1b[" + string(c) + "m" + s + "\x1b[0m"
}

// link makes s a terminal hyperlink.
func (t *textWriter) link(s, target string) string {
	if !t.Links || target == "" {
		return s
	}
	return "\x1b]8;;" + target + "\x1b\\" + s + "\x1b]8;;\x1b\\"
}

// printable replaces characters with which a kit could rewrite the reader's terminal, or make text
// read differently from what it is.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}
