// Package bench measures the programs beside others that do the same work, and prints one table:
//
//	make bench
//	make bench JSON=FILE
//
// The second form also writes every sample to FILE. Start with BenchmarkTable, which runs the programs;
// the command in solves measures what has to be measured inside a process. This package holds the
// vocabulary of both: a [Sample] is one run, a [Row] all runs of one thing, a [Report] the table.
//
// # How
//
// Every run is warmed up, rows that are compared take turns within one run, and who begins changes each round,
// so that a slow moment of the machine hits all of them. A run that fails, or answers something
// unexpected, ends the benchmark: what does not work has no speed.
//
// # What it refuses
//
// No test depends on a figure, and a missed target changes no exit status: the table says it, and the
// reader judges, who can see how busy the machine was.
//
// # Limits and stability
//
// It needs Linux, root and what `make bench` installs. It promises nothing to anybody else.
package bench

import (
	"math"
	"slices"
	"time"
)

// Sample is what one run took.
type Sample struct {
	// Wall is from just before the start until the end is known.
	Wall time.Duration `json:"wallNanoseconds"`
	// CPU is user and system time of a process and of those that it waited for; zero if unknown.
	CPU time.Duration `json:"cpuNanoseconds,omitempty"`
	// Peak is the largest resident set, in bytes, of one process of the run; zero if unknown.
	Peak int64 `json:"peakBytes,omitempty"`
}

// Stats sums up one figure of a row, in the figure's own unit.
type Stats struct{ Median, Min, P90 float64 }

// Summarize takes any number of figures, in any order; of none, everything is NaN. P90 is a figure that
// was measured, the smallest that at least nine tenths do not exceed.
func Summarize(figures []float64) Stats {
	n := len(figures)
	if n == 0 {
		return Stats{math.NaN(), math.NaN(), math.NaN()}
	}
	sorted := slices.Sorted(slices.Values(figures))
	return Stats{
		Median: (sorted[(n-1)/2] + sorted[n/2]) / 2,
		Min:    sorted[0],
		P90:    sorted[(9*n+9)/10-1],
	}
}

// Interleave measures what is to be compared: in each round every run once, in turn, beginning with
// another one each time. The first warm rounds are not kept. The samples come back in the order of runs.
func Interleave(warm, rounds int, runs ...func() (Sample, error)) ([][]Sample, error) {
	out := make([][]Sample, len(runs))
	for round := range warm + rounds {
		for k := range runs {
			i := (round + k) % len(runs)
			s, err := runs[i]()
			if err != nil {
				return nil, err
			}
			if round >= warm {
				out[i] = append(out[i], s)
			}
		}
	}
	return out, nil
}
