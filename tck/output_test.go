package tck

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "write the golden files of this package anew")

// sample has two groups of platforms and, in the first, findings of every severity: five checks, of
// which two fail, one of them three times over.
func sample() *Output {
	a := Check{"oci-annotations", "SPEC-v3 §9.3"}
	b := Check{"descriptor-valid", "SPEC-v3 §9.3"}
	c := Check{"sbx-platform-floor", "sbx@1"}
	d := Check{"home/grown", "home/grown"} // a requirement that has no place, and equals the name
	e := Check{"staged-recipe", "SPEC-v3 §10"}
	first := &Report{
		Roster: []Check{a, b, c, d, e},
		Findings: []Finding{
			{a, Fail, `org.opencontainers.image.title says "Lamp", the descriptor's displayName gives "Lantern"`},
			{a, Fail, "short"},
			{a, Warn, "also that"},
			{b, Fail, "kit:1:2: colour: unknown key\n  |\n1 | {\"colour\":\"blue\"}\n  |  ^"},
			{c, Warn, strings.Repeat("word ", 30) + "end"},
			{d, Skip, "not seen\x1b[31m here"},
		},
	}
	second := &Report{Roster: []Check{a}}
	return &Output{
		Tool: "kit-tck", Version: "3.0.0", Revision: "0123abc", Target: "out 1.2.0",
		Verdict: &Verdict{Digest: sampleDigest("0"), Results: []Result{
			{[]string{"linux/amd64", "linux/arm64/v8"}, first, map[string]string{"linux/amd64": sampleDigest("a"), "linux/arm64/v8": sampleDigest("b")}},
			{[]string{"windows/amd64"}, second, map[string]string{"windows/amd64": sampleDigest("c")}},
		}},
	}
}

// bareSample is a manifest that was reached directly and conforms.
func bareSample() *Output {
	report := &Report{Roster: []Check{{"image-config", "SPEC-v3 §10"}, {"merged-set", "SPEC-v3 §9.5"}}}
	return &Output{Tool: "kit-tck", Version: "dev", Target: "me/kit", Verdict: &Verdict{
		Digest: sampleDigest("d"), Results: []Result{{Report: report, Digests: map[string]string{"": sampleDigest("d")}}},
	}}
}

func sampleDigest(figure string) string { return "sha256:" + strings.Repeat(figure, 64) }

func TestOutput(t *testing.T) {
	text := func(o *Output, options TextOptions) func(*bytes.Buffer) error {
		return func(b *bytes.Buffer) error { return o.WriteText(b, options) }
	}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"plain.txt":    text(sample(), TextOptions{}),
		"narrow.txt":   text(sample(), TextOptions{Width: 44}),
		"color.txt":    text(sample(), TextOptions{Color: true}),
		"links.txt":    text(sample(), TextOptions{Color: true, Links: true}),
		"verbose.txt":  text(sample(), TextOptions{Verbose: true}),
		"bare.txt":     text(bareSample(), TextOptions{}),
		"report.json":  func(b *bytes.Buffer) error { return sample().WriteJSON(b) },
		"bare.json":    func(b *bytes.Buffer) error { return bareSample().WriteJSON(b) },
		"nothing.json": func(b *bytes.Buffer) error { return (&Output{Tool: "kit-tck", Verdict: &Verdict{}}).WriteJSON(b) },
	} {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			if err := write(&got); err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", "output", name)
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Bytes(), want) {
				t.Errorf("got\n%s\nwant\n%s", got.Bytes(), want)
			}
		})
	}
}

// Widths under the minimum count as unknown, those over the maximum as the maximum; no wrapped line
// is longer than its width.
func TestTextWidth(t *testing.T) {
	write := func(width int) string {
		var b bytes.Buffer
		o := sample()
		o.Verdict.Results[0].Report.Findings = o.Verdict.Results[0].Report.Findings[4:5]
		if err := o.WriteText(&b, TextOptions{Width: width}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for width, like := range map[int]int{0: defaultWidth, -1: defaultWidth, minWidth - 1: defaultWidth, maxWidth + 1: maxWidth} {
		if write(width) != write(like) {
			t.Errorf("width %d is not laid out like %d", width, like)
		}
	}
	for width := minWidth; width <= maxWidth; width++ {
		for line := range strings.Lines(write(width)) {
			finding := strings.HasPrefix(line, "    ")
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); finding && n > width {
				t.Errorf("width %d: %d characters in %q", width, n, line)
			}
		}
	}
}

// Without colour there is no escape sequence, whatever a kit puts into its values.
func TestTextEscapes(t *testing.T) {
	var b bytes.Buffer
	o := sample()
	o.Target = "out \x1b]0;title\x07\u202e"
	o.Verdict.Results[1].Platforms = []string{"linux/\x1b[2J\u009b31m"}
	if err := o.WriteText(&b, TextOptions{Verbose: true}); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\x07\u009b\u202e") {
		t.Errorf("escape sequences in %q", b.String())
	}
}

type full struct{}

var errFull = errors.New("no space left")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestOutputWriteError(t *testing.T) {
	if err := sample().WriteText(full{}, TextOptions{}); !errors.Is(err, errFull) {
		t.Errorf("WriteText: %v", err)
	}
	if err := sample().WriteJSON(full{}); !errors.Is(err, errFull) {
		t.Errorf("WriteJSON: %v", err)
	}
}

// Every requirement of the roster can be looked up; what is no requirement leads nowhere.
func TestSpecLink(t *testing.T) {
	for _, c := range append(roster(), check{Check: descriptorAnnotation}) {
		if specLink(c.Requirement) == "" {
			t.Errorf("%s: %s has no place in the specification", c.Name, c.Requirement)
		}
	}
	for _, id := range []string{"", "SPEC-v3 §99", "SPEC-v3", "other@1", "home/grown"} {
		if got := specLink(id); got != "" {
			t.Errorf("%q leads to %s", id, got)
		}
	}
}

func TestReport(t *testing.T) {
	report := sample().Verdict.Results[0].Report
	if got, want := report.Summary(), (Summary{Checks: 5, Failed: 2, Warned: 1, Skipped: 1, Passed: 1}); got != want {
		t.Errorf("summary %+v, want %+v", got, want)
	}
	if report.Conforms() {
		t.Error("a report with failures conforms")
	}
	lines := strings.Split(report.Err().Error(), "\n")
	if lines[0] != `oci-annotations (SPEC-v3 §9.3): org.opencontainers.image.title says "Lamp", the descriptor's displayName gives "Lantern"` ||
		!strings.HasPrefix(lines[2], "descriptor-valid (SPEC-v3 §9.3): kit:1:2:") {
		t.Errorf("error form:\n%v", report.Err())
	}
	if _, ok := report.Verdict("no-such-check"); ok {
		t.Error("a check that did not run has a verdict")
	}
	mild := &Report{Roster: report.Roster, Findings: report.Findings[4:]}
	if !mild.Conforms() || mild.Err() != nil {
		t.Errorf("warnings and skips change the verdict: %v", mild.Err())
	}
	if (&Verdict{}).Conforms() {
		t.Error("a verdict on nothing conforms")
	}
}

// Manifests for one platform keep their digests apart.
func TestDigestsOfOnePlatform(t *testing.T) {
	report := sample().Verdict.Results[1].Report
	v := &Verdict{}
	for _, digest := range []string{"a", "b"} {
		v.add("windows/amd64", sampleDigest(digest), report)
		v.add("linux/amd64", sampleDigest(digest), report)
	}
	if len(v.Results) != 2 || v.Results[0].Digests["windows/amd64"] != sampleDigest("a") || v.Results[1].Digests["windows/amd64"] != sampleDigest("b") {
		t.Errorf("got %+v", v.Results)
	}
}

func TestQuote(t *testing.T) {
	fits := strings.Repeat("ä", maxQuoted)
	if got := quote(fits); got != `"`+fits+`"` {
		t.Errorf("a value of %d characters is cut: %s", maxQuoted, got)
	}
	if got := quote(fits + "ä"); got != `"`+fits+`"…` {
		t.Errorf("a value of %d characters gives %s", maxQuoted+1, got)
	}
}
