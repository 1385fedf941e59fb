package descriptor_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sbxkit/sbxkit/descriptor"
)

// seedDocuments adds every document of the case tables.
func seedDocuments(f *testing.F) {
	f.Helper()
	files, _ := filepath.Glob("testdata/documents/*.txt")
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range strings.Split(string(src), "\n---\n")[1:] {
			body, _, _ := strings.Cut(part, "\n=== ")
			f.Add([]byte(body))
		}
	}
	src, err := os.ReadFile("testdata/deepagents.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(src)
}

// checkPlaces holds what is promised of findings.
func checkPlaces(t *testing.T, findings []descriptor.Finding) {
	t.Helper()
	last := descriptor.Position{}
	for _, f := range findings {
		if f.Start.Line < last.Line || f.Start.Line == last.Line && f.Start.Column < last.Column {
			t.Errorf("out of order: %+v", findings)
		}
		if last = f.Start; f.Code == "" || f.Message == "" || strings.Contains(f.Message+f.Hint, "descriptor.") {
			t.Errorf("incomplete, or with a name of Go in it: %+v", f)
		}
	}
}

// What decodes is written as JSON and as YAML and read back as the same document, and the three forms
// judge without panic.
func FuzzDecode(f *testing.F) {
	seedDocuments(f)
	f.Fuzz(func(t *testing.T, src []byte) {
		doc, err := descriptor.Decode("kit.yaml", src)
		if err != nil {
			checkPlaces(t, invalid(t, err))
			_ = err.Error()
			return
		}
		for _, form := range []descriptor.Form{descriptor.Authored, descriptor.Published, descriptor.Effective} {
			warnings, err := doc.Validate(form)
			checkPlaces(t, warnings)
			if err != nil {
				checkPlaces(t, invalid(t, err))
			} else if form == descriptor.Authored {
				routes(t, doc, form)
			}
		}
	})
}

// Expansion keeps the structure of a document: what was accepted decodes and is written back.
func FuzzExpand(f *testing.F) {
	f.Add([]byte(lamp), "1.4.0", "8080")
	f.Add([]byte(lamp), "a: b\n- c", "<<")
	f.Add([]byte("schemaVersion: \"3\"\nkind: mixin\nargs: {v: {buildArg: V}, p: {}}\nauthor: &a ${{ kit.args.v }}\ndescription: *a\n"), "${{ kit.args.p }}", "true")
	f.Fuzz(func(t *testing.T, src []byte, v, p string) {
		doc, err := descriptor.Decode("kit.yaml", src)
		if err != nil {
			return
		}
		values := map[string]string{"v": v, "p": p}
		if build, err := doc.ExpandBuild(values); err == nil {
			_, _ = build.Validate(descriptor.Published)
			if _, err := build.YAML(); err != nil {
				t.Errorf("written: %v", err)
			}
			doc = build
		}
		if create, err := doc.ExpandCreate(values); err == nil {
			if _, err := create.JSON(); err != nil {
				t.Error(err)
			}
		}
	})
}

func FuzzCompareVersions(f *testing.F) {
	for _, v := range []string{"1", "1.0", "1.-", "2.4.0-rc3", "00", "1.1a"} {
		f.Add(v, "1.9")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if descriptor.CompareVersions(a, b) != -descriptor.CompareVersions(b, a) {
			t.Errorf("%q and %q compare differently in the other order", a, b)
		}
		if descriptor.CompareVersions(a, a) != 0 {
			t.Errorf("%q differs from itself", a)
		}
	})
}

// The canonical text of a relation means the same: it parses to itself and the same versions meet it.
func FuzzRelation(f *testing.F) {
	for _, s := range []string{"python >= 3.12, < 4", "a = 2.1, = 2.01", "io.acme/x > 3, <= 3.0", "deb/zlib1g", "x < 3.-"} {
		f.Add(s, "3.0")
	}
	f.Fuzz(func(t *testing.T, s, version string) {
		r, err := descriptor.ParseRelation(s)
		if err != nil {
			return
		}
		again, err := descriptor.ParseRelation(r.String())
		if err != nil || again.String() != r.String() || again.Name != r.Name {
			t.Fatalf("%q became %q and then %q, %v", s, r, again, err)
		}
		// The order of versions is not transitive once a segment mixes digits and letters; only there
		// may the tightest bound say more than all bounds together.
		if mixed(version) || mixed(s) {
			return
		}
		if r.SatisfiedBy(r.Name, version) != again.SatisfiedBy(r.Name, version) {
			t.Errorf("%q and %q differ on %q", s, again, version)
		}
	})
}

func mixed(s string) bool {
	return strings.ContainsFunc(strings.NewReplacer("<", " ", ">", " ", "=", " ").Replace(s), func(r rune) bool {
		return r != '.' && r != ' ' && r != ',' && (r < '0' || r > '9')
	})
}

func FuzzDecodeFile(f *testing.F) {
	for _, c := range []string{"# kit:\n#   schemaVersion: \"3\"\n#   kind: mixin\nFROM scratch\n", "# syntax=x\n# kit:\n#   a: |\n#     b\n#\n#  c\n", "# kit:\r\n#\r\n"} {
		f.Add([]byte(c))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		doc, recipe, err := descriptor.DecodeFile("kit.dockerfile", src)
		if err != nil {
			checkPlaces(t, invalid(t, err))
			_ = err.Error()
			return
		}
		if _, err := doc.Validate(descriptor.Authored); err != nil {
			checkPlaces(t, invalid(t, err))
		}
		if recipe != nil && !bytes.Contains(src, []byte("# kit:")) {
			t.Error("a recipe without a marker")
		}
	})
}
