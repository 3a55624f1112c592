package papertables

import (
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"proactivedp/dp"
	"proactivedp/internal/cpu"
	"proactivedp/internal/files"
	"proactivedp/internal/paper"
	"proactivedp/internal/report"
	"proactivedp/internal/version"
)

// The files in the folder of the tables. The first line of the Markdown files distinguishes them from
// files of other origin.
const (
	readmeFile   = "README.md"
	listFile     = "tables.md"
	tablesFile   = "tables.csv"
	curvesFile   = "epsilon-over-s.csv"
	manifestFile = "manifest.json"
	mark         = "<!-- Written by proactivedp tables. -->\n"
)

func curvePicture(p paper.Case) string { return fmt.Sprintf("epsilon-over-s-%d.png", p.N) }

// checkFolder returns an error if writing the tables could overwrite files of another origin: if dir
// has a file with one of the tables' names, but not the README.md that this package always writes
// with them.
func checkFolder(dir string) error {
	if ours, err := report.HoldsOurs(dir, readmeFile, mark, "one of tables"); ours || err != nil {
		return err
	}
	names := []string{listFile, tablesFile, curvesFile, manifestFile}
	for _, p := range paper.Cases() {
		names = append(names, curvePicture(p))
	}
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("out = %q has a %s but no %s that was written with it: give another folder", dir,
				name, readmeFile)
		}
	}
	return nil
}

// Manifest says how the tables were made. It contains no time and no place, so that equal options give equal bytes.
type Manifest struct {
	Command    string         `json:"command"`
	Accountant string         `json:"accountant"`
	Version    string         `json:"version"`
	Go         string         `json:"go"`
	Arch       string         `json:"arch"`
	Files      []ManifestFile `json:"files"`
}

// ManifestFile is a file that a manifest lists.
type ManifestFile struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// write writes all files of the tables to dir, or none.
func (a *audit) write(dir string) error {
	text := func(p report.Page) func(io.Writer) error { return files.Text(mark + p.String()) }
	records := func(rows [][]string) func(io.Writer) error {
		return func(w io.Writer) error { return csv.NewWriter(w).WriteAll(rows) }
	}
	m := Manifest{
		Command: "proactivedp tables", Accountant: a.accountant,
		Version: version.Get().Source(), Go: runtime.Version(), Arch: cpu.Arch(),
	}
	var outputs []files.Output
	add := func(name string, write func(io.Writer) error) {
		outputs = append(outputs, files.Output{Path: filepath.Join(dir, name), Write: func(w io.Writer) error {
			sum := sha256.New()
			if err := write(io.MultiWriter(w, sum)); err != nil {
				return err
			}
			m.Files = append(m.Files, ManifestFile{name, hex.EncodeToString(sum.Sum(nil))})
			return nil
		}})
	}
	add(readmeFile, text(a.readme()))
	add(listFile, text(a.list()))
	add(tablesFile, records(a.records()))
	add(curvesFile, records(curveTable(a.accountant, a.curves)))
	for _, c := range a.curves {
		picture, err := c.picture()
		if err != nil {
			return err
		}
		add(curvePicture(c.Case), picture.WritePNG)
	}
	// The manifest is written last, when the digests of the others are known.
	return files.WriteSet(outputs, files.Output{Path: filepath.Join(dir, manifestFile), Write: files.JSON(&m)})
}

// records returns every cell of every table as rows of CSV, after the header.
func (a *audit) records() [][]string {
	header := []string{"table", "row", "quantity", "printed", "procedure_value", "procedure", "theorem_printed_gamma",
		"theorem_corrected_gamma"}
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

func accountantColumn(accountant string, adjacency dp.Adjacency) string {
	return strings.ReplaceAll(accountant+"_"+string(adjacency), "-", "_")
}

// list returns all cells as a Markdown page with a section for each table.
func (a *audit) list() report.Page {
	var p report.Page
	p.Title("The paper's tables, number by number")
	p.Text("This page has each printed number next to the result of the paper's procedure and the correct values. [%s](%s) "+
		"summarises the results.", readmeFile, readmeFile)
	columns(&p, a.accountant)
	for _, t := range a.tables {
		p.Section("%s", t.title)
		var rows [][]string
		for _, c := range t.cells {
			row := []string{c.row, c.quantity, string(c.printed), c.computed, c.procedure}
			for _, answer := range c.answers {
				row = append(row, answer.value)
			}
			rows = append(rows, append(row, string(c.verdict)))
		}
		p.Table([]string{"row", "", "printed", "computed", "by", "theorem, printed γ", "theorem, corrected γ",
			a.accountant + ", " + string(adjacencies[0]), a.accountant + ", " + string(adjacencies[1]), "verdict"},
			rows)
	}
	return p
}
