package archtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// pkg is what `go list` tells of one package.
type pkg struct {
	ImportPath string
	Standard   bool
	Module     *struct {
		Path string
		Main bool
	}
	Imports []string
	Deps    []string // all that it links
}

func TestImportsRunDownhill(t *testing.T) {
	module, packages := list(t)
	for _, problem := range judge(module, packages, rules) {
		t.Error(problem)
	}
}

// list asks for every package of the module and everything that one of them links.
func list(t *testing.T) (module string, packages []pkg) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Standard,Module,Imports,Deps", "./...")
	cmd.Dir = "../.."
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("list packages: %v\n%s", err, complaints.String())
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return module, packages
		}
		if err != nil {
			t.Fatalf("read list of packages: %v", err)
		}
		if p.Module != nil && p.Module.Main {
			module = p.Module.Path
		}
		packages = append(packages, p)
	}
}

// judge returns a sentence for each arrow that a rule forbids, each package that no rule of its own speaks
// of, and each rule that speaks of nothing.
func judge(module string, packages []pkg, rules []rule) []string {
	byPath := map[string]pkg{}
	for _, p := range packages {
		byPath[p.ImportPath] = p
	}
	var problems []string
	used := map[string]bool{}
	for _, p := range packages {
		name, ours := strings.CutPrefix(p.ImportPath, module+"/")
		if !ours {
			continue
		}
		known := false
		for _, r := range rules {
			if !matches(r.pkg, name) {
				continue
			}
			used[r.pkg] = true
			known = known || r.pkg != "..."
			problems = append(problems, broken(module, byPath, p, r)...)
		}
		if !known {
			problems = append(problems, fmt.Sprintf("%s: no rule says what it may not import", name))
		}
	}
	for _, r := range rules {
		if !used[r.pkg] {
			problems = append(problems, fmt.Sprintf("%s: there is a rule but no such package", r.pkg))
		}
	}
	return problems
}

func broken(module string, byPath map[string]pkg, p pkg, r rule) []string {
	var problems []string
	name := strings.TrimPrefix(p.ImportPath, module+"/")
	for _, dep := range p.Deps {
		for target, reason := range r.not {
			if below(dep, absolute(module, target)) && !below(p.ImportPath, absolute(module, target)) {
				problems = append(problems, fmt.Sprintf("%s links %s (%s): %s",
					name, dep, strings.Join(way(byPath, p.ImportPath, dep), " -> "), reason))
			}
		}
		if r.because != "" && !byPath[dep].Standard &&
			!slices.ContainsFunc(r.only, func(allowed string) bool { return below(dep, allowed) }) {
			problems = append(problems, fmt.Sprintf("%s links %s (%s): %s",
				name, dep, strings.Join(way(byPath, p.ImportPath, dep), " -> "), r.because))
		}
	}
	slices.Sort(problems)
	return problems
}

// matches tells whether a rule for pattern speaks of the package called name.
func matches(pattern, name string) bool {
	root, tree := strings.CutSuffix(pattern, "...")
	if !tree {
		return name == pattern
	}
	return root == "" || name+"/" == root || strings.HasPrefix(name, root)
}

// absolute completes a path within the module. Paths of other modules begin with a host name.
func absolute(module, path string) string {
	if first, _, _ := strings.Cut(path, "/"); strings.Contains(first, ".") {
		return path
	}
	return module + "/" + path
}

func below(path, root string) bool {
	return path == root || strings.HasPrefix(path, root+"/")
}

// way finds a shortest chain of imports, so that the arrow to cut can be seen.
func way(byPath map[string]pkg, from, to string) []string {
	before := map[string]string{from: ""}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		for _, next := range byPath[queue[0]].Imports {
			if _, seen := before[next]; seen {
				continue
			}
			before[next] = queue[0]
			if next != to {
				queue = append(queue, next)
				continue
			}
			var chain []string
			for at := to; at != ""; at = before[at] {
				chain = append(chain, at)
			}
			slices.Reverse(chain)
			return chain
		}
	}
	return []string{from, "...", to}
}

// The rules are only worth something if a broken one is noticed.
func TestJudgeNoticesABrokenRule(t *testing.T) {
	packages := []pkg{
		{ImportPath: "x.test/m/low", Imports: []string{"fmt", "x.test/m/mid"}, Deps: []string{"fmt", "x.test/m/mid", "other.test/big/part"}},
		{ImportPath: "x.test/m/mid", Imports: []string{"other.test/big/part"}, Deps: []string{"other.test/big/part"}},
		{ImportPath: "x.test/m/mid/sub"},
		{ImportPath: "other.test/big/part"},
		{ImportPath: "other.test/bigger"},
		{ImportPath: "fmt", Standard: true},
	}
	fine := rule{pkg: "mid/..."}
	for _, c := range []struct {
		name  string
		rules []rule
		want  []string
	}{
		{"nothing forbidden", []rule{{pkg: "low"}, fine}, nil},
		{"own package", []rule{{pkg: "low", not: map[string]string{"mid": "it is above"}}, fine},
			[]string{"low links x.test/m/mid (x.test/m/low -> x.test/m/mid): it is above"}},
		{"through another", []rule{{pkg: "low", not: map[string]string{"other.test/big": "it is big"}}, fine},
			[]string{"low links other.test/big/part (x.test/m/low -> x.test/m/mid -> other.test/big/part): it is big"}},
		{"a path, not a prefix", []rule{{pkg: "low", not: map[string]string{"other.test/bi": "it is big"}}, fine}, nil},
		{"only", []rule{{pkg: "low", only: []string{"x.test/m/mid"}, because: "it is small"}, fine},
			[]string{"low links other.test/big/part (x.test/m/low -> x.test/m/mid -> other.test/big/part): it is small"}},
		{"for all", []rule{{pkg: "..."}, fine}, []string{"low: no rule says what it may not import"}},
		{"for nothing", []rule{{pkg: "low"}, fine, {pkg: "gone"}}, []string{"gone: there is a rule but no such package"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := judge("x.test/m", packages, c.rules); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestEveryArrowHasAReason(t *testing.T) {
	for _, r := range rules {
		for target, reason := range r.not {
			if strings.TrimSpace(reason) == "" {
				t.Errorf("%s may not link %s, and nobody knows why", r.pkg, target)
			}
		}
		if r.only != nil && r.because == "" {
			t.Errorf("%s may link only %q, and nobody knows why", r.pkg, r.only)
		}
	}
}
