package descriptor

import "strings"

// nearest gives the one word that was most likely meant, or "". It stays silent when two words are
// equally near or when too much would have to change: a wrong hint costs more than none.
func nearest(word string, known []string) string {
	if len(known) > maxKnown {
		return ""
	}
	limit := 1
	if len(word) > 5 {
		limit = 2
	}
	best, bestAt, tie := "", limit+1, false
	for _, k := range known {
		if k == word {
			return ""
		}
		d := 0
		if !strings.EqualFold(k, word) {
			d = distance(word, k, limit)
		}
		switch {
		case d < bestAt:
			best, bestAt, tie = k, d, false
		case d == bestAt:
			tie = true
		}
	}
	if tie || bestAt > limit {
		return ""
	}
	return best
}

// maxKnown bounds the words to choose from: among thousands one is always near.
const maxKnown = 500

// maxSuggest bounds the words that are compared; longer ones are not typing mistakes.
const maxSuggest = 64

// distance counts the insertions, deletions, substitutions and swaps of neighbours between a and b;
// above limit its value only says "more than limit".
func distance(a, b string, limit int) int {
	if len(a) > maxSuggest || len(b) > maxSuggest || len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	var rows [3][maxSuggest + 1]int
	before, last, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
