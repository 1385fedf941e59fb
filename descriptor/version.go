package descriptor

import "strings"

// ValidVersion tells whether s, blanks around it ignored, is a version: digits, then segments of
// letters, digits and hyphens, separated by dots (SPEC-v3 §5.2).
func ValidVersion(s string) bool {
	first, rest, more := strings.Cut(strings.Trim(s, blanks), ".")
	if first == "" || !every(first, digit) {
		return false
	}
	for more {
		var segment string
		segment, rest, more = strings.Cut(rest, ".")
		if segment == "" || !every(segment, func(b byte) bool { return alnum(b) || b == '-' }) {
			return false
		}
	}
	return true
}

// CompareVersions gives -1, 0 or 1 as a is lower than, equal to or higher than b. Segments are
// compared in turn: two of digits as numbers of any length, all others as bytes; a missing one is
// empty, and that is lowest, so that 1.0 < 1.0.0.
//
// The order is not transitive where digits meet other text: 1.10 > 1.9 > 1.1a > 1.10. Do not sort by
// it; compare pairs, as constraints do.
func CompareVersions(a, b string) int {
	a, b = strings.Trim(a, blanks), strings.Trim(b, blanks)
	moreA, moreB := true, true
	for moreA || moreB {
		var x, y string
		if moreA {
			x, a, moreA = strings.Cut(a, ".")
		}
		if moreB {
			y, b, moreB = strings.Cut(b, ".")
		}
		if order := compareSegments(x, y); order != 0 {
			return order
		}
	}
	return 0
}

func compareSegments(x, y string) int {
	if x != "" && y != "" && every(x, digit) && every(y, digit) {
		x, y = strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
		if len(x) != len(y) {
			if len(x) < len(y) {
				return -1
			}
			return 1
		}
	}
	return strings.Compare(x, y)
}

// VersionOfTag reads the version out of an image tag; one leading "v" is taken off. ok is false for
// tags that name no version, such as "latest".
func VersionOfTag(tag string) (version string, ok bool) {
	version = strings.TrimPrefix(tag, "v")
	if version != strings.Trim(version, blanks) || !ValidVersion(version) {
		return "", false
	}
	return version, true
}

// canonicalVersion takes the leading zeros off the segments of digits, so that equal versions have
// one text.
func canonicalVersion(v string) string {
	segments := strings.Split(v, ".")
	for i, s := range segments {
		if every(s, digit) {
			if segments[i] = strings.TrimLeft(s, "0"); segments[i] == "" {
				segments[i] = "0"
			}
		}
	}
	return strings.Join(segments, ".")
}
