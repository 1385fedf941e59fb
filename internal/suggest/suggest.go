// Package suggest finds the word that somebody probably meant. It stays silent when unsure, because
// a wrong hint costs more than none.
package suggest

// maxWord bounds the words that are compared, in bytes: a longer one is not a slip of the finger.
const maxWord = 64

// Nearest gives the candidate closest to word, when it is at most two edits away, nearer than a
// third of the word's length, and no other candidate is as close.
func Nearest(word string, candidates []string) (string, bool) {
	limit := min(2, (len(word)+1)/3)
	best, bestAt, ties := "", limit+1, 0
	for _, candidate := range candidates {
		switch at := distance(word, candidate); {
		case at == 0:
			return "", false // it is spelled right, so spelling is not the problem
		case at < bestAt:
			best, bestAt, ties = candidate, at, 1
		case at == bestAt && candidate != best:
			ties++
		}
	}
	return best, bestAt <= limit && ties == 1
}

// distance counts the insertions, deletions, replacements and swaps of neighbours between a and b.
func distance(a, b string) int {
	if len(a) > maxWord || len(b) > maxWord {
		return maxWord
	}
	older, old := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range old {
		old[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := old[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			row[j] = min(replace, old[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], older[j-2]+1)
			}
		}
		older, old = old, row
	}
	return old[len(b)]
}
