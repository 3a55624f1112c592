// This file makes one page from a folder of results. The page has every figure with its data, command
// and origin, the paper's statements about it with verdicts, and the pages of searches, audits,
// measurements and tables. It needs no other file.
//
//	page, err := ReadPage("results")
//	…
//	err = page.Write(w)

package results

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"image"
	"image/png"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"proactivedp/dp/claim"
	"proactivedp/internal/bounded"
	"proactivedp/internal/message"
	"proactivedp/internal/paper"
	"proactivedp/internal/plots"
	"proactivedp/internal/report"
)

// Page is a page of all results in a folder. ReadPage makes one, and Write writes it as HTML.
type Page struct {
	figures   []figure
	texts     []prose
	findings  []Finding
	revisions []revision
}

type figure struct {
	made
	Name       string
	Pictures   []picture
	Table      sample
	Ends       []end
	Statements []string
	Findings   []Finding
}

type picture struct {
	Name, Alt string
	Source    template.URL // the content of the picture as a data URL
}

// sample is the beginning of a table, with a link to save all of it.
type sample struct {
	Header []string
	Rows   [][]string
	More   int // number of rows that are not shown
	Whole  template.URL
}

// prose is the HTML of a Markdown page that a command wrote.
type prose struct {
	Name string
	Text template.HTML
	From string // name of the file
}

// revision is the number of figures made by one revision of the program.
type revision struct {
	Version string
	Figures int
}

// Kinds returns the extensions, such as .png, of the files that ReadPage reads.
func Kinds() []string {
	kinds := []string{".md", ".json", ".csv"}
	for _, format := range plots.Formats {
		kinds = append(kinds, "."+format)
	}
	return kinds
}

const (
	maxPicture = 32 << 20
	maxText    = 8 << 20
	maxFolders = 1000
	maxPixels  = 1 << 25
)

// ReadPage reads a folder of results. A damaged file is an error. Folders that have neither a figure nor a README.md
// are ignored. The paper's figures come first, in its order.
func ReadPage(dir string) (*Page, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	if len(entries) > maxFolders {
		return nil, fmt.Errorf("%s has %d entries, must be at most %d", dir, len(entries), maxFolders)
	}
	p := &Page{}
	var errs []error
	if p.findings, err = ReadFindings(dir); err != nil {
		errs = append(errs, err)
	}
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") || !e.IsDir() && (filepath.Ext(name) != ".md" || name == PageFile) {
			continue
		}
		if err := message.CheckText("name in "+dir, name, len(name)); err != nil {
			errs = append(errs, err)
			continue
		}
		if !e.IsDir() {
			errs = append(errs, p.addText(dir, name))
			continue
		}
		found, err := readFigure(dir, name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if found != nil {
			found.Findings = p.of(found.Name)
			p.figures = append(p.figures, *found)
			continue
		}
		page := filepath.Join(name, PageFile)
		if _, err := os.Lstat(filepath.Join(dir, page)); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, p.addText(dir, page))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if len(p.figures)+len(p.texts) == 0 {
		return nil, fmt.Errorf("%s has no results: it has no folder with the manifest of a figure or with a "+
			"README.md", dir)
	}
	slices.SortStableFunc(p.figures, func(a, b figure) int { return cmp.Compare(paper.Place(a.Name), paper.Place(b.Name)) })
	p.countRevisions()
	return p, nil
}

// of returns those of the page's findings that are about the figure.
func (p *Page) of(figure string) []Finding {
	return slices.DeleteFunc(slices.Clone(p.findings), func(f Finding) bool { return f.Figure != figure })
}

// countRevisions sorts the revisions by their number of figures, largest first.
func (p *Page) countRevisions() {
	for _, f := range p.figures {
		i := slices.IndexFunc(p.revisions, func(r revision) bool { return r.Version == f.Origin.Version })
		if i < 0 {
			i = len(p.revisions)
			p.revisions = append(p.revisions, revision{Version: f.Origin.Version})
		}
		p.revisions[i].Figures++
	}
	slices.SortStableFunc(p.revisions, func(a, b revision) int { return b.Figures - a.Figures })
}

// made holds the keys that all manifests of figures have.
type made struct {
	Title     string  `json:"title"`
	Command   string  `json:"command"`
	Seeds     int     `json:"seeds"`
	Scale     float64 `json:"scale"`
	Runner    string  `json:"runner"`
	TimeScale float64 `json:"time_scale"`
	Data      Sets    `json:"data"`
	Config    any     `json:"config"`
	SHA256    string  `json:"manifest_sha256"`
	Origin
}

// readFigure reads a figure. It returns nil if the folder has no manifest with a title.
func readFigure(dir, name string) (*figure, error) {
	text, err := ManifestText(dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	f := &figure{Name: name, made: made{Scale: 1}}
	if err := json.Unmarshal(text, &f.made); err != nil {
		return nil, fmt.Errorf("manifest of %s: %w", name, err)
	}
	if f.Title == "" {
		return nil, nil
	}
	var listed struct { // manifests of other results may have other types here
		Files []string `json:"files"`
		Table string   `json:"table_sha256"`
	}
	if err := json.Unmarshal(text, &listed); err != nil {
		return nil, fmt.Errorf("manifest of %s: %w", name, err)
	}
	if f.Statements, err = statements(f.Config); err != nil {
		return nil, fmt.Errorf("manifest of %s: %w", name, err)
	}
	if f.Pictures, err = readPictures(dir, name, f.Title, listed.Files); err != nil {
		return nil, err
	}
	f.Title = paper.Titled(name, f.Title)
	return f, f.readTable(dir, listed.Table)
}

// statements returns the different privacy statements in a manifest's config.
func statements(config any) ([]string, error) {
	var all []string
	var err error
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, x := range v {
				walk(x)
			}
		case map[string]any:
			if _, is := v["per_record"]; is && v["adjacency"] != nil {
				text, failed := statement(v)
				if err = errors.Join(err, failed); text != "" && !slices.Contains(all, text) {
					all = append(all, text)
				}
				return
			}
			for _, k := range slices.Sorted(maps.Keys(v)) {
				walk(v[k])
			}
		}
	}
	walk(config)
	return all, err
}

// statement formats v, a privacy statement in a manifest's config, as text.
func statement(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	var r claim.Report
	if err := json.Unmarshal(text, &r); err != nil {
		return "", err
	}
	var out strings.Builder
	err = r.Current().WriteStatement(&out)
	return strings.TrimSpace(out.String()), err
}

// readPictures reads the PNG files that the manifest names.
func readPictures(dir, folder, title string, files []string) ([]picture, error) {
	var all []picture
	for _, name := range files {
		if filepath.Ext(name) != ".png" {
			continue
		}
		if filepath.Base(name) != name {
			return nil, fmt.Errorf("manifest of %s: file = %q, must be in its folder", folder, name)
		}
		p, err := readPicture(dir, filepath.Join(folder, name), title)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// readPicture reads a file in dir. It must be one PNG image with nothing after it. Otherwise the page
// would contain bytes that it does not show.
func readPicture(dir, name, title string) (picture, error) {
	content, err := bounded.Within(dir, name, maxPicture)
	if err != nil {
		return picture{}, err
	}
	in := bytes.NewReader(content)
	size, err := png.DecodeConfig(in)
	if err == nil && size.Width*size.Height > maxPixels { // neither is above 2^31
		err = fmt.Errorf("%d×%d pixels, must be at most %d", size.Width, size.Height, maxPixels)
	}
	var shown image.Image
	if err == nil {
		in.Reset(content)
		if shown, err = png.Decode(in); err == nil && in.Len() > 0 {
			err = fmt.Errorf("%d bytes after the end of the image", in.Len())
		}
	}
	if err != nil {
		return picture{}, fmt.Errorf("%s is not a PNG image: %w", filepath.Join(dir, name), err)
	}
	if content, err = fewColours(shown); err != nil {
		return picture{}, err
	}
	return picture{Name: filepath.Base(name), Alt: title, Source: embedded("image/png", content)}, nil
}

func embedded(kind string, content []byte) template.URL {
	return template.URL("data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(content))
}

// shownRows is the largest number of rows that are shown of a table.
const shownRows = 40

// readTable reads the figure's data, which must have the digest.
func (f *figure) readTable(dir, digest string) error {
	content, err := ReadTable(dir, f.Name, digest)
	if err != nil {
		return err
	}
	header, rows, err := report.ParseCSV(content)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(dir, f.Name, TableFile), err)
	}
	packed, err := compressed(content)
	if err != nil {
		return err
	}
	f.Table = sample{Header: header, Rows: rows[:min(len(rows), shownRows)], More: max(0, len(rows)-shownRows),
		Whole: embedded("application/gzip", packed)}
	f.Ends = ends(header, rows)
	return nil
}
