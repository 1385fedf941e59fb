package descriptor

import (
	"path"
	"strings"
)

// The small grammars of the format. They are written out by hand: compiling regular expressions would
// cost each start of a program that reads one descriptor more than the reading does.

func lower(b byte) bool { return b >= 'a' && b <= 'z' }
func upper(b byte) bool { return b >= 'A' && b <= 'Z' }
func digit(b byte) bool { return b >= '0' && b <= '9' }

func lowerAlnum(b byte) bool { return lower(b) || digit(b) }
func alnum(b byte) bool      { return lowerAlnum(b) || upper(b) }

// every tells whether all bytes of s are in the class.
func every(s string, class func(byte) bool) bool {
	for i := range len(s) {
		if !class(s[i]) {
			return false
		}
	}
	return true
}

// isIdent: [A-Za-z_][A-Za-z0-9_]*, the names of arguments and of environment variables.
func isIdent(s string) bool {
	return s != "" && !digit(s[0]) && every(s, func(b byte) bool { return alnum(b) || b == '_' })
}

// isLabel: [a-z0-9]([a-z0-9-]*[a-z0-9])?, of at most limit bytes.
func isLabel(s string, limit int) bool {
	return s != "" && len(s) <= limit && lowerAlnum(s[0]) && lowerAlnum(s[len(s)-1]) &&
		every(s, func(b byte) bool { return lowerAlnum(b) || b == '-' })
}

// isCapabilityType: namespace/name@version.
func isCapabilityType(s string) bool {
	namespace, rest, ok := strings.Cut(s, "/")
	name, version, ok2 := strings.Cut(rest, "@")
	return ok && ok2 && namespace != "" && lowerAlnum(namespace[0]) && lowerAlnum(namespace[len(namespace)-1]) &&
		every(namespace, func(b byte) bool { return lowerAlnum(b) || b == '.' || b == '-' }) &&
		isLabel(name, len(name)) &&
		version != "" && version[0] != '0' && every(version, digit)
}

// isByteSize: digits, an optional fraction, optional blanks, an optional unit.
func isByteSize(s string) bool {
	n := 0
	for n < len(s) && digit(s[n]) {
		n++
	}
	if n == 0 {
		return false
	}
	if s = s[n:]; strings.HasPrefix(s, ".") {
		n = 1
		for n < len(s) && digit(s[n]) {
			n++
		}
		if n == 1 {
			return false
		}
		s = s[n:]
	}
	if s = strings.TrimLeft(s, blanks); s == "" {
		return true
	}
	if !strings.ContainsRune("kKmMgGtT", rune(s[0])) {
		return false
	}
	s = strings.TrimPrefix(s[1:], "i")
	return s == "" || s == "b" || s == "B"
}

// blanks are the characters of \s in the format's patterns.
const blanks = "\t\n\f\r "

// isMode: three or four octal digits.
func isMode(s string) bool {
	return (len(s) == 3 || len(s) == 4) && every(s, func(b byte) bool { return b >= '0' && b <= '7' })
}

// isCanonical: an absolute path that lexical cleaning leaves alone.
func isCanonical(p string) bool {
	return strings.HasPrefix(p, "/") && path.Clean(p) == p && !strings.Contains(p, "\x00")
}

// isDigest: sha256 in lower-case hexadecimal.
func isDigest(s string) bool {
	hex, ok := strings.CutPrefix(s, "sha256:")
	return ok && len(hex) == 64 && every(hex, func(b byte) bool { return digit(b) || b >= 'a' && b <= 'f' })
}
