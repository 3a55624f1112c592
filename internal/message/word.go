// This file writes commands that a shell takes as they are meant.

package message

import "strings"

// Word returns a word as a shell takes it: quoted, unless no character in it means anything there.
func Word(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%"
	if word == "" || strings.ContainsFunc(word, func(c rune) bool { return !strings.ContainsRune(plain, c) }) {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}
