// This file tells whether what is written is seen by somebody at a terminal.

package report

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Columns returns the width of the terminal that w writes to, or 0 if it writes to
// none: to a file, a pipe, or a terminal that only prints one line after the other
// (TERM=dumb). A terminal that does not tell its width has 80.
func Columns(w io.Writer) int {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) || os.Getenv("TERM") == "dumb" {
		return 0
	}
	if columns, _, err := term.GetSize(int(file.Fd())); err == nil && columns > 0 {
		return columns
	}
	return 80
}
