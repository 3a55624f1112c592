package results

import (
	"bytes"
	_ "embed"
	"html/template"
	"io"
	"strconv"
	"strings"
	"sync"

	"proactivedp/internal/decimal"
)

//go:embed page.html
var pageText string

// pageTemplate is parsed only by a program that writes a page.
var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"many": decimal.Many,
		"class": func(v Verdict) string {
			switch v {
			case Reproduced, Exceeded:
				return "yes"
			case NotReproduced:
				return "no"
			}
			return "open"
		},
		"short":   func(digest string) string { return digest[:min(len(digest), 12)] },
		"words":   func(f figure) string { return strings.ToLower(f.Name + " " + f.Title) },
		"seconds": func(s float64) string { return strconv.FormatFloat(s, 'f', 0, 64) },
	}).Parse(pageText))
})

// Write writes the page as HTML. It contains no address of another page.
func (p *Page) Write(w io.Writer) error {
	count := map[Verdict]int{}
	for _, f := range p.findings {
		count[f.Verdict]++
	}
	var rule bytes.Buffer
	if err := markdown.Convert([]byte(Rule), &rule); err != nil {
		return err
	}
	err := pageTemplate().Execute(w, map[string]any{
		"Figures": p.figures, "Texts": p.texts, "Findings": p.findings, "Revisions": p.revisions,
		"Rule":       template.HTML(rule.String()),
		"Reproduced": count[Reproduced] + count[Exceeded], "Not": count[NotReproduced],
		"Undecided": count[Undecided],
	})
	return err
}
