// This file writes words and options for a shell.

package message

import (
	"fmt"
	"strings"
)

// Word returns text in a form that a shell reads as one word: in quotes if it has special characters.
func Word(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%"
	if word == "" || strings.ContainsFunc(word, func(c rune) bool { return !strings.ContainsRune(plain, c) }) {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}

// Option returns the option --name of a command with a value, with a blank before it. It returns "" for the zero value.
func Option[T comparable](name string, value T) string {
	switch any(value) {
	case any(*new(T)):
		return ""
	case true:
		return " --" + name
	}
	return " --" + name + " " + Word(fmt.Sprint(value))
}
