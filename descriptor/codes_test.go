package descriptor_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sbxkit/sbxkit/descriptor"
)

// The table of codes is complete and in order: each constant stands in it once, is used by a rule, and
// is drawn by a test.
func TestCodes(t *testing.T) {
	files, _ := filepath.Glob("*.go")
	constants := map[string]string{} // name to code
	uses := map[string]int{}
	var tests strings.Builder
	fset := token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			tests.Write(src)
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				if len(n.Values) == 1 {
					if lit, ok := n.Values[0].(*ast.BasicLit); ok && strings.HasPrefix(lit.Value, `"KIT`) {
						constants[n.Names[0].Name] = strings.Trim(lit.Value, `"`)
					}
				}
			case *ast.Ident:
				if name != "codes.go" {
					uses[n.Name]++
				}
			}
			return true
		})
	}
	data, _ := filepath.Glob("testdata/*/*.txt")
	for _, name := range data {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(src)
	}
	rules := descriptor.Rules()
	if !slices.IsSortedFunc(rules, func(a, b descriptor.Rule) int { return strings.Compare(a.Code, b.Code) }) {
		t.Error("the table is not sorted")
	}
	meanings := map[string]string{}
	for _, r := range rules {
		if meanings[r.Code] != "" || r.Meaning == "" || strings.Contains(r.Meaning, "\n") {
			t.Errorf("%s stands twice or has no one-line meaning", r.Code)
		}
		meanings[r.Code] = r.Meaning
	}
	for name, code := range constants {
		switch {
		case meanings[code] == "":
			t.Errorf("%s (%s) is not in the table", name, code)
		case uses[name] == 0:
			t.Errorf("%s (%s) is not used", name, code)
		case !strings.Contains(tests.String(), code) && name != "codeReencode":
			// KIT0807 would be a mistake of this package.
			t.Errorf("%s (%s) is drawn by no test", name, code)
		}
	}
	if len(constants) != len(rules) {
		t.Errorf("%d constants, %d rows", len(constants), len(rules))
	}
	t.Logf("%d codes", len(rules))
}
