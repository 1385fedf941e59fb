package descriptor_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/sbxkit/sbxkit/descriptor"
)

// sections cuts a file of cases at "=== name", and each case at "--- part".
func sections(t *testing.T, file string) map[string]map[string]string {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]string{}
	for _, part := range strings.Split("\n"+string(src), "\n=== ")[1:] {
		name, body, _ := strings.Cut(part, "\n")
		c := map[string]string{}
		for i, section := range strings.Split("\n"+body+"\n", "\n--- ") {
			title, text := "input", strings.TrimPrefix(section, "\n")
			if i > 0 {
				title, text, _ = strings.Cut(section, "\n")
			}
			c[title] = strings.TrimRight(text, "\n") + "\n"
		}
		if out[name] != nil {
			t.Fatalf("%s: two cases %q", file, name)
		}
		out[name] = c
	}
	if len(out) == 0 {
		t.Fatalf("%s holds no cases", file)
	}
	return out
}

func TestRender(t *testing.T) {
	cases := sections(t, "testdata/render/cases.txt")
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			// What no editor shows is spelled in the cases, but only outside of quotes: there YAML reads it.
			input := strings.NewReplacer(`# \u202e`, "# \u202e", `Ada\x1b`, "Ada\x1b").Replace(c["input"])
			doc, err := descriptor.Decode("kit.yaml", []byte(input))
			var warnings []descriptor.Finding
			if err == nil {
				warnings, err = doc.Validate(descriptor.Authored)
			}
			got := ""
			if err != nil {
				got = err.Error() + "\n"
			} else {
				var b strings.Builder
				if err := descriptor.Render(&b, "kit.yaml", doc.Source(), warnings); err != nil {
					t.Fatal(err)
				}
				got = b.String()
			}
			if got != c["want"] {
				t.Errorf("got\n%swant\n%s", got, c["want"])
			}
		})
	}
	t.Logf("%d drawings", len(cases))
}

func TestRenderWithoutPlace(t *testing.T) {
	cases := []struct {
		name string
		f    descriptor.Finding
		want string
	}{
		{"a\x1b[2J.yaml", descriptor.Finding{Path: "a\nb", Message: "c\u2066d", Hint: "e\x07f"}, "a\ufffd[2J.yaml: a\ufffdb: c\ufffdd\nhint: e\ufffdf\n"},
		{"", descriptor.Finding{Message: "broken"}, "broken\n"},
		{"kit.yaml", descriptor.Finding{Message: "broken"}, "kit.yaml: broken\n"},
		{"kit.yaml", descriptor.Finding{Path: "kind", Message: "kind: broken"}, "kit.yaml: kind: broken\n"},
		{"kit.yaml", descriptor.Finding{Message: "far away", Start: descriptor.Position{Line: 9, Column: 9}}, "kit.yaml:9:9: far away\n"},
		{"kit.yaml", descriptor.Finding{Severity: descriptor.Note, Message: "by the way", Start: descriptor.Position{Line: 1, Column: 99}}, "kit.yaml:1:99: note: by the way\n  |\n1 | x\n  |  ^\n"},
	}
	for _, c := range cases {
		var b strings.Builder
		if err := descriptor.Render(&b, c.name, []byte("x\r\n"), []descriptor.Finding{c.f}); err != nil || b.String() != c.want {
			t.Errorf("got %q, want %q (%v)", b.String(), c.want, err)
		}
	}
}

func TestCommentForm(t *testing.T) {
	cases := sections(t, "testdata/comment/cases.txt")
	for name, c := range cases {
		for _, lineEnd := range []string{"\n", "\r\n"} {
			t.Run(name+strconv.Quote(lineEnd), func(t *testing.T) {
				input := strings.ReplaceAll(c["input"], "\n", lineEnd)
				doc, recipe, err := descriptor.DecodeFile("kit.dockerfile", []byte(input))
				if err == nil {
					_, err = doc.Validate(descriptor.Authored)
				}
				if err != nil {
					var got []string
					for _, f := range invalid(t, err) {
						got = append(got, strings.TrimSpace(f.Code+" "+strconv.Itoa(f.Start.Line)+":"+strconv.Itoa(f.Start.Column)+" "+f.Path))
					}
					if strings.Join(got, "\n")+"\n" != c["error"] {
						t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), c["error"])
					}
					return
				}
				if got := jsonOf(t, doc.Descriptor()) + "\n"; got != c["json"] {
					t.Errorf("got %swant %s", got, c["json"])
				}
				want, isComment := c["recipe"]
				if (recipe != nil) != isComment {
					t.Fatalf("recipe %q", recipe)
				}
				got := strings.ReplaceAll(string(recipe), "\r\n", "\n")
				if isComment && got != want {
					t.Errorf("recipe\n%swant\n%s", got, want)
				}
			})
		}
	}
	t.Logf("%d files", len(cases))
}
