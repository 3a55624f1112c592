package experiments

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"proactivedp/dp"
	"proactivedp/internal/atomicfile"
)

// The files of the folder of tables. The first line of those in Markdown tells
// them from files that somebody wrote.
const (
	tablesReadme = "README.md"
	tablesList   = "tables.md"
	tablesCSV    = "tables.csv"
	curvesCSV    = "epsilon-over-s.csv"
	tablesMark   = "<!-- Written by proactivedp tables. -->\n"
)

// curvePicture names the picture of a problem.
func curvePicture(p problem) string { return fmt.Sprintf("epsilon-over-s-%d.png", p.n) }

// checkTables refuses a folder that holds files of these names without the
// README.md that goes with them.
func checkTables(dir string) error {
	if ours, err := holdsOurs(dir, tablesReadme, tablesMark, "one of tables"); ours || err != nil {
		return err
	}
	names := []string{tablesList, tablesCSV, curvesCSV}
	for _, p := range paperProblems() {
		names = append(names, curvePicture(p))
	}
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("experiments: out = %q holds a %s but no %s written with it: name another folder", dir, name, tablesReadme)
		}
	}
	return nil
}

// write writes everything, the README.md first: a call that was interrupted
// after it can be repeated.
func (a *tablesAudit) write(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("experiments: out: %w", err)
	}
	file := func(name string, write func(io.Writer) error) error {
		return atomicfile.Write(filepath.Join(dir, name), write)
	}
	text := func(p page) func(io.Writer) error {
		return func(w io.Writer) error {
			_, err := io.WriteString(w, tablesMark+p.String())
			return err
		}
	}
	records := func(rows [][]string) func(io.Writer) error {
		return func(w io.Writer) error { return csv.NewWriter(w).WriteAll(rows) }
	}
	for _, f := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{tablesReadme, text(a.readme())},
		{tablesList, text(a.list())},
		{tablesCSV, records(a.records())},
		{curvesCSV, records(curveTable(a.accountant, a.curves))},
	} {
		if err := file(f.name, f.write); err != nil {
			return err
		}
	}
	for _, c := range a.curves {
		picture, err := c.picture()
		if err != nil {
			return err
		}
		if err := file(curvePicture(c.problem), picture.writePNG); err != nil {
			return err
		}
	}
	return nil
}

// records is every cell of every table, the header first.
func (a *tablesAudit) records() [][]string {
	header := []string{"table", "row", "quantity", "printed", "procedure_value", "procedure", "theorem_printed_gamma", "theorem_corrected_gamma"}
	for _, adjacency := range adjacencies {
		name := accountantColumn(a.accountant, adjacency)
		header = append(header, name, name+"_lower")
	}
	out := [][]string{append(header, "verdict")}
	for _, t := range a.tables {
		for _, c := range t.cells {
			row := []string{c.table, c.row, c.quantity, string(c.printed), c.computed, c.procedure}
			for _, answer := range c.answers[:len(forms)] {
				row = append(row, answer.value)
			}
			for _, answer := range c.answers[len(forms):] {
				row = append(row, answer.value, answer.lower)
			}
			out = append(out, append(row, string(c.verdict)))
		}
	}
	return out
}

// accountantColumn names a column of data.
func accountantColumn(accountant string, adjacency dp.Adjacency) string {
	return strings.ReplaceAll(accountant+"_"+string(adjacency), "-", "_")
}

// list is the same for people to read, a section for each table.
func (a *tablesAudit) list() page {
	var p page
	p.title("The paper's tables, number by number")
	p.text("Each printed number beside what the paper's procedure gives and what is true. [%s](%s) says what follows from it, and how to make this file.", tablesReadme, tablesReadme)
	columns(&p, a.accountant)
	for _, t := range a.tables {
		p.section("%s", t.title)
		var rows [][]string
		for _, c := range t.cells {
			row := []string{c.row, c.quantity, string(c.printed), c.computed, c.procedure}
			for _, answer := range c.answers {
				row = append(row, answer.value)
			}
			rows = append(rows, append(row, string(c.verdict)))
		}
		p.table([]string{"row", "", "printed", "computed", "by", "theorem, printed γ", "theorem, corrected γ",
			a.accountant + ", " + string(adjacencies[0]), a.accountant + ", " + string(adjacencies[1]), "verdict"}, rows)
	}
	return p
}
