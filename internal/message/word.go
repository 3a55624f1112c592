// This file quotes words for a shell.

package message

import "strings"

// Word returns text in a form that a shell reads as one word: in quotes if it has special characters.
func Word(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%"
	if word == "" || strings.ContainsFunc(word, func(c rune) bool { return !strings.ContainsRune(plain, c) }) {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}
