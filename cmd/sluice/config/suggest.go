package config

import "strings"

// allowed ends a message: what could stand there instead, and what was probably meant.
func allowed(word string, words []string) string {
	return "allowed: " + strings.Join(words, ", ") + didYouMean(word, words)
}

// didYouMean returns ` (did you mean "x"?)` if one of words is close to word, else "".
func didYouMean(word string, words []string) string {
	best, bestDistance := "", 1+max(1, min(3, len(word)/3))
	for _, w := range words {
		// Lengths first: the distance is at least their difference, and word is as long as its author liked.
		if abs(len(w)-len(word)) >= bestDistance {
			continue
		}
		if d := distance(normal(word), normal(w)); d < bestDistance {
			best, bestDistance = w, d
		}
	}
	if best == "" {
		best = related(word, words)
	}
	if best == "" || best == word {
		return ""
	}
	return " (did you mean " + quote(best) + "?)"
}

// related returns the one of words that word is the start of, or that starts word, or "".
func related(word string, words []string) string {
	word = normal(word)
	for _, w := range words {
		if min(len(word), len(w)) >= 3 && (strings.HasPrefix(w, word) || strings.HasPrefix(word, w)) {
			return w
		}
	}
	return ""
}

// normal drops what is mistyped most: case, and which of - and _ a word has.
func normal(s string) string {
	return strings.ReplaceAll(strings.ToLower(s), "-", "_")
}

func abs(n int) int {
	return max(n, -n)
}

// distance is the optimal string alignment distance in bytes: insertions, deletions, substitutions and swaps of
// neighbours, https://en.wikipedia.org/wiki/Damerau%E2%80%93Levenshtein_distance.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
