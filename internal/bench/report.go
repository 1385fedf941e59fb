package bench

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Row is all runs of one thing.
type Row struct {
	Name    string   `json:"name"`
	Command string   `json:"command"` // or the call, for what runs inside a process
	Samples []Sample `json:"samples"`
	// Limit is the most that the median of the wall time, and of the CPU time if it is known, should be;
	// zero for none.
	Limit time.Duration `json:"limitNanoseconds,omitempty"`
	// MaxRatio is how many times the first row of its group it may take; zero for no such limit.
	MaxRatio float64 `json:"maxRatio,omitempty"`
}

// Group is what is compared with each other: each ratio is one of median wall times, to the first row.
type Group struct {
	Title string   `json:"title"`
	Rows  []Row    `json:"rows"`
	Notes []string `json:"notes,omitempty"`
}

// Report is the table.
type Report struct {
	Machine Machine `json:"machine"`
	Groups  []Group `json:"groups"`
}

func (r Row) figures(of func(Sample) float64) Stats {
	var list []float64
	for _, s := range r.Samples {
		list = append(list, of(s))
	}
	return Summarize(list)
}

// Wall sums up the wall time, in milliseconds.
func (r Row) Wall() Stats { return r.figures(func(s Sample) float64 { return milliseconds(s.Wall) }) }

// CPU sums up the CPU time, in milliseconds; zeros if it is unknown.
func (r Row) CPU() Stats { return r.figures(func(s Sample) float64 { return milliseconds(s.CPU) }) }

// Peak sums up the largest resident set, in MiB; zeros if it is unknown.
func (r Row) Peak() Stats {
	return r.figures(func(s Sample) float64 { return float64(s.Peak) / (1 << 20) })
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// verdict says what the row should take and whether it does, or nothing.
func (r Row) verdict(ratio float64) string {
	var parts []string
	if r.Limit > 0 {
		worst := max(r.Wall().Median, r.CPU().Median)
		parts = append(parts, fmt.Sprintf("<= %v %s", r.Limit, met(worst <= milliseconds(r.Limit))))
	}
	if r.MaxRatio > 0 {
		parts = append(parts, fmt.Sprintf("<= %.1fx %s", r.MaxRatio, met(ratio <= r.MaxRatio)))
	}
	return strings.Join(parts, ", ")
}

func met(ok bool) string {
	if ok {
		return "met"
	}
	return "MISSED"
}

// nameWidth is that of the first column, in characters.
const nameWidth = 56

// Write prints the table.
func (r *Report) Write(w io.Writer) error {
	var out strings.Builder
	r.Machine.write(&out)
	fmt.Fprintf(&out, "\n%-*s %5s %8s %8s %8s %8s %6s %6s  %s\n", nameWidth, "wall and CPU in ms, peak resident set in MiB",
		"runs", "median", "min", "p90", "CPU med", "peak", "ratio", "target")
	for i, g := range r.Groups {
		fmt.Fprintf(&out, "\n%d. %s\n", i+1, g.Title)
		for _, row := range g.Rows {
			wall := row.Wall()
			ratio := wall.Median / g.Rows[0].Wall().Median
			ratioText := ""
			if len(g.Rows) > 1 {
				ratioText = fmt.Sprintf("%.2f", ratio)
			}
			line := fmt.Sprintf("%-*s %5d %8.1f %8.1f %8.1f %8s %6s %6s  %s", nameWidth, "   "+row.Name, len(row.Samples),
				wall.Median, wall.Min, wall.P90, known(row.CPU().Median), known(row.Peak().Median), ratioText, row.verdict(ratio))
			fmt.Fprintln(&out, strings.TrimRight(line, " "))
		}
		for _, note := range g.Notes {
			fmt.Fprintf(&out, "   %s\n", note)
		}
	}
	fmt.Fprintf(&out, "\nWhat was run:\n")
	for i, g := range r.Groups {
		for _, row := range g.Rows {
			fmt.Fprintf(&out, "%d. %s: %s\n", i+1, row.Name, row.Command)
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// known leaves out a figure that nobody measured.
func known(figure float64) string {
	if figure > 0 {
		return fmt.Sprintf("%.1f", figure)
	}
	return "-"
}
