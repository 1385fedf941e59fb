package bench

import (
	"strings"
	"testing"
	"time"
)

func row(name string, took ...time.Duration) Row {
	r := Row{Name: name, Command: name + " it"}
	for _, d := range took {
		r.Samples = append(r.Samples, Sample{Wall: d})
	}
	return r
}

func TestTable(t *testing.T) {
	fast, slow := row("fast", 2*time.Millisecond, 4*time.Millisecond), row("slow", 6*time.Millisecond)
	slow.Samples[0].CPU, slow.Samples[0].Peak = 8*time.Millisecond, 3<<20
	slow.Limit, slow.MaxRatio = 7*time.Millisecond, 2
	r := &Report{
		Machine: Machine{Commit: "c0ffee", BuildKit: "v1", Go: "go2", Kernel: "6", CPU: "abacus", Cores: 3, Disk: "paper", LoadBefore: "1 2 3", LoadAfter: "4 5 6"},
		Groups:  []Group{{Title: "Both", Rows: []Row{fast, slow}, Notes: []string{"so it is"}}, {Title: "Alone", Rows: []Row{fast}}},
	}
	var out strings.Builder
	if err := r.Write(&out); err != nil {
		t.Fatal(err)
	}
	want := `sbxkit c0ffee, BuildKit v1, go2
abacus, 3 cores, Linux 6, files on paper
load average 1 2 3 before, 4 5 6 after

wall and CPU in ms, peak resident set in MiB              runs   median      min      p90  CPU med   peak  ratio  target

1. Both
   fast                                                      2      3.0      2.0      4.0        -      -   1.00
   slow                                                      1      6.0      6.0      6.0      8.0    3.0   2.00  <= 7ms MISSED, <= 2.0x met
   so it is

2. Alone
   fast                                                      2      3.0      2.0      4.0        -      -

What was run:
1. fast: fast it
1. slow: slow it
2. fast: fast it
`
	if out.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", out.String(), want)
	}
}

func TestVerdictTakesTheWorseOfWallAndCPU(t *testing.T) {
	for _, c := range []struct {
		wall, cpu time.Duration
		want      string
	}{
		{10, 10, "<= 10ms met"}, {11, 9, "<= 10ms MISSED"}, {9, 11, "<= 10ms MISSED"}, {9, 0, "<= 10ms met"},
	} {
		r := Row{Limit: 10 * time.Millisecond, Samples: []Sample{{Wall: c.wall * time.Millisecond, CPU: c.cpu * time.Millisecond}}}
		if got := r.verdict(1); got != c.want {
			t.Errorf("wall %d, CPU %d: %q, want %q", c.wall, c.cpu, got, c.want)
		}
	}
}

func TestDescribe(t *testing.T) {
	m := Describe()
	for what, text := range map[string]string{"Go": m.Go, "BuildKit": m.BuildKit, "kernel": m.Kernel, "disk": m.Disk, "load": m.LoadBefore} {
		if text == "" || text == "unknown" {
			t.Errorf("%s: %q", what, text)
		}
	}
	if got := field([]byte("a: b\nmodel name\t: abacus 2: fast\n"), "model name"); got != "abacus 2: fast" {
		t.Errorf("field: %q", got)
	}
}
