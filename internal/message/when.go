package message

import "fmt"

// When returns the formatted text if is is true, and otherwise "". It is for the parts of a message that depend on
// what it is about. The arguments are evaluated in both cases.
func When(is bool, format string, args ...any) string {
	if !is {
		return ""
	}
	return fmt.Sprintf(format, args...)
}
