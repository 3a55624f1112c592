// This file finds the name that somebody meant who wrote another.

package message

import "strings"

// longest bounds the words that are compared, and with them the time.
const longest = 100

// Nearest returns the name that is written most like word, the first of equal ones, or
// "" if none is like it; one that begins with word comes before all that do not. A name
// is like the word if at most a third of the letters of the longer one are wrong,
// whatever the case, or if word is its beginning. A word of more than a hundred letters
// is like none.
func Nearest(word string, names []string) string {
	best, least, began := "", 0, false
	if len(word) > longest {
		return ""
	}
	word = strings.ToLower(word)
	for _, name := range names {
		other := strings.ToLower(name)
		d := distance([]rune(word), []rune(other))
		begins := word != "" && strings.HasPrefix(other, word)
		if 3*d > max(len(word), len(other)) && !begins {
			continue
		}
		if best == "" || begins && !began || begins == began && d < least {
			best, least, began = name, d, begins
		}
	}
	return best
}

// distance is the fewest letters to insert, delete, replace or exchange with
// their neighbour that make b of a (optimal string alignment).
func distance(a, b []rune) int {
	d := make([][]int, len(a)+1) // d[i][j] is from the first i of a to the first j of b
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := range a {
		for j := range b {
			replace := d[i][j]
			if a[i] != b[j] {
				replace++
			}
			d[i+1][j+1] = min(replace, d[i][j+1]+1, d[i+1][j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				d[i+1][j+1] = min(d[i+1][j+1], d[i-1][j-1]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}
