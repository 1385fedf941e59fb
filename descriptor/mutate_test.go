package descriptor_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/sbxkit/sbxkit/descriptor"
)

func sample(t testing.TB) string {
	t.Helper()
	src, err := os.ReadFile("testdata/deepagents.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(src)
}

// faults decodes and validates text as an author's, and gives the errors.
func faults(t testing.TB, text string) []descriptor.Finding {
	t.Helper()
	doc, err := descriptor.Decode("kit.yaml", []byte(text))
	if err == nil {
		_, err = doc.Validate(descriptor.Authored)
	}
	if err == nil {
		return nil
	}
	return err.(*descriptor.InvalidError).Findings
}

func TestSampleIsFine(t *testing.T) {
	doc, err := descriptor.Decode("kit.yaml", []byte(sample(t)))
	if err != nil {
		t.Fatal(err)
	}
	warnings, err := doc.Validate(descriptor.Authored)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("error %v, warnings %v", err, warnings)
	}
	routes(t, doc, descriptor.Authored)
}

// replaceAt puts text in place of old at a place that YAML reports.
func replaceAt(t *testing.T, src string, line, column int, old, text string) string {
	t.Helper()
	lines := strings.SplitAfter(src, "\n")
	row := []rune(lines[line-1])
	if !strings.HasPrefix(string(row[column-1:]), old) {
		t.Fatalf("%d:%d holds %q, not %q", line, column, string(row[column-1:]), old)
	}
	lines[line-1] = string(row[:column-1]) + text + strings.TrimPrefix(string(row[column-1:]), old)
	return strings.Join(lines, "")
}

// Each key of the sample, misspelt, is one error at that key: no other follows from it.
func TestEachKeyMisspelt(t *testing.T) {
	src := sample(t)
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(src), &doc); err != nil {
		t.Fatal(err)
	}
	count := 0
	misspell := map[string]func(string) string{
		"letter missing": func(s string) string { return s[:len(s)-1] },
		"letter doubled": func(s string) string { return s + s[len(s)-1:] },
		"letters changed": func(s string) string {
			b := []byte(s)
			b[1], b[2] = b[2], b[1]
			if b[1] == b[2] {
				b[1] = 'q'
			}
			return string(b)
		},
		"upper case":   strings.ToUpper,
		"another word": func(s string) string { return "bogus" + s },
	}
	var walk func(y *yaml.Node, free bool)
	walk = func(y *yaml.Node, free bool) {
		for i, child := range y.Content {
			if y.Kind != yaml.MappingNode || i%2 == 1 {
				walk(child, y.Kind == yaml.MappingNode && y.Content[i-1].Value == "args" && y == doc.Content[0])
				continue
			}
			if free {
				continue // names of arguments are the author's
			}
			for what, change := range misspell {
				text := replaceAt(t, src, child.Line, child.Column, child.Value, change(child.Value))
				found := faults(t, text)
				count++
				if !slices.ContainsFunc(found, func(f descriptor.Finding) bool {
					return f.Start == descriptor.Position{Line: child.Line, Column: child.Column} && f.Code == "KIT0101"
				}) {
					t.Errorf("%s: %s at line %d is not reported there: %v", child.Value, what, child.Line, found)
				}
				if len(found) != 1 && what != "another word" {
					t.Errorf("%s: %s at line %d draws %d errors: %v", child.Value, what, child.Line, len(found), found)
				}
			}
		}
	}
	walk(&doc, false)
	if count < 100 {
		t.Fatalf("only %d keys were misspelt", count)
	}
	t.Logf("%d misspelt keys", count)
}

// Values that are changed into something ill-formed are reported where they stand.
func TestEachValueIllFormed(t *testing.T) {
	src := sample(t)
	cases := []struct{ old, text, at string }{
		{`"3"`, `"2.9"`, `"2.9"`},
		{`"3"`, `[3]`, `[3]`},
		{`version: 0.7.21`, `version: v0.7.21`, `v0.7.21`},
		{`version: 0.7.21`, `version: 0..21`, `0..21`},
		{`version: 0.7.21`, `version: {a: b}`, `{a: b}`},
		{`iconUrl: https:`, `iconUrl: http:`, `http://example.com/kits/deepagents.svg`},
		{`kind: mixin`, `kind: mixins`, `mixins`},
		{`kind: mixin`, `kind: Mixin`, `Mixin`},
		{`"deepagents@0.7.21"`, `"deepagents@v0.7.21"`, `"deepagents@v`},
		{`"deepagents@0.7.21"`, `"DeepAgents@0.7.21"`, `"DeepAgents`},
		{`"deepagents@0.7.21"`, `"deb/deepagents@0.7.21"`, `"deb/deep`},
		{`["deepagents@0.7.21"]`, `deepagents`, "deepagents\nconflicts"},
		{`[other-agents]`, `[other-agents@1]`, `other-agents@1`},
		{`"python >= 3.11, < 4"`, `"python >= 3.11, <= 3"`, `"python >= 3.11, <= 3"`},
		{`"python >= 3.11, < 4"`, `"python ^3.11"`, `"python ^3.11"`},
		{`[Apache-2.0]`, `Apache-2.0`, `Apache-2.0`},
		{`com.docker.sandbox/network-policy@1`, `com.docker.sandbox/network-policy@01`, `com.docker.sandbox/network-policy@01`},
		{`com.docker.sandbox/network-policy@1`, `com.docker.sandbox/network-policy`, `com.docker.sandbox/network-policy`},
		{`com.docker.sandbox/network-policy@1`, `Com.docker.sandbox/network-policy@1`, `Com.docker`},
		{`com.docker.sandbox/lifecycle@1`, `com.docker.sandbox/lifecycle@1x`, `com.docker.sandbox/lifecycle@1x`},
		{`com.docker.sandbox/agent-skill@1`, `com.docker.sandbox/agent skill@1`, `com.docker.sandbox/agent skill@1`},
		{`[pypi.example.org, files.example.org]`, `pypi.example.org`, `pypi.example.org`},
		{`[pypi.example.org, files.example.org]`, `[pypi.example.org, 12]`, `12]`},
		{`[pypi.example.org, files.example.org]`, `[pypi.example.org, true]`, `true]`},
		{`[pypi.example.org, files.example.org]`, `[{hosts: [pypi.example.org]}]`, `{hosts`},
		{`[pypi.example.org, files.example.org]`, `{pypi.example.org: 443}`, `{pypi`},
		{`[pypi.example.org, files.example.org]`, `[[pypi.example.org]]`, `[pypi.example.org]]`},
		{`[ads.example.org]`, `7`, "7\n"},
		{`["host.docker.internal:12434", "localhost:12434"]`, `["host.docker.internal:12434", 12434]`, `12434]`},
		{`user: "1000"`, `user: 1000`, "1000\n"},
		{`[HTTP_PROXY, HTTPS_PROXY]`, `[HTTP-PROXY]`, `HTTP-PROXY`},
		{`[HTTP_PROXY, HTTPS_PROXY]`, `HTTP_PROXY`, "HTTP_PROXY\n"},
		{`[pip, install, "deepagents==0.7.21"]`, `[]`, "[]"},
		{`[pip, install, "deepagents==0.7.21"]`, `[pip, 3]`, "3]"},
		{`background: true`, `background: "true"`, "\"true\"\n      files"},
		{`path: /home/agent/quickstart.py`, `path: quickstart.py`, "quickstart.py"},
		{`mode: "0644"`, `mode: 0644`, "0644"},
		{`mode: "0644"`, `mode: "rw-r--r--"`, `"rw-`},
		{`overwrite: false`, `overwrite: no`, "no\n"},
		{`directory: /home/agent/.deepagents`, `directory: /home/agent/`, "/home/agent/\n"},
		{`filename: AGENTS.md`, `filename: a/AGENTS.md`, "a/AGENTS.md"},
		{`optional: true`, `optional: yes`, "yes"},
		{`optional: false`, `optional: "false"`, `"false"`},
		{`name: plan}`, `name: .plan}`, ".plan}"},
		{`/usr/share/deepagents/skills/plan`, `usr/share`, "usr/share,"},
		{`env: DEEPAGENTS_MODEL`, `env: DEEPAGENTS-MODEL`, "DEEPAGENTS-MODEL"},
		{`"[a-z0-9/._:-]+"`, `"[a-z"`, `"[a-z"`},
		{`buildArg: FLAVOUR`, `buildArg: 1FLAVOUR`, "1FLAVOUR"},
		{`required: false`, `required: true`, "plain\n"},
		{`  flavour:`, `  fla-vour:`, "fla-vour"},
	}
	for _, c := range cases {
		if strings.Count(src, c.old) == 0 {
			t.Fatalf("the sample does not hold %q", c.old)
		}
		text := strings.Replace(src, c.old, c.text, 1)
		// The place is the first one behind the change's beginning.
		from := strings.Index(src, c.old)
		offset := from + strings.Index(text[from:], c.at)
		if c.at == "plain\n" {
			offset = strings.LastIndex(text, "plain")
		}
		before := text[:offset]
		want := descriptor.Position{Line: strings.Count(before, "\n") + 1, Column: offset - strings.LastIndex(before, "\n")}
		found := faults(t, text)
		if len(found) != 1 || found[0].Start != want {
			t.Errorf("%s for %s: want one error at %v, got %v", c.text, c.old, want, found)
		}
	}
}
