package results

import (
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"proactivedp/internal/bounded"
	"proactivedp/internal/report"
)

// WriteTable writes a table with a header as CSV, the form of a figure's data.
func WriteTable(w io.Writer, table [][]string) error { return csv.NewWriter(w).WriteAll(table) }

// Digest returns the SHA-256 of the text that [WriteTable] writes for a table, in hexadecimal. The manifest of a
// figure contains it.
func Digest(table [][]string) (string, error) {
	sum := sha256.New()
	if err := WriteTable(sum, table); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// maxTable is the largest size of a figure's data, in bytes.
const maxTable = 64 << 20

// ReadTable returns the data in the folder of a figure in dir. digest is the one in the manifest; if the data have
// another one, the error is ErrDamaged. Some committed results have no digest; for them digest is "" and nothing is
// compared.
func ReadTable(dir, folder, digest string) ([]byte, error) {
	path := filepath.Join(dir, folder, TableFile)
	text, err := bounded.Within(dir, filepath.Join(folder, TableFile), maxTable)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(text); digest != "" && digest != hex.EncodeToString(sum[:]) {
		return nil, fmt.Errorf("data %s: %w", path, ErrDamaged)
	}
	return text, nil
}

// ReadFigure reads the manifest of a figure in dir into m, and then the figure's data. digest points to the field of m for
// the digest of the data. Unknown keys of the manifest are ignored.
func ReadFigure(dir, folder string, m any, digest *string) (Table, error) {
	text, err := ManifestText(dir, folder)
	if err != nil {
		return Table{}, err
	}
	if err := json.Unmarshal(text, m); err != nil {
		return Table{}, fmt.Errorf("%s: %w", ManifestFile, err)
	}
	if text, err = ReadTable(dir, folder, *digest); err != nil {
		return Table{}, err
	}
	return ParseTable(text)
}

// Table is the parsed content of a figure's data file: of all trainings, or, after Split, of one training.
type Table struct {
	Header []string
	Rows   [][]string
}

// maxRows is the largest number of rows that are read.
const maxRows = 1 << 20

// ParseTable reads the text of a figure's data.
func ParseTable(text []byte) (Table, error) {
	header, rows, err := report.ParseCSV(text)
	if err != nil {
		return Table{}, fmt.Errorf("%s: %w", TableFile, err)
	}
	if len(rows) > maxRows {
		return Table{}, fmt.Errorf("%s has %d rows, must be at most %d", TableFile, len(rows), maxRows)
	}
	return Table{header, rows}, nil
}

// Differs describes the first difference between t and table, which begins with its header. It returns "" if they are
// equal.
func (t Table) Differs(table [][]string) string {
	if !slices.Equal(table[0], t.Header) {
		return "has other columns"
	}
	if len(table) != len(t.Rows)+1 {
		return fmt.Sprintf("has %d rows, not %d", len(t.Rows), len(table)-1)
	}
	for i, row := range t.Rows {
		for j, cell := range row {
			within := 5e-6
			if strings.Contains(t.Header[j], "epsilon") {
				within = certifiedWidth
			}
			if want := table[i+1][j]; !sameCell(cell, want, within) {
				return fmt.Sprintf("has %s = %s in line %d, not %s", t.Header[j], cell, i+2, want)
			}
		}
	}
	return ""
}

// certifiedWidth is the relative width of the intervals whose upper ends are the ε in committed results. Narrower
// intervals have other ends.
const certifiedWidth = 1e-3

// sameCell reports whether two cells are equal. Some committed results have numbers with only six
// digits, and names in which a number of four digits is rounded in another way; these count as equal,
// too. Cells that are a number may differ by the relative amount within.
func sameCell(a, b string, within float64) bool {
	if a == b {
		return true
	}
	if number.FindString(a) != a {
		within = 1e-3 // one in the fourth digit
	}
	as, bs := number.FindAllString(a, -1), number.FindAllString(b, -1)
	return number.ReplaceAllString(a, "0") == number.ReplaceAllString(b, "0") &&
		slices.EqualFunc(as, bs, func(a, b string) bool {
			x, err := strconv.ParseFloat(a, 64)
			y, failed := strconv.ParseFloat(b, 64)
			return err == nil && failed == nil && math.Abs(x-y) <= within*math.Abs(x)
		})
}

// number is a number in a cell.
var number = regexp.MustCompile(`[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?`)

// Runs splits the table into n trainings, as Split does. It is an error if they do not all have the same
// number of rows.
func (t Table) Runs(n int, names ...string) ([]Table, error) {
	all, err := t.Split(n, names...)
	if err != nil {
		return nil, err
	}
	for i, one := range all {
		if len(one.Rows) != len(all[0].Rows) {
			return nil, fmt.Errorf("%s has %d rows of run %d, must have %d", TableFile, len(one.Rows), i+1,
				len(all[0].Rows))
		}
	}
	return all, nil
}

// Split splits the table into n trainings. A training is a group of consecutive rows with the same texts
// in the named columns. It is an error if there are not exactly n groups.
func (t Table) Split(n int, names ...string) ([]Table, error) {
	var key []int
	for _, name := range names {
		i := slices.Index(t.Header, name)
		if i < 0 {
			return nil, fmt.Errorf("%s has no column %s", TableFile, name)
		}
		key = append(key, i)
	}
	var all []Table
	for _, row := range t.Rows {
		same := len(all) > 0 && !slices.ContainsFunc(key,
			func(i int) bool { return all[len(all)-1].Rows[0][i] != row[i] })
		if !same {
			all = append(all, Table{Header: t.Header})
		}
		last := &all[len(all)-1]
		last.Rows = append(last.Rows, row)
	}
	if len(all) != n {
		return nil, fmt.Errorf("%s has %d runs, must have %d by the manifest's settings", TableFile, len(all), n)
	}
	return all, nil
}

// Columns reads columns of numbers. The keys of to are names of columns; each value points to the slice
// that receives the numbers of the column.
func (t Table) Columns(to map[string]*[]float64) error {
	var errs []error
	for name, values := range to {
		var err error
		*values, err = t.column(name)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (t Table) column(name string) ([]float64, error) {
	i := slices.Index(t.Header, name)
	if i < 0 {
		return nil, fmt.Errorf("%s has no column %s", TableFile, name)
	}
	var all []float64
	for _, row := range t.Rows {
		x, err := strconv.ParseFloat(row[i], 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %s = %q, must be a number", TableFile, name, row[i])
		}
		all = append(all, x)
	}
	return all, nil
}
