package testkit

import (
	"fmt"
	"slices"
	"strings"

	"proactivedp/data"
)

// LIBSVM returns d as text in the LIBSVM format, with a zero in the last column if that has no entry.
func LIBSVM(d *data.Dataset) string {
	var text strings.Builder
	for i := range d.Len() {
		fmt.Fprint(&text, d.Label[i])
		row := d.Row(i)
		for j, column := range row.Index {
			fmt.Fprintf(&text, " %d:%v", column+1, row.Value[j])
		}
		if i == 0 && !slices.Contains(d.Index, int32(d.Features-1)) {
			fmt.Fprintf(&text, " %d:0", d.Features)
		}
		text.WriteByte('\n')
	}
	return text.String()
}
