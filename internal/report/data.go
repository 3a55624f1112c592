package report

import (
	"fmt"
	"io"
)

// Data names a data set for people: that it is synthetic, and what else is to be
// known of it.
func Data(name string, synthetic bool, note string) string {
	if synthetic {
		name += " (SYNTHETIC data)"
	}
	if note != "" {
		name += "; " + note
	}
	return name
}

// WriteNotes writes what a reader of a result must know, a line for each note.
func WriteNotes(w io.Writer, notes []string) error {
	for _, n := range notes {
		if _, err := fmt.Fprintf(w, "note            %s\n", n); err != nil {
			return err
		}
	}
	return nil
}
