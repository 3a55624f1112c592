package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"image"
	"image/png"
	"path"
	"slices"
	"strings"

	"golang.org/x/image/draw"

	"proactivedp/internal/results"
)

// card is a figure on the page of results.
type card struct {
	Name, Title, Command   string
	Thumb                  string
	Width, Height          int // of the thumbnail
	Report, Picture, Table string
	Manifest               string
	Findings               []results.Finding
}

// prose is a Markdown page in the results.
type prose struct{ Title, To string }

//go:embed results.html
var cardsText string

// resultsPage is the template of the page of results.
var resultsPage = template.Must(template.New("results").Funcs(template.FuncMap{
	"class": func(v results.Verdict) string {
		return map[results.Verdict]string{results.Reproduced: "yes", results.Exceeded: "yes",
			results.NotReproduced: "no"}[v]
	},
}).Parse(cardsText))

// addResults adds the page of the committed results, with thumbnails.
func (s *site) addResults(dir string) {
	findings, err := results.ReadFindings(dir)
	s.fail(resultsAt, err)
	count := map[results.Verdict]int{}
	for _, f := range findings {
		count[f.Verdict]++
	}
	var cards []card
	var pages []prose
	for _, entry := range s.below("results") {
		folder, isFolder := strings.CutSuffix(entry, "/")
		switch {
		case !isFolder:
			if path.Ext(entry) == ".md" && entry != path.Base(resultsText) {
				pages = append(pages, s.proseOf(path.Join("results", entry)))
			}
		case s.tree[path.Join("results", folder, "README.md")] != nil:
			pages = append(pages, s.proseOf(path.Join("results", folder, "README.md")))
		default:
			c, err := s.cardOf(dir, folder)
			s.fail(folder, err)
			if c != nil {
				for _, f := range findings {
					if f.Figure == folder {
						c.Findings = append(c.Findings, f)
					}
				}
				cards = append(cards, *c)
			}
		}
	}
	index := s.tree[resultsText] // its order is that of the figures' registry
	slices.SortStableFunc(cards, func(a, b card) int {
		at := func(c card) uint { return uint(bytes.Index(index, []byte("("+c.Name+"/"))) } // a figure that is missing there comes last
		return cmp.Compare(at(a), at(b))
	})
	var body bytes.Buffer
	s.fail(resultsAt, resultsPage.Execute(&body, map[string]any{
		"Cards": cards, "Pages": pages, "Report": relative(resultsAt, reportAt),
		"Guide": relative(resultsAt, "docs/paper.html"), "Statements": len(findings),
		"Reproduced": count[results.Reproduced] + count[results.Exceeded], "Not": count[results.NotReproduced],
		"Undecided": count[results.Undecided],
	}))
	s.add(page{at: resultsAt, title: "Results", from: "results", body: template.HTML(body.String()),
		contents: []heading{{2, "Searches, audits, measurements and tables", "pages"}, {2, "Figures", "figures"}}})
}

// proseOf returns the entry of a Markdown page in the results.
func (s *site) proseOf(name string) prose {
	title := strings.TrimSuffix(strings.TrimPrefix(name, "results/"), "/README.md")
	return prose{strings.TrimSuffix(title, ".md"), relative(resultsAt, pageOf(name))}
}

// cardOf reads a figure. It returns nil if the folder has no manifest with a title.
func (s *site) cardOf(dir, folder string) (*card, error) {
	text, err := results.ManifestText(dir, folder)
	if err != nil {
		return nil, err
	}
	var made struct {
		Title   string   `json:"title"`
		Command string   `json:"command"`
		Files   []string `json:"files"`
	}
	if err := json.Unmarshal(text, &made); err != nil {
		return nil, err
	}
	at := func(file string) string { return path.Join("results", folder, file) }
	i := slices.IndexFunc(made.Files, func(file string) bool { return path.Ext(file) == ".png" })
	if made.Title == "" || i < 0 {
		return nil, nil
	}
	c := &card{Name: folder, Title: made.Title, Command: made.Command,
		Report: relative(resultsAt, reportAt) + "#figure-" + folder}
	for file, to := range map[string]*string{made.Files[i]: &c.Picture, "data.csv": &c.Table,
		results.ManifestFile: &c.Manifest} {
		place, err := s.placeOf(at(file))
		if err != nil {
			return nil, err
		}
		*to = relative(resultsAt, place)
	}
	small, size, err := thumbnail(s.tree[at(made.Files[i])])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", made.Files[i], err)
	}
	s.out[at("thumbnail.png")] = small
	c.Thumb, c.Width, c.Height = relative(resultsAt, at("thumbnail.png")), size.X, size.Y
	return c, nil
}

// thumbnailWidth is the width of thumbnails in pixels, twice the width at which they are shown.
const thumbnailWidth = 480

// thumbnail returns a picture scaled down to the width of thumbnails, and its size.
func thumbnail(picture []byte) ([]byte, image.Point, error) {
	const most = 50_000_000 // pixels
	about, err := png.DecodeConfig(bytes.NewReader(picture))
	if err != nil {
		return nil, image.Point{}, err
	}
	if about.Width < 1 || about.Height < 1 || about.Width > most/about.Height {
		return nil, image.Point{}, fmt.Errorf("%d × %d pixels, must be at most %d", about.Width, about.Height, most)
	}
	full, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, image.Point{}, err
	}
	width := min(thumbnailWidth, about.Width)
	small := image.NewRGBA(image.Rect(0, 0, width, max(1, about.Height*width/about.Width)))
	draw.CatmullRom.Scale(small, small.Rect, full, full.Bounds(), draw.Src, nil)
	var out bytes.Buffer
	err = png.Encode(&out, small)
	return out.Bytes(), small.Rect.Size(), err
}
