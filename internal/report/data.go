package report

import (
	"fmt"
	"io"
)

// Data returns text about a data set: its name, whether it is synthetic, and a note.
func Data(name string, synthetic bool, note string) string {
	if synthetic {
		name += " (SYNTHETIC data)"
	}
	if note != "" {
		name += "; " + note
	}
	return name
}

func WriteNotes(w io.Writer, notes []string) error {
	for _, n := range notes {
		if _, err := fmt.Fprintf(w, "note            %s\n", n); err != nil {
			return err
		}
	}
	return nil
}
