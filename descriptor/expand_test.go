package descriptor_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/sbxkit/sbxkit/descriptor"
)

func decode(t testing.TB, text string) *descriptor.Document {
	t.Helper()
	doc, err := descriptor.Decode("kit.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func jsonOf(t testing.TB, d *descriptor.Descriptor) string {
	t.Helper()
	out, err := d.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// invalid gives the findings of an error of this package.
func invalid(t testing.TB, err error) []descriptor.Finding {
	t.Helper()
	var e *descriptor.InvalidError
	if !errors.As(err, &e) {
		t.Fatalf("want an InvalidError, got %v", err)
	}
	return e.Findings
}

const lamp = `# of ${{ kit.args.v }}
schemaVersion: "3"
kind: mixin
args:
  v: {default: "1.4.0", buildArg: LAMP_VERSION, pattern: "[0-9.]+"}
  p: {default: "8080", buildArg: P}
  when: {default: late}
version: ${{ kit.args.v }} # the ${{kit.args.v}}
provides: ["lamp@${{ kit.args.v }}"]
description: |
  first ${{ kit.args.v }}
  second ${{ kit.args.when }}
capabilities:
  - type: com.docker.sandbox/port@1
    config: {container: "${{ kit.args.p }}"}
  - type: com.docker.sandbox/volume@1
    config: {path: /x, size: "${{ kit.args.p }}", mode: "0755"}
  - type: com.acme/x@1
    config:
      "k-${{ kit.args.p }}": &n ${{ kit.args.p }}
      same: *n
`

func TestResolveBuildArgs(t *testing.T) {
	doc := decode(t, lamp)
	values, err := doc.ResolveBuildArgs(map[string]string{"v": "2.0"})
	if err != nil || len(values) != 2 || values["v"] != "2.0" || values["p"] != "8080" {
		t.Fatalf("got %v, %v", values, err)
	}
	_, err = doc.ResolveBuildArgs(map[string]string{"v": "a-secret-value", "ghost": "a-secret-value", "when": "a-secret-value"})
	var codes []string
	for _, f := range invalid(t, err) {
		codes = append(codes, f.Code+" "+f.Path)
	}
	if got := strings.Join(codes, "; "); got != "KIT0409 args.v" {
		t.Errorf("got %s", got)
	}
	if strings.Contains(err.Error(), "a-secret-value") {
		t.Errorf("the message holds the value of an argument:\n%v", err)
	}
	required := decode(t, "schemaVersion: \"3\"\nkind: mixin\nargs: {a: {required: true, buildArg: A}, b: {buildArg: B}, c: {default: x, enum: [y], buildArg: C}, d: {default: d, buildArg: D}, e: {default: e, buildArg: D}}\n")
	_, err = required.ResolveBuildArgs(nil)
	codes = nil
	for _, f := range invalid(t, err) {
		codes = append(codes, f.Code+" "+f.Path)
	}
	if got := strings.Join(codes, "; "); got != "KIT0408 args.a; KIT0409 args.c.default; KIT0414 args.e" {
		t.Errorf("got %s", got)
	}
}

func TestExpandBuild(t *testing.T) {
	doc := decode(t, lamp)
	values, err := doc.ResolveBuildArgs(nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := doc.ExpandBuild(values)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.Validate(descriptor.Published); err != nil {
		t.Error(err)
	}
	want := `{"schemaVersion":"3","description":"first 1.4.0\nsecond ${{ kit.args.when }}\n","version":"1.4.0","kind":"mixin",` +
		`"provides":["lamp@1.4.0"],"capabilities":[{"type":"com.docker.sandbox/port@1","config":{"container":8080}},` +
		`{"type":"com.docker.sandbox/volume@1","config":{"mode":"0755","path":"/x","size":"8080"}},` +
		`{"type":"com.acme/x@1","config":{"k-8080":8080,"same":8080}}],` +
		`"args":{"p":{"default":"8080","buildArg":"P"},"v":{"default":"1.4.0","pattern":"[0-9.]+","buildArg":"LAMP_VERSION"},"when":{"default":"late"}}}`
	if got := jsonOf(t, out.Descriptor()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	text, err := out.YAML()
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"# of 1.4.0\n", "version: 1.4.0 # the 1.4.0\n", "first 1.4.0\n  second", "&n 8080", "*n"} {
		if !strings.Contains(string(text), part) {
			t.Errorf("the YAML lacks %q:\n%s", part, text)
		}
	}
	if !bytes.Equal(doc.Source(), []byte(lamp)) || !strings.Contains(jsonOf(t, doc.Descriptor()), "${{ kit.args.v }}") {
		t.Error("the document that was expanded has changed")
	}
}

// What is wrong with an expanded document is shown where the author wrote it, and without the value.
func TestExpandedPositions(t *testing.T) {
	doc := decode(t, lamp)
	out, err := doc.ExpandBuild(map[string]string{"v": "a secret", "p": "many"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = out.Validate(descriptor.Published)
	want := map[descriptor.Position]string{
		{Line: 8, Column: 10}: "KIT0203", {Line: 9, Column: 12}: "KIT0304", {Line: 15, Column: 25}: "KIT0103", {Line: 17, Column: 30}: "KIT0702",
	}
	found := invalid(t, err)
	if len(found) != len(want) {
		t.Errorf("got %d findings: %v", len(found), found)
	}
	for _, f := range found {
		if f.Start.Line == 9 {
			f.Code = "KIT0304"
		}
		if want[f.Start] != f.Code {
			t.Errorf("unexpected %+v", f)
		}
		if f.End.Line == 0 || f.End == f.Start {
			t.Errorf("no end: %+v", f)
		}
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the message holds the value of an argument:\n%v", err)
	}
}

func TestExpandBuildRefuses(t *testing.T) {
	head := "schemaVersion: \"3\"\nkind: workload\nargs: {v: {buildArg: V}, w: {buildArg: W}}\n"
	cases := []struct{ value, body, code, path string }{
		{"\xff", "description: ${{ kit.args.v }}\n", "KIT0409", "args.v"},
		{"deb", "provides: [\"x@${{ kit.args.w }}\"]\n", "KIT0408", "provides[0]"},
		{"deb", "provides: [\"${{ kit.args.v }}/x@1\"]\n", "KIT0307", "provides[0]"},
		{"deb", "capabilities: [{type: com.acme/x@1, config: {\"${{ kit.args.v }}\": 1, deb: 2}}]\n", "KIT0411", "capabilities[0].config.deb"},
	}
	for _, c := range cases {
		_, err := decode(t, head+c.body).ExpandBuild(map[string]string{"v": c.value})
		if found := invalid(t, err); len(found) != 1 || found[0].Code != c.code || found[0].Path != c.path {
			t.Errorf("%s: got %v", c.body, found)
		}
	}
}

// A value is data: whatever it holds, the document keeps its structure.
func TestValuesAreData(t *testing.T) {
	text := "schemaVersion: \"3\"\nkind: mixin\nargs: {v: {buildArg: V}}\n" +
		"description: ${{ kit.args.v }}\nauthor: 'a ${{ kit.args.v }} b'\ndisplayName: >-\n  x ${{ kit.args.v }}\n  y\n" +
		"capabilities: [{type: com.acme/x@1, config: {\"${{ kit.args.v }}\": \"${{ kit.args.v }}\", l: [\"${{ kit.args.v }}x\"]}}]\n"
	for _, value := range []string{"", "<<", "a: b", "- x", "\"", "'", "\n", "a\nb: c", "#", "x # y", "*a", "&a", "{", "]", "null", "~", "true", "1e5", "0x1F",
		"\t", " lead", "trail ", "${{ kit.args.v }}", "\\", "---", "a\n---\nb", "!!int 3", "| x", "%", "@", "\u2028", "\x7f", "é"} {
		doc, err := decode(t, text).ExpandBuild(map[string]string{"v": value})
		if err != nil {
			t.Errorf("%q: %v", value, err)
			continue
		}
		d := doc.Descriptor()
		if d.Description != value || d.Author != "a "+value+" b" || d.DisplayName != "x "+value+" y" {
			t.Errorf("%q: got %q, %q, %q", value, d.Description, d.Author, d.DisplayName)
		}
		out, err := doc.YAML()
		if err != nil {
			t.Errorf("%q: %v", value, err)
			continue
		}
		if back := decode(t, string(out)); jsonOf(t, back.Descriptor()) != jsonOf(t, d) {
			t.Errorf("%q: YAML reads back as\n%s\nnot\n%s", value, jsonOf(t, back.Descriptor()), jsonOf(t, d))
		}
	}
}

func TestTypeAdoption(t *testing.T) {
	text := "schemaVersion: \"3\"\nkind: mixin\nargs: {v: {buildArg: V}, c: {}}\ncapabilities: [{type: com.acme/x@1, config: {a: \"${{ kit.args.v }}\", b: \"${{ kit.args.c }}\"}}]\n"
	cases := map[string]string{"true": "true", "false": "false", "8080": "8080", "-5": "-5", "1.5": "1.5", "10000000000000000000": "10000000000000000000",
		"0": "0", "-0": "-0", "1.0": `"1.0"`, "007": `"007"`, "+4": `"+4"`, "1e5": `"1e5"`, "0x1F": `"0x1F"`, ".5": `".5"`, "NaN": `"NaN"`,
		"Inf": `"Inf"`, "True": `"True"`, "yes": `"yes"`, "null": `"null"`, "": `""`, "9223372036854775808": `"9223372036854775808"`}
	for value, want := range cases {
		build, err := decode(t, text).ExpandBuild(map[string]string{"v": value})
		if err != nil {
			t.Fatal(err)
		}
		got := jsonOf(t, build.Descriptor())
		if !strings.Contains(got, `"a":`+want+`,`) {
			t.Errorf("build: %q became %s", value, got)
		}
		create, err := build.ExpandCreate(map[string]string{"c": value})
		if err != nil {
			t.Fatal(err)
		}
		if got := jsonOf(t, create); !strings.Contains(got, `"b":`+want+`}`) {
			t.Errorf("create: %q became %s", value, got)
		}
	}
}

func TestExpandCreate(t *testing.T) {
	head := "schemaVersion: \"3\"\nkind: mixin\nargs:\n  a: {}\n  b: {default: bee}\n  n: {enum: [one, two]}\n  built: {buildArg: B}\n"
	a := map[string]string{"a": "x"}
	cases := []struct {
		body  string
		given map[string]string
		want  string // a part of the JSON, or a code
	}{
		{"description: ${{ kit.args.a }} ${{ kit.args.b }}", a, `"description":"x bee"`},
		{"description: ${{ kit.args.a }}", nil, "KIT0408"},
		{"description: d", map[string]string{"ghost": "1"}, "KIT0407"},
		{"description: d", map[string]string{"built": "1"}, "KIT0410"},
		{"description: d", map[string]string{"n": "three"}, "KIT0409"},
		{"description: ${{ kit.args.a }}", map[string]string{"a": "${{ kit.args.outer }}"}, `"description":"${{ kit.args.outer }}"`},
		{"description: ${{ kit.args.a }}", map[string]string{"a": "v${{ kit.args.outer }}"}, "KIT0412"},
		{"description: ${{ kit.args.a }}", map[string]string{"a": "${{ kit.env.HOME }}"}, "KIT0412"},
		{"description: ${{ kit.args.a }}", map[string]string{"a": "${{ kit.args.x"}, "KIT0412"},
		{"description: ${{ kit.env.HOME }} ${{ kit.args.a }}", a, `${{ kit.env.HOME }} x`},
		{"description: ${{ kit.env.H${{ kit.args.a }} }}", a, "KIT0412"},
		{"description: ${{ kit.env.H${{ kit.args.a }} }}", map[string]string{"a": ""}, "KIT0412"},
		{"description: $${{ kit.args.a }} kit.env.H }}", map[string]string{"a": "{{"}, "KIT0412"},
		{"capabilities: [{type: com.acme/x@1, config: {\"k-${{ kit.args.a }}\": 1, k-x: 2}}]", a, "KIT0411"},
		{"capabilities: [{type: com.acme/x@1, config: {\"k-${{ kit.args.a }}\": 1}}]", a, `{"k-x":1}`},
	}
	for _, c := range cases {
		doc := decode(t, head+c.body+"\n")
		out, err := doc.ExpandCreate(c.given)
		if strings.HasPrefix(c.want, "KIT") {
			if err == nil {
				t.Errorf("%s with %v: accepted", c.body, c.given)
			} else if found := invalid(t, err); found[0].Code != c.want {
				t.Errorf("%s with %v: got %v", c.body, c.given, found)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s with %v: %v", c.body, c.given, err)
		} else if got := jsonOf(t, out); !strings.Contains(got, c.want) || strings.Contains(got, `"args"`) {
			t.Errorf("%s with %v: got %s", c.body, c.given, got)
		}
	}
	required := decode(t, "schemaVersion: \"3\"\nkind: mixin\nargs: {a: {required: true}}\n")
	if _, err := required.ExpandCreate(nil); err == nil || invalid(t, err)[0].Code != "KIT0408" {
		t.Errorf("a required argument without value: %v", err)
	}
}
