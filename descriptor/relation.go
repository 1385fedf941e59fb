package descriptor

import (
	"fmt"
	"slices"
	"strings"
)

// Relation is one parsed entry of requires or integrates. Its Name is normalised.
type Relation struct {
	Name        string
	constraints []constraint
}

type constraint struct{ op, version string }

func (c constraint) holds(version string) bool {
	order := CompareVersions(version, c.version)
	switch c.op {
	case ">=":
		return order >= 0
	case ">":
		return order > 0
	case "<=":
		return order <= 0
	case "<":
		return order < 0
	}
	return order == 0
}

// ParseRelation reads "name" or "name OP version[, OP version]...", OP one of >= > <= < =
// (SPEC-v3 §5.2). Constraints that no version can meet are an error.
func ParseRelation(s string) (Relation, error) {
	r, fault := parseRelation(s)
	if fault != nil {
		return Relation{}, textError(s, fault)
	}
	return r, nil
}

func parseRelation(s string) (Relation, *grammarError) {
	s = strings.Trim(s, blanks)
	name, tail := s, ""
	if i := strings.IndexAny(s, "<>="); i >= 0 {
		name, tail = strings.TrimRight(s[:i], blanks), s[i:]
	}
	if name == "" {
		return Relation{}, &grammarError{codeRelation, "has no name", ""}
	}
	full, fault := normalName(name)
	if fault != nil {
		return Relation{}, relationHint(name, fault)
	}
	r := Relation{Name: full}
	for more := tail != ""; more; {
		var part string
		part, tail, more = strings.Cut(tail, ",")
		c, fault := parseConstraint(part)
		if fault != nil {
			return Relation{}, fault
		}
		r.constraints = append(r.constraints, c)
	}
	if !satisfiable(r.constraints) {
		return Relation{}, &grammarError{codeUnsatisfy, "has constraints that no version meets together", ""}
	}
	return r, nil
}

// relationHint recognises the constraint syntaxes of other tools.
func relationHint(name string, fault *grammarError) *grammarError {
	base, rest := name, ""
	if i := strings.IndexAny(name, "^~@! "); i >= 0 {
		base, rest = strings.Trim(name[:i], blanks), strings.Trim(name[i:], blanks)
	}
	if base == "" || rest == "" {
		return fault
	}
	if _, bad := normalName(base); bad != nil {
		return fault
	}
	out := &grammarError{code: codeRelation, message: "is neither a name nor a name with version constraints"}
	version := strings.Trim(rest, "^~@!= ")
	switch {
	case !ValidVersion(version):
		out.hint = fmt.Sprintf("constraints are written %s >= 1.2, < 2", base)
	case rest[0] == '^' || rest[0] == '~':
		out.hint = fmt.Sprintf("%q is not an operator here; write a range such as %s >= %s, < the next release that breaks", rest[:1], base, version)
		if next, ok := nextMajor(version); ok && rest[0] == '^' {
			out.hint = fmt.Sprintf(`"^" is not an operator here; write "%s >= %s, < %s"`, base, version, next)
		}
	default:
		out.hint = fmt.Sprintf(`constraints are written with >=, >, <=, < or =, as in "%s >= %s"`, base, version)
	}
	return out
}

// nextMajor adds one to the first segment.
func nextMajor(version string) (string, bool) {
	first, _, _ := strings.Cut(version, ".")
	digits := []byte(first)
	for i := len(digits) - 1; i >= 0; i-- {
		if digits[i] != '9' {
			digits[i]++
			return string(digits), true
		}
		digits[i] = '0'
	}
	return "1" + string(digits), len(first) > 0
}

func parseConstraint(s string) (constraint, *grammarError) {
	s = strings.Trim(s, blanks)
	for _, op := range []string{">=", "<=", ">", "<", "="} {
		version, ok := strings.CutPrefix(s, op)
		if !ok {
			continue
		}
		version = strings.Trim(version, blanks)
		switch {
		case version == "":
			return constraint{}, &grammarError{codeRelation, fmt.Sprintf("has no version behind %s", op), ""}
		case strings.ContainsAny(version[:1], "<>=~^!"):
			return constraint{}, &grammarError{codeRelation, fmt.Sprintf("has %s, which is not an operator", quoted(op+version[:1])),
				"the operators are >=, >, <=, < and ="}
		case !ValidVersion(version):
			return constraint{}, badVersion("has the version "+quoted(version)+", which is not", version)
		}
		return constraint{op, version}, nil
	}
	if s == "" {
		return constraint{}, &grammarError{codeRelation, "has no constraint behind a comma", ""}
	}
	return constraint{}, &grammarError{codeRelation, fmt.Sprintf("has the constraint %s, which does not begin with an operator", quoted(s)),
		"the operators are >=, >, <=, < and ="}
}

// bounds is what a set of constraints comes down to. The smallest version above v is "v.-", so that
// an exclusive lower bound is an inclusive one at that point.
type bounds struct {
	pin, low, high string // "": none
	open           bool   // high itself is excluded
}

func bound(constraints []constraint) bounds {
	var b bounds
	raise := func(v string) {
		if b.low == "" || CompareVersions(v, b.low) > 0 {
			b.low = v
		}
	}
	drop := func(v string, open bool) {
		order := -1
		if b.high != "" {
			order = CompareVersions(v, b.high)
		}
		if order < 0 || order == 0 && open {
			b.high, b.open = v, open
		}
	}
	for _, c := range constraints {
		switch c.op {
		case "=":
			if b.pin == "" {
				b.pin = c.version
			}
		case ">=":
			raise(c.version)
		case ">":
			raise(c.version + ".-")
		case "<=":
			drop(c.version, false)
		case "<":
			drop(c.version, true)
		}
	}
	return b
}

func satisfiable(constraints []constraint) bool {
	b := bound(constraints)
	if b.pin != "" {
		return !slices.ContainsFunc(constraints, func(c constraint) bool { return !c.holds(b.pin) })
	}
	if b.high == "" {
		return true
	}
	low := b.low
	if low == "" {
		low = "0"
	}
	order := CompareVersions(low, b.high)
	return order < 0 || order == 0 && !b.open
}

// String is canonical: relations that mean the same have the same text, however they were spelled.
func (r Relation) String() string {
	b := bound(r.constraints)
	var parts []string
	switch {
	case b.pin != "":
		parts = []string{"=" + canonicalVersion(b.pin)}
	default:
		if v, ok := strings.CutSuffix(b.high, ".-"); ok && b.open && ValidVersion(v) {
			b.high, b.open = v, false
		}
		low, high := canonicalVersion(b.low), canonicalVersion(b.high)
		if b.low != "" && b.high != "" && !b.open && CompareVersions(low, high) == 0 {
			parts = []string{"=" + low}
			break
		}
		if b.low != "" {
			parts = append(parts, ">="+low)
		}
		switch {
		case b.high != "" && b.open:
			parts = append(parts, "<"+high)
		case b.high != "":
			parts = append(parts, "<="+high)
		}
	}
	if len(parts) == 0 {
		return r.Name
	}
	slices.Sort(parts)
	return r.Name + " " + strings.Join(parts, ",")
}

// SatisfiedBy tells whether a provide meets the relation. An unversioned one (version "") meets only
// a relation without constraints.
func (r Relation) SatisfiedBy(name, version string) bool {
	if !strings.Contains(name, "/") {
		name = kitNamespace + "/" + name
	}
	if name != r.Name {
		return false
	}
	if len(r.constraints) == 0 {
		return true
	}
	return ValidVersion(version) && !slices.ContainsFunc(r.constraints, func(c constraint) bool { return !c.holds(version) })
}

// Constrained tells whether the relation asks for versions at all.
func (r Relation) Constrained() bool { return len(r.constraints) > 0 }
