package tck

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Severity says what a finding means for the verdict. The higher one wins where a check has several.
type Severity int

// The severities, mildest first. Passed is the verdict on a check without findings.
const (
	Passed Severity = iota
	Skip            // not observable here, or not claimed
	Warn            // a recommendation not followed
	Fail            // a violated obligation; the only severity that makes a kit non-conforming
)

// String gives the spelling of the JSON report.
func (s Severity) String() string {
	switch s {
	case Passed:
		return "pass"
	case Skip:
		return "skip"
	case Warn:
		return "warn"
	case Fail:
		return "fail"
	}
	return fmt.Sprintf("severity(%d)", int(s))
}

// MarshalText lets JSON spell a severity as String does.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Check names one check of the roster and the requirement that it stands for. Several checks share
// a requirement, so whoever counts has to count names.
type Check struct{ Name, Requirement string }

// Finding is one thing that a check found.
type Finding struct {
	Check
	Severity Severity
	Detail   string // what is wrong and how to mend it; may have several lines
}

// Report is the verdict on one artifact.
type Report struct {
	Findings []Finding // in the order in which the checks emitted them
	Roster   []Check   // the checks that ran, each once, in order
}

// Summary counts the checks of a report by verdict; the last four add up to the first.
type Summary struct {
	Checks  int `json:"checks"`
	Failed  int `json:"failed"`
	Warned  int `json:"warned"`
	Skipped int `json:"skipped"`
	Passed  int `json:"passed"`
}

// Conforms tells whether no finding is a failure.
func (r *Report) Conforms() bool {
	for _, f := range r.Findings {
		if f.Severity == Fail {
			return false
		}
	}
	return true
}

// equal tells whether two reports say the same, details included.
func (r *Report) equal(other *Report) bool {
	return slices.Equal(r.Findings, other.Findings) && slices.Equal(r.Roster, other.Roster)
}

// Verdict is the worst severity among the findings of the named check, Passed without any. ok is
// false when no check of that name ran.
func (r *Report) Verdict(name string) (verdict Severity, ok bool) {
	for _, c := range r.Roster {
		ok = ok || c.Name == name
	}
	for _, f := range r.Findings {
		if f.Name == name {
			verdict = max(verdict, f.Severity)
		}
	}
	return verdict, ok
}

// Summary counts the roster by verdict.
func (r *Report) Summary() Summary {
	s := Summary{Checks: len(r.Roster)}
	for _, c := range r.Roster {
		switch verdict, _ := r.Verdict(c.Name); verdict {
		case Fail:
			s.Failed++
		case Warn:
			s.Warned++
		case Skip:
			s.Skipped++
		default:
			s.Passed++
		}
	}
	return s
}

// DeviationError says that a kit does not conform. Its text has a line for each failure.
type DeviationError struct {
	Failures []Finding // in the order of the report, at least one
}

func (e *DeviationError) Error() string {
	lines := make([]string, len(e.Failures))
	for i, f := range e.Failures {
		lines[i] = fmt.Sprintf("%s (%s): %s", f.Name, f.Requirement, f.Detail)
	}
	return strings.Join(lines, "\n")
}

// Err gives the failures as a *DeviationError, for a build that must stop on them; nil when the kit
// conforms. Warnings and skips are left out.
func (r *Report) Err() error {
	var failures []Finding
	for _, f := range r.Findings {
		if f.Severity == Fail {
			failures = append(failures, f)
		}
	}
	if failures == nil {
		return nil
	}
	return &DeviationError{failures}
}

// recorder takes down what one check finds.
type recorder struct {
	report *Report
	check  Check
}

func (r *recorder) add(s Severity, format string, args ...any) {
	r.report.Findings = append(r.report.Findings,
		Finding{Check: r.check, Severity: s, Detail: fmt.Sprintf(format, args...)})
}

func (r *recorder) fail(format string, args ...any) { r.add(Fail, format, args...) }
func (r *recorder) warn(format string, args ...any) { r.add(Warn, format, args...) }
func (r *recorder) skip(format string, args ...any) { r.add(Skip, format, args...) }

// unreadable settles an error of the source: a failure of this check, or, when the question stays
// open, the error that ends the run. Either way the check is over.
func (r *recorder) unreadable(err error) error {
	if operational(err) {
		return err
	}
	r.fail("%v", err)
	return nil
}

// maxQuoted bounds, in characters, how much of a foreign value a finding repeats: an annotation may
// have megabytes.
const maxQuoted = 160

// quote repeats a foreign value in a finding, cut where it gets long.
func quote(s string) string {
	if utf8.RuneCountInString(s) <= maxQuoted {
		return strconv.Quote(s)
	}
	return strconv.Quote(string([]rune(s)[:maxQuoted])) + "…"
}
