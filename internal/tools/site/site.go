package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"proactivedp/internal/results"
	"proactivedp/internal/tools/checkout"
)

const (
	home      = "index.html"
	stylePage = "style.css"
	plannerAt = "planner.html"
	reportAt  = "report.html"
	resultsAt = "results/index.html" // made from results/README.md
)

//go:embed page.html
var pageText string

//go:embed style.css
var style []byte

var layout = template.Must(template.New("page").Parse(pageText))

// mark is in every page of the site, see ours.
const mark = `<meta name="generator" content="proactivedp site">`

// ours reports whether this command made the page.
func ours(text []byte) bool { return bytes.Contains(text, []byte(mark)) }

type guide struct{ file, title string }

// group is a section of the list of guides.
type group struct {
	title  string
	guides []guide
}

// groups is the list of guides. Every page below docs must be in it.
var groups = []group{
	{"Begin", []guide{
		{"README.md", "What it is"}, {"docs/README.md", "All pages and commands"},
		{"docs/guarantee.md", "What the guarantee covers"},
	}},
	{"Guides", []guide{
		{"docs/planning.md", "Choose a plan"}, {"docs/accounting.md", "Check a training"},
		{"docs/own-table.md", "Your own table"}, {"docs/regression.md", "Predict a number"},
		{"docs/files.md", "Images and other files"}, {"docs/datasets.md", "Published data sets"},
		{"docs/python.md", "From Python"}, {"docs/extend.md", "Models and data sets"},
		{"docs/delay.md", "Test delays"}, {"docs/machines.md", "Several machines"}, {"docs/metrics.md", "Metrics and logs"},
		{"docs/audit.md", "Audit"},
		{"docs/paper.md", "Reproduce the paper"},
	}},
	{"Library", []guide{
		{"docs/library.md", "The library"}, {"examples/README.md", "Examples"},
		{"docs/architecture.md", "Architecture"},
	}},
	{"Background", []guide{
		{"docs/differences.md", "Where it is not the paper"}, {"docs/notation.md", "Symbols and names"},
		{"CHANGELOG.md", "Changelog"}, {"CONTRIBUTING.md", "Contributing"}, {"SECURITY.md", "Privacy bugs"},
	}},
}

type site struct {
	tree  checkout.Tree
	out   checkout.Tree
	errs  []error
	queue []string // files that pages link to and that have no page yet
}

// made returns the files of the site by their slash-separated paths.
func made(tree checkout.Tree, folder string, planner []byte) (checkout.Tree, error) {
	s := &site{tree: tree, out: checkout.Tree{stylePage: style, plannerAt: planner}}
	for _, name := range s.pagesOfText() {
		s.addText(name)
	}
	for len(s.queue) > 0 { // a linked page may have further links
		name := s.queue[0]
		s.queue = s.queue[1:]
		s.addFile(name)
	}
	whole, err := results.ReadPage(folder)
	if err == nil {
		var out bytes.Buffer
		err = whole.Write(&out)
		s.out[reportAt] = out.Bytes()
	}
	return s.out, errors.Join(append(s.errs, err)...)
}

// pagesOfText lists the Markdown files that become pages.
func (s *site) pagesOfText() []string {
	var names []string
	for name := range s.tree {
		hidden := slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool {
			return strings.HasPrefix(part, ".") || part == "testdata" || part == "node_modules"
		})
		if path.Ext(name) == ".md" && !hidden {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// fail records an error about a file.
func (s *site) fail(name string, err error) {
	if err != nil {
		s.errs = append(s.errs, fmt.Errorf("%s: %w", name, err))
	}
}

type page struct {
	at       string // its path
	title    string
	from     string // the file it is made from; "" if there are several
	contents []heading
	body     template.HTML
}

// link is an entry of a list of pages.
type link struct {
	Title, To string
	Here      bool
}

type section struct {
	Title string
	Links []link
}

func (s *site) add(p page) {
	to := func(at string) string { return relative(p.at, at) }
	top := []link{{"Planner", to(plannerAt), false}, {"Results", to(resultsAt), p.at == resultsAt},
		{"Report", to(reportAt), false}}
	var sections []section
	for _, g := range groups {
		part := section{Title: g.title}
		for _, l := range g.guides {
			if _, there := s.tree[l.file]; there {
				at := pageOf(l.file)
				part.Links = append(part.Links, link{l.title, to(at), p.at == at})
			}
		}
		sections = append(sections, part)
	}
	var out bytes.Buffer
	err := layout.Execute(&out, map[string]any{
		"Mark": template.HTML(mark), "Title": p.title, "Style": to(stylePage), "Home": to(home),
		"IsHome": p.at == home,
		"Top":    top, "Sections": sections, "Contents": p.contents, "Body": p.body, "From": p.from,
	})
	s.fail(p.at, err)
	if _, twice := s.out[p.at]; twice {
		s.fail(p.at, errors.New("two pages have this path"))
	}
	s.out[p.at] = out.Bytes()
}

// pageOf returns the path of the page for a Markdown file.
func pageOf(name string) string {
	dir, file := path.Split(name)
	if file == "README.md" {
		return dir + home
	}
	return strings.TrimSuffix(name, ".md") + ".html"
}

// relative returns the address of one page relative to another.
func relative(from, to string) string {
	up := strings.Count(from, "/")
	parts := strings.Split(to, "/")
	for part := range strings.SplitSeq(path.Dir(from), "/") {
		if len(parts) < 2 || parts[0] != part {
			break
		}
		parts, up = parts[1:], up-1
	}
	return strings.Repeat("../", up) + strings.Join(parts, "/")
}

// placeOf returns the path in the site of a file or folder of the tree, and queues it if needed.
func (s *site) placeOf(name string) (string, error) {
	if !fs.ValidPath(name) {
		return "", fmt.Errorf("%s is outside of the repository", name)
	}
	text, isFile := s.tree[name]
	switch {
	case isFile && path.Ext(name) == ".md":
		return pageOf(name), nil
	case isFile && (!utf8.Valid(text) || slices.Contains([]string{".csv", ".json", ".svg"}, path.Ext(name))):
		s.out[name] = text
		return name, nil
	case isFile:
		s.want(name)
		return name + ".html", nil
	case s.isFolder(name):
		at := path.Join(name, home)
		if _, has := s.tree[path.Join(name, "README.md")]; !has {
			s.want(name)
		}
		return at, nil
	}
	return "", fmt.Errorf("%s is not in the repository", name)
}

// isFolder reports whether the tree has files below the name.
func (s *site) isFolder(name string) bool { return name == "." || len(s.below(name)) > 0 }

// below lists the files directly in a folder, and its folders with a slash at the end.
func (s *site) below(folder string) []string {
	seen := map[string]bool{}
	for name := range s.tree {
		if rest, inside := strings.CutPrefix(name, folder+"/"); inside {
			first, _, deeper := strings.Cut(rest, "/")
			if deeper {
				first += "/"
			}
			seen[first] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// want queues a file or folder for its own page, once.
func (s *site) want(name string) {
	at := name + ".html"
	if _, isFile := s.tree[name]; !isFile {
		at = path.Join(name, home)
	}
	if _, has := s.out[at]; !has && !slices.Contains(s.queue, name) {
		s.queue = append(s.queue, name)
	}
}

// addFile adds a page for a source file, with line numbers, or for a folder, with a list of its
// content.
func (s *site) addFile(name string) {
	var body strings.Builder
	text, isFile := s.tree[name]
	if !isFile {
		at := path.Join(name, home)
		fmt.Fprintf(&body, "<h1>%s</h1>\n<ul>\n", template.HTMLEscapeString(name+"/"))
		for _, entry := range s.below(name) {
			to, err := s.placeOf(path.Join(name, entry))
			s.fail(name, err)
			fmt.Fprintf(&body, "<li><a href=\"%s\">%s</a></li>\n", relative(at, to), template.HTMLEscapeString(entry))
		}
		body.WriteString("</ul>\n")
		s.add(page{at: at, title: name, body: template.HTML(body.String())})
		return
	}
	fmt.Fprintf(&body, "<h1>%s</h1>\n<pre class=\"source\" tabindex=\"0\"><code>", template.HTMLEscapeString(name))
	for line := range strings.Lines(string(text)) {
		fmt.Fprintf(&body, "<span>%s</span>", template.HTMLEscapeString(line))
	}
	body.WriteString("</code></pre>\n")
	s.add(page{at: name + ".html", title: name, from: name, body: template.HTML(body.String())})
}
