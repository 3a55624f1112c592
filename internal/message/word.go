// This file quotes words for a shell.

package message

import "strings"

// Word returns a word that a shell reads as the given text. It is quoted if it has special
// characters.
func Word(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%"
	if word == "" || strings.ContainsFunc(word, func(c rune) bool { return !strings.ContainsRune(plain, c) }) {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}
