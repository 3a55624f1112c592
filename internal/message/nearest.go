// This file finds the name that a user probably meant.

package message

import "strings"

// longest is the longest word that is compared, in bytes. It bounds the time.
const longest = 100

// Nearest returns the name that is most similar to word, or "" if none is similar. Use it to suggest a correction. A
// name is similar if it begins with word, or if at most a third of the letters of the longer one of the two differ,
// ignoring case. Names that begin with word come before all others. Of equally similar names, the first is returned.
// A word of more than 100 bytes is similar to no name.
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

// Meant returns the end of an error message about an unknown name: ": did you mean NAME?" with the name that is
// [Nearest] to word, or "" if none is similar.
func Meant(word string, names []string) string {
	if name := Nearest(word, names); name != "" {
		return ": did you mean " + name + "?"
	}
	return ""
}

// distance returns the smallest number of letters to insert, delete, replace or exchange with their
// neighbour to turn a into b (optimal string alignment).
func distance(a, b []rune) int {
	d := make([][]int, len(a)+1) // d[i][j] is the distance from a[:i] to b[:j]
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
