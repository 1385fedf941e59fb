package descriptor

import (
	"fmt"
	"strings"
)

// kitNamespace is the namespace of names that are written without one.
const kitNamespace = "com.docker.kit"

// Limits of names (SPEC-v3 §5.1).
const (
	maxNameLen      = 64
	maxNamespaceLen = 253
	maxLabelLen     = 63
)

// grammarError is a fault of one name or relation, before it has a place. Its message says what the
// text does: "is not a version".
type grammarError struct{ code, message, hint string }

// textError is a grammarError for a caller who gave the text himself.
func textError(s string, e *grammarError) error {
	return fmt.Errorf("%s %s", quoted(s), e.message)
}

// Provide is one parsed entry of provides; its Name is normalised.
type Provide struct{ Name, Version string }

// Namespace is the part of the name before the slash.
func (p Provide) Namespace() string {
	namespace, _, _ := strings.Cut(p.Name, "/")
	return namespace
}

// ParseProvide reads "name" or "name@version" (SPEC-v3 §5.1). Blanks around the entry are ignored.
func ParseProvide(s string) (Provide, error) {
	p, fault := parseProvide(s)
	if fault != nil {
		return Provide{}, textError(s, fault)
	}
	return p, nil
}

func parseProvide(s string) (Provide, *grammarError) {
	name, version, versioned := strings.Cut(strings.Trim(s, blanks), "@")
	full, fault := normalName(name)
	switch {
	case fault != nil && name == "":
		return Provide{}, &grammarError{codeProvide, "has no name", ""}
	case fault != nil:
		if i := strings.IndexAny(name, "<>= "); i > 0 && fault.hint == "" {
			fault.hint = "an offered version is written name@version"
		}
		return Provide{}, fault
	case versioned && strings.Trim(version, blanks) == "":
		return Provide{}, &grammarError{codeBadVersion, "has no version behind @", ""}
	case versioned && !ValidVersion(version):
		return Provide{}, badVersion("has the version "+quoted(version)+", which is not", version)
	}
	return Provide{full, strings.Trim(version, blanks)}, nil
}

func badVersion(lead, version string) *grammarError {
	e := &grammarError{codeBadVersion, lead + " digits followed by segments of letters, digits and hyphens", ""}
	if v, ok := VersionOfTag(strings.Trim(version, blanks)); ok && strings.HasPrefix(strings.Trim(version, blanks), "v") {
		e.hint = fmt.Sprintf("leave out the v: %q", v)
	}
	return e
}

// normalName checks a name and puts the default namespace in front of a bare one.
func normalName(name string) (string, *grammarError) {
	namespace, base, qualified := strings.Cut(name, "/")
	if !qualified {
		namespace, base = "", name
	}
	if !isBaseName(base) {
		e := &grammarError{code: codeName, message: fmt.Sprintf("is not a name: 1 to %d lower-case letters, digits, dots, hyphens and plus signs", maxNameLen)}
		if low := strings.ToLower(base); low != base && isBaseName(low) {
			e.hint = "names are written in lower case"
		}
		return "", e
	}
	if !qualified {
		return kitNamespace + "/" + base, nil
	}
	if fault := checkNamespace(namespace); fault != nil {
		return "", fault
	}
	return name, nil
}

// isBaseName: starts with a letter or digit, may end with a plus sign but not with a dot or hyphen.
func isBaseName(s string) bool {
	return s != "" && len(s) <= maxNameLen && lowerAlnum(s[0]) &&
		(lowerAlnum(s[len(s)-1]) || s[len(s)-1] == '+' && len(s) > 1) &&
		every(s, func(b byte) bool { return lowerAlnum(b) || b == '+' || b == '.' || b == '-' })
}

// derivedNamespace tells whether only a build may claim names of it, from a package database.
func derivedNamespace(namespace string) bool { return namespace == "deb" || namespace == "apk" }

func checkNamespace(namespace string) *grammarError {
	switch {
	case namespace == "" || !every(namespace, func(b byte) bool { return lowerAlnum(b) || b == '.' || b == '-' }):
		return &grammarError{codeName, fmt.Sprintf("has the namespace %s, which is not made of lower-case letters, digits, dots and hyphens", quoted(namespace)), ""}
	case len(namespace) > maxNamespaceLen:
		return &grammarError{codeNamespace, fmt.Sprintf("has a namespace of more than %d characters", maxNamespaceLen), ""}
	case derivedNamespace(namespace):
		return nil
	}
	labels := strings.Split(namespace, ".")
	for _, label := range labels {
		if !isLabel(label, maxLabelLen) {
			return &grammarError{codeNamespace, fmt.Sprintf("has the namespace %s, which is not a reversed domain name", quoted(namespace)), ""}
		}
	}
	if len(labels) < 2 {
		return &grammarError{codeNamespace, fmt.Sprintf("has the namespace %s of one label; those are reserved", quoted(namespace)),
			fmt.Sprintf("use a reversed domain name of yours, such as com.example.%s", namespace)}
	}
	return nil
}
