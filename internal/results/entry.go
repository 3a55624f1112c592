package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"proactivedp/internal/bounded"
	"proactivedp/internal/decimal"
	"proactivedp/internal/message"
)

// Entry is the part of a figure's manifest that a page listing figures needs.
type Entry struct {
	Folder  string   `json:"-"`
	Title   string   `json:"title"`
	Command string   `json:"command"`
	Data    Sets     `json:"data"`
	Scale   float64  `json:"scale"` // 0 if the manifest has none, which means 1
	Runner  string   `json:"runner"`
	Files   []string `json:"files"`
}

// PageFile is the name of the Markdown page of a result, such as a search.
const PageFile = "README.md"

// OurMark is the text with which every Markdown page of this program begins.
const OurMark = "<!-- Written by proactivedp "

// Beside returns the results in the folder dir whose names are not in listed: pictures are figures that
// another command than figures made (such as proposals, or figures of a user's own data), and pages are
// folders with only a Markdown page. A damaged manifest is an error. Files of other programs are ignored.
func Beside(dir string, listed []string) (pictures []Entry, pages []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	var errs []error
	for _, e := range entries {
		name := e.Name()
		if !e.IsDir() || strings.HasPrefix(name, ".") || slices.Contains(listed, name) {
			continue
		}
		if err := message.CheckText("name in "+dir, name, len(name)); err != nil {
			errs = append(errs, err)
			continue
		}
		b, err := readEntry(dir, name)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("%w: make it again, or remove it", err))
		case b.Title != "" && len(b.Files) > 0:
			pictures = append(pictures, b)
		case b.Command != "" || hasOurPage(dir, name):
			if info, err := os.Lstat(filepath.Join(dir, name, PageFile)); err == nil && info.Mode().IsRegular() {
				pages = append(pages, name)
			}
		}
	}
	return pictures, pages, errors.Join(errs...)
}

// readEntry reads the manifest of a folder. It returns an empty Entry if the folder has no manifest or
// if another program wrote it.
func readEntry(dir, name string) (Entry, error) {
	b := Entry{Folder: name}
	text, err := ManifestText(dir, name)
	if errors.Is(err, ErrDamaged) {
		return b, err
	}
	if err != nil || json.Unmarshal(text, &b) != nil || b.Command == "" {
		return Entry{Folder: name}, nil
	}
	return b, nil
}

// hasOurPage reports whether a folder has a Markdown page that this program wrote.
func hasOurPage(dir, name string) bool {
	text, err := bounded.Within(dir, filepath.Join(name, PageFile), maxPage)
	return err == nil && strings.HasPrefix(string(text), OurMark)
}

// maxPage is the largest size of a page that is read, in bytes.
const maxPage = 16 << 20

// Row returns the entry as a row of a Markdown table: a thumbnail, the name, the title, the cells in more, the
// data, the command and links.
func (e Entry) Row(more ...string) string {
	cells := slices.Concat([]string{e.thumbnail(), e.Folder, inCell(e.Title)}, more,
		[]string{e.source(), "`" + inCell(e.Command) + "`", e.links()})
	return "| " + strings.Join(cells, " | ") + " |\n"
}

// source describes the data of the figure. If the figure was made with a part of K, or by a runner
// whose results cannot be repeated, it says so.
func (e Entry) source() string {
	var texts []string
	for _, d := range e.Data {
		text := d.Name + ", " + decimal.Many(d.Rows, "row")
		if d.Note != "" {
			text += " (" + d.Note + ")"
		}
		if d.Synthetic {
			text += ", **synthetic stand-in**"
		}
		texts = append(texts, inCell(text))
	}
	text := strings.Join(texts, "; ")
	if e.Scale > 0 && e.Scale < 1 {
		text += fmt.Sprintf(", **%g of K**", e.Scale)
	}
	if e.Runner != "" {
		text += fmt.Sprintf(", **runner %s**: another run gives another result", e.Runner)
	}
	return text
}

// thumbnail returns the HTML of the first picture that a browser can show, or "".
func (e Entry) thumbnail() string {
	i := slices.IndexFunc(e.Files, func(name string) bool { return slices.Contains(shown, filepath.Ext(name)) })
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("<img src=\"%s/%s\" width=\"160\" alt=\"\">", e.Folder, e.Files[i])
}

// shown are the kinds of pictures that a browser can show.
var shown = []string{".png", ".svg"}

// links returns links to the first picture, the table and the manifest. The manifest may list no files.
func (e Entry) links() string {
	if len(e.Files) == 0 {
		return ""
	}
	return fmt.Sprintf("[picture](%[1]s/%[2]s), [data](%[1]s/%[3]s), [manifest](%[1]s/%[4]s)", e.Folder, e.Files[0],
		TableFile, ManifestFile)
}

func inCell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ").Replace(text)
}
