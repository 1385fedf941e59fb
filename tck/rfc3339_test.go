package tck

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// timestamps are the spellings of testdata/rfc3339.txt, by verdict.
func timestamps(t testing.TB) map[string][]string {
	t.Helper()
	data, err := os.ReadFile("testdata/rfc3339.txt")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		verdict, quoted, _ := strings.Cut(strings.TrimSpace(line), " ")
		s, err := strconv.Unquote(quoted)
		if err != nil {
			t.Fatalf("rfc3339.txt: bad line %q", line)
		}
		all[verdict] = append(all[verdict], s)
	}
	return all
}

func TestRFC3339(t *testing.T) {
	all := timestamps(t)
	if len(all["accept"]) != 12 || len(all["reject"]) != 18 || len(all) != 2 {
		t.Fatalf("rfc3339.txt has %d accepted and %d rejected spellings", len(all["accept"]), len(all["reject"]))
	}
	for verdict, spellings := range all {
		for _, s := range spellings {
			if got := validRFC3339(s); got != (verdict == "accept") {
				t.Errorf("%q: valid is %v, want %s", s, got, verdict)
			}
		}
	}
}

// FuzzRFC3339 asks that what is accepted is a real time once its leap second is taken out, and that
// whatever the library prints is accepted.
func FuzzRFC3339(f *testing.F) {
	for _, spellings := range timestamps(f) {
		for _, s := range spellings {
			f.Add(s, int64(len(s)))
		}
	}
	f.Fuzz(func(t *testing.T, s string, unix int64) {
		if validRFC3339(s) {
			plain := strings.Replace(strings.ToUpper(s), ":60", ":59", 1)
			if _, err := time.Parse(time.RFC3339Nano, plain); err != nil {
				t.Errorf("%q is accepted, yet %v", s, err)
			}
		}
		at := time.Unix(unix%(1<<37), 0).UTC() // years of four digits
		if printed := at.Format(time.RFC3339); at.Year() >= 0 && at.Year() < 10000 && !validRFC3339(printed) {
			t.Errorf("%q is refused", printed)
		}
	})
}
