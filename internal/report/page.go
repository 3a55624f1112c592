// Package report has the building blocks of text output: Markdown pages, formatted numbers, line breaking, and
// progress on a terminal.
package report

import (
	"fmt"
	"strings"
)

// Page builds a Markdown page. The zero value is an empty page.
type Page struct{ b strings.Builder }

// String returns the page, with its text broken into lines by Markdown.
func (p *Page) String() string { return Markdown(strings.TrimPrefix(p.b.String(), "\n")) }

func (p *Page) Title(text string) { fmt.Fprintf(&p.b, "\n# %s\n", text) }

func (p *Page) Section(format string, args ...any) {
	fmt.Fprintf(&p.b, "\n## "+format+"\n", args...)
}

func (p *Page) Text(format string, args ...any) { fmt.Fprintf(&p.b, "\n"+format+"\n", args...) }

func (p *Page) Items(items []string) {
	fmt.Fprintln(&p.b)
	for _, item := range items {
		fmt.Fprintf(&p.b, "- %s\n", item)
	}
}

// Table adds a table. Each row has as many cells as the header.
func (p *Page) Table(header []string, rows [][]string) {
	line := func(cells []string) { fmt.Fprintf(&p.b, "| %s |\n", strings.Join(cells, " | ")) }
	fmt.Fprintln(&p.b)
	line(header)
	fmt.Fprintf(&p.b, "|%s\n", strings.Repeat("---|", len(header)))
	for _, row := range rows {
		line(row)
	}
}
