package descriptor_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sbxkit/sbxkit/descriptor"
)

// The cases are data: documents/*.txt hold whole documents, configs/*.txt one capability block a
// line. A person writes the verdict; -update fills in the findings, which are then read.
var update = flag.Bool("update", false, "write the findings of the cases anew")

// errorf-free outcome of one case: the findings in the form in which the files hold them.
func outcome(doc *descriptor.Document, form descriptor.Form, err error) (lines []string, rejected bool) {
	var findings []descriptor.Finding
	if err == nil {
		findings, err = doc.Validate(form)
	}
	if err != nil {
		findings = append(findings, err.(*descriptor.InvalidError).Findings...)
		rejected = true
	}
	for _, f := range findings {
		lines = append(lines, fmt.Sprintf("%s %s %d:%d-%d:%d %s", f.Severity, f.Code, f.Start.Line, f.Start.Column, f.End.Line, f.End.Column, f.Path))
	}
	return lines, rejected
}

// routes checks what must hold for every document that decodes: written as JSON or YAML and read back
// it is the same document, and draws the same errors.
func routes(t *testing.T, doc *descriptor.Document, form descriptor.Form) {
	t.Helper()
	want, err := doc.Descriptor().JSON()
	if err != nil {
		t.Errorf("JSON: %v", err)
		return
	}
	if len(want) > descriptor.MaxSize {
		return // aliases made more of it than can be published
	}
	codes := func(d *descriptor.Document) string {
		var out []string
		if _, err := d.Validate(form); err != nil {
			for _, f := range err.(*descriptor.InvalidError).Findings {
				out = append(out, f.Code)
			}
		}
		slices.Sort(out)
		return strings.Join(slices.Compact(out), " ")
	}
	text, err := doc.YAML()
	if err != nil {
		t.Errorf("YAML: %v", err)
		return
	}
	for route, out := range map[string][]byte{"JSON": want, "YAML": text} {
		back, err := descriptor.Decode(route, out)
		if err != nil {
			// A document with an error of its own need not survive: an empty group, say, has no JSON.
			if codes(doc) == "" {
				t.Errorf("%s cannot be read back: %v\n%.2000s", route, err, out)
			}
			continue
		}
		got, err := back.Descriptor().JSON()
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s reads back as another document (%v):\n%.2000s\n%.2000s", route, err, got, want)
		}
		if a, b := codes(doc), codes(back); a != b && (route == "YAML" || a == "") {
			t.Errorf("%s draws the errors %q, the source draws %q", route, b, a)
		}
	}
}

type documentCase struct {
	name, want, form string
	findings         []string
	body             string
}

func readDocuments(t *testing.T, file string) []documentCase {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []documentCase
	for _, part := range strings.Split("\n"+string(src), "\n=== ")[1:] {
		head, body, ok := strings.Cut(part, "\n---")
		if !ok {
			t.Fatalf("%s: case without ---: %s", file, part)
		}
		c := documentCase{body: strings.TrimPrefix(body, "\n")}
		if c.body != "" && !strings.HasSuffix(c.body, "\n") {
			c.body += "\n"
		}
		for i, line := range strings.Split(head, "\n") {
			word, rest, _ := strings.Cut(line, " ")
			switch {
			case i == 0:
				c.name = line
			case word == "want":
				c.want = rest
			case word == "form":
				c.form = rest
			case word == "error" || word == "warning" || word == "note":
				c.findings = append(c.findings, line)
			default:
				t.Fatalf("%s: %s: unknown line %q", file, c.name, line)
			}
		}
		out = append(out, c)
	}
	return out
}

var forms = map[string]descriptor.Form{"": descriptor.Authored, "authored": descriptor.Authored,
	"published": descriptor.Published, "effective": descriptor.Effective}

func TestDocumentCases(t *testing.T) {
	files, _ := filepath.Glob("testdata/documents/*.txt")
	count := 0
	seen := map[string]bool{}
	for _, file := range files {
		var rewritten strings.Builder
		for _, c := range readDocuments(t, file) {
			form, known := forms[c.form]
			if !known || c.want != "accept" && c.want != "reject" || seen[file+c.name] {
				t.Fatalf("%s: %s: unknown form or verdict, or a name used twice", file, c.name)
			}
			seen[file+c.name] = true
			count++
			var got []string
			t.Run(filepath.Base(file)+"/"+c.name, func(t *testing.T) {
				doc, err := descriptor.Decode("kit.yaml", []byte(c.body))
				lines, rejected := outcome(doc, form, err)
				got = lines
				if rejected != (c.want == "reject") {
					t.Errorf("rejected is %t, want %s; findings:\n%s", rejected, c.want, strings.Join(lines, "\n"))
				}
				if !*update && !slices.Equal(lines, c.findings) {
					t.Errorf("findings:\n%s\nwant:\n%s", strings.Join(lines, "\n"), strings.Join(c.findings, "\n"))
				}
				if doc != nil {
					routes(t, doc, form)
				}
			})
			fmt.Fprintf(&rewritten, "=== %s\nwant %s\n", c.name, c.want)
			if c.form != "" {
				fmt.Fprintf(&rewritten, "form %s\n", c.form)
			}
			for _, line := range got {
				rewritten.WriteString(line + "\n")
			}
			rewritten.WriteString("---\n" + c.body)
		}
		if *update {
			if err := os.WriteFile(file, []byte(rewritten.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if count == 0 {
		t.Fatal("no cases found")
	}
	t.Logf("%d documents", count)
}

// block makes a document of one line of a configs file.
//
//	VERDICT KIND [NAME=VALUE]... [policy] [group] TYPE [CONFIG] [;; [group] TYPE [CONFIG]]...
//
// VERDICT is A or R for the authored form, and a second letter for the effective form that the
// arguments NAME=VALUE lead to.
func block(t *testing.T, line string) (verdict, document string, given map[string]string) {
	t.Helper()
	fields := strings.SplitN(line, " ", 3)
	if len(fields) < 3 {
		t.Fatalf("malformed line %q", line)
	}
	verdict, kind, rest := fields[0], fields[1], fields[2]
	given = map[string]string{}
	var b strings.Builder
	fmt.Fprintf(&b, "schemaVersion: \"3\"\nkind: %s\ncapabilities:\n", kind)
	for {
		word, after, _ := strings.Cut(rest, " ")
		if word == "policy" {
			b.WriteString("  - type: com.docker.sandbox/network-policy@1\n    config: {runtime: {allow: [api.quill.test, \"*.ink.test\"]}}\n")
		} else if name, value, ok := strings.Cut(word, "="); ok {
			given[name] = value
		} else {
			break
		}
		rest = after
	}
	for _, entry := range strings.Split(rest, " ;; ") {
		indent := ""
		if inner, ok := strings.CutPrefix(entry, "group "); ok {
			b.WriteString("  - group:\n      capabilities:\n")
			entry, indent = inner, "      "
		}
		typ, config, ok := strings.Cut(entry, " ")
		fmt.Fprintf(&b, "%s  - type: com.docker.sandbox/%s\n", indent, typ)
		if ok {
			fmt.Fprintf(&b, "%s    config: %s\n", indent, config)
		}
	}
	if kind == "set" {
		b.WriteString("kits: [{ref: acme/x}]\n")
	}
	if len(given) > 0 {
		b.WriteString("args:\n")
		for name := range given {
			fmt.Fprintf(&b, "  %s: {required: true}\n", name)
		}
	}
	return verdict, b.String(), given
}

func TestConfigCases(t *testing.T) {
	files, _ := filepath.Glob("testdata/configs/*.txt")
	count := 0
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var rewritten strings.Builder
		lines := strings.Split(strings.TrimSuffix(string(src), "\n"), "\n")
		for i := 0; i < len(lines); i++ {
			line := lines[i]
			rewritten.WriteString(line + "\n")
			if line == "" || line[0] == '#' {
				continue
			}
			var want []string
			for i+1 < len(lines) && strings.HasPrefix(lines[i+1], "\t") {
				i++
				want = append(want, strings.TrimPrefix(lines[i], "\t"))
			}
			count++
			var got []string
			t.Run(fmt.Sprintf("%s/%d", filepath.Base(file), i+1), func(t *testing.T) {
				verdict, text, given := block(t, line)
				doc, err := descriptor.Decode("kit.yaml", []byte(text))
				found, rejected := outcome(doc, descriptor.Authored, err)
				got = found
				if rejected != (verdict[0] == 'R') {
					t.Errorf("%s\nrejected is %t; findings:\n%s\n%s", line, rejected, strings.Join(found, "\n"), text)
				}
				if !*update && !slices.Equal(found, want) {
					t.Errorf("%s\nfindings:\n%s\nwant:\n%s", line, strings.Join(found, "\n"), strings.Join(want, "\n"))
				}
				if doc == nil {
					return
				}
				routes(t, doc, descriptor.Authored)
				if len(verdict) == 2 {
					effective(t, doc, given, verdict[1])
				}
			})
			for _, f := range got {
				rewritten.WriteString("\t" + f + "\n")
			}
		}
		if *update {
			if err := os.WriteFile(file, []byte(rewritten.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if count == 0 {
		t.Fatal("no cases found")
	}
	t.Logf("%d blocks", count)
}

// effective fills the arguments in and judges the result.
func effective(t *testing.T, doc *descriptor.Document, given map[string]string, want byte) {
	t.Helper()
	filled, err := doc.ExpandCreate(given)
	if err == nil {
		var text []byte
		if text, err = filled.JSON(); err != nil {
			t.Fatal(err)
		}
		var back *descriptor.Document
		if back, err = descriptor.Decode("effective", text); err == nil {
			_, err = back.Validate(descriptor.Effective)
		}
	}
	if (err != nil) != (want == 'R') {
		t.Errorf("in the effective form: error %v, want verdict %c", err, want)
	}
}
