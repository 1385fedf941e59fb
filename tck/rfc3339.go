package tck

import (
	"regexp"
	"strings"
	"time"
)

// rfc3339Syntax is the grammar alone. It is needed because time.Parse accepts more: a comma before
// the fraction, among others.
var rfc3339Syntax = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt]` +
	`[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?` +
	`([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`)

// secondsAt is where the seconds stand in such a timestamp.
const secondsAt = len("2006-01-02T15:04:")

// validRFC3339 tells whether s is an RFC 3339 timestamp. A leap second is accepted at any valid
// date and time, as the grammar has it; time.Parse knows none, so it is shown second 59 instead.
func validRFC3339(s string) bool {
	if !rfc3339Syntax.MatchString(s) {
		return false
	}
	s = strings.ToUpper(s)
	if s[secondsAt:secondsAt+2] == "60" {
		s = s[:secondsAt] + "59" + s[secondsAt+2:]
	}
	_, err := time.Parse(time.RFC3339, s)
	return err == nil
}
