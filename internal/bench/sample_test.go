package bench

import (
	"errors"
	"math"
	"slices"
	"testing"
)

func TestSummarize(t *testing.T) {
	tenths := make([]float64, 10)
	for i := range tenths {
		tenths[i] = float64(10 - i)
	}
	for _, c := range []struct {
		figures []float64
		want    Stats
	}{
		{[]float64{7}, Stats{7, 7, 7}},
		{[]float64{3, 1}, Stats{2, 1, 3}},
		{[]float64{5, 1, 3}, Stats{3, 1, 5}},
		{tenths, Stats{5.5, 1, 9}},
		{append(slices.Clone(tenths), 11), Stats{6, 1, 10}},
	} {
		if got := Summarize(c.figures); got != c.want {
			t.Errorf("%v: got %v, want %v", c.figures, got, c.want)
		}
	}
	if got := Summarize(nil); !math.IsNaN(got.Median) || !math.IsNaN(got.Min) || !math.IsNaN(got.P90) {
		t.Errorf("of nothing: %v", got)
	}
}

func TestInterleaveTakesTurns(t *testing.T) {
	var order string
	calls := int64(0)
	one := func(name string) func() (Sample, error) {
		return func() (Sample, error) {
			order += name
			calls++
			return Sample{Peak: calls}, nil
		}
	}
	got, err := Interleave(1, 2, one("a"), one("b"))
	if err != nil {
		t.Fatal(err)
	}
	if order != "ab"+"ba"+"ab" {
		t.Errorf("order: %s", order)
	}
	want := [][]Sample{{{Peak: 4}, {Peak: 5}}, {{Peak: 3}, {Peak: 6}}}
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestInterleaveEndsWithAFailure(t *testing.T) {
	broken := errors.New("broken")
	calls := 0
	_, err := Interleave(1, 9, func() (Sample, error) { calls++; return Sample{}, broken })
	if !errors.Is(err, broken) || calls != 1 {
		t.Errorf("got %v after %d calls", err, calls)
	}
}
