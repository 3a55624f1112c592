// This file determines whether output goes to a terminal.

package report

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Columns returns the width of the terminal that w writes to. It returns 0 for a file, a pipe, or a
// terminal that cannot redraw a line (TERM=dumb). If the width is unknown, it returns 80.
func Columns(w io.Writer) int {
	if s, ok := w.(*Screen); ok {
		return s.columns
	}
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) || os.Getenv("TERM") == "dumb" {
		return 0
	}
	if columns, _, err := term.GetSize(int(file.Fd())); err == nil && columns > 0 {
		return columns
	}
	return 80
}
