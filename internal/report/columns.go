package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// WriteColumns writes rows of cells as text, in columns that are two spaces apart.
func WriteColumns(w io.Writer, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	return t.Flush()
}
