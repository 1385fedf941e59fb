package descriptor

import "strings"

// reference is one ${{ kit.args.NAME }} in a text.
type reference struct {
	start, end int // byte offsets
	name       string
}

// argRefs finds the argument references of s. Text that only resembles one, such as
// ${{ kit.args.my-arg }}, is ordinary text (SPEC-v3 §6).
func argRefs(s string) []reference {
	var out []reference
	for at := 0; ; {
		i := strings.Index(s[at:], "${{")
		if i < 0 {
			return out
		}
		i += at
		name, end, ok := token(s, i, "kit.args.")
		if !ok {
			at = i + 3
			continue
		}
		out = append(out, reference{i, end, name})
		at = end
	}
}

// token reads "${{ SCOPE NAME }}" at i.
func token(s string, i int, scope string) (name string, end int, ok bool) {
	j := skipBlanks(s, i+3)
	if !strings.HasPrefix(s[j:], scope) {
		return "", 0, false
	}
	j += len(scope)
	from := j
	for j < len(s) && (alnum(s[j]) || s[j] == '_') {
		j++
	}
	name = s[from:j]
	j = skipBlanks(s, j)
	if !isIdent(name) || !strings.HasPrefix(s[j:], "}}") {
		return "", 0, false
	}
	return name, j + 2, true
}

func skipBlanks(s string, i int) int {
	for i < len(s) && strings.IndexByte(blanks, s[i]) >= 0 {
		i++
	}
	return i
}

func hasArgRef(s string) bool { return len(argRefs(s)) > 0 }

// wholeRef gives the argument's name when s is exactly one reference.
func wholeRef(s string) (string, bool) {
	refs := argRefs(s)
	if len(refs) == 1 && refs[0].start == 0 && refs[0].end == len(s) {
		return refs[0].name, true
	}
	return "", false
}

// openerEnd tells whether at i, where "${{" stands, a placeholder of the scope begins, well-formed or
// not: "${{", blanks, "kit.SCOPE", then no further word character.
func openerEnd(s string, i int, scope string) (end int, ok bool) {
	end = skipBlanks(s, i+3)
	if !strings.HasPrefix(s[end:], "kit."+scope) {
		return 0, false
	}
	end += len("kit.") + len(scope)
	return end, end == len(s) || !alnum(s[end]) && s[end] != '_'
}

// hasOpener tells whether s holds the beginning of a placeholder of the scope.
func hasOpener(s, scope string) bool {
	for at := 0; ; {
		i := strings.Index(s[at:], "${{")
		if i < 0 {
			return false
		}
		if _, ok := openerEnd(s, at+i, scope); ok {
			return true
		}
		at += i + 3
	}
}

// placeholders finds all placeholders of s: whole tokens, and of malformed ones the beginning.
func placeholders(s string) []extent {
	var out []extent
	for at := 0; ; {
		i := strings.Index(s[at:], "${{")
		if i < 0 {
			return out
		}
		i += at
		at = i + 3
		for _, scope := range []string{"args", "env"} {
			end, ok := openerEnd(s, i, scope)
			if !ok {
				continue
			}
			if _, whole, ok := token(s, i, "kit."+scope+"."); ok {
				end = whole
			}
			out = append(out, extent{i, end})
			at = end
		}
	}
}

func hasEnvRef(s string) bool { return hasOpener(s, "env") }

// open tells whether s is filled in later.
func open(s string) bool { return hasEnvRef(s) || hasArgRef(s) }

// substitute replaces the references that value knows.
func substitute(s string, value func(name string) (string, bool)) string {
	refs := argRefs(s)
	if len(refs) == 0 {
		return s
	}
	var b strings.Builder
	last := 0
	for _, r := range refs {
		if v, ok := value(r.name); ok {
			b.WriteString(s[last:r.start])
			b.WriteString(v)
			last = r.end
		}
	}
	b.WriteString(s[last:])
	return b.String()
}
