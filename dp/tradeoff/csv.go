package tradeoff

import (
	"encoding/csv"
	"io"

	"proactivedp/internal/decimal"
)

// Curves is a list of trade-off curves that are plotted together, or written into one CSV file.
type Curves []Curve

// WriteCSV writes the curves as CSV: a header and one row for each point, with the curve's label and its α and β.
// Each number has enough digits to read back the same float64.
func (cs Curves) WriteCSV(w io.Writer) error {
	number := decimal.Exactly
	out := csv.NewWriter(w)
	rows := [][]string{{"curve", "side", "accountant", "adjacency", "sampling", "alpha", "beta"}}
	for _, c := range cs {
		for _, p := range c.Points {
			rows = append(rows, []string{c.Name, string(c.Side), c.Accountant, string(c.Adjacency), string(c.Sampling),
				number(p.Alpha), number(p.Beta)})
		}
	}
	return out.WriteAll(rows)
}
