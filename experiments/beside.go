package experiments

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"proactivedp/experiments/manifest"
	"proactivedp/internal/bounded"
	"proactivedp/internal/decimal"
)

// beside is a folder among those of figures in which the program has written something else:
// a picture that is in no registry, as of proposals or of somebody's own data, or a page.
type beside struct {
	folder  string
	Title   string        `json:"title"`
	Command string        `json:"command"`
	Data    manifest.Sets `json:"data"`
	Scale   float64       `json:"scale"` // 0 where a manifest does not say it, which is 1
	Runner  string        `json:"runner"`
	Files   []string      `json:"files"`
}

// ourMark is what a page begins with that a command has written.
const ourMark = "<!-- Written by proactivedp "

// besides returns what is in dir but the figures that are listed, and the folders that have a
// page, both by name. A manifest that is damaged is an error; what the program has not written
// is left out.
func besides(dir string, listed []Manifest) (pictures []beside, pages []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("experiments: %w", err)
	}
	var errs []error
	for _, e := range entries {
		name := e.Name()
		if !e.IsDir() || strings.HasPrefix(name, ".") ||
			slices.ContainsFunc(listed, func(m Manifest) bool { return m.Figure == name }) {
			continue
		}
		b, err := readBeside(dir, name)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("experiments: %w; make it again, or remove it", err))
		case b.Title != "" && len(b.Files) > 0:
			pictures = append(pictures, b)
		case b.Command != "" || hasOurPage(filepath.Join(dir, name)):
			if _, err := os.Stat(filepath.Join(dir, name, indexFile)); err == nil {
				pages = append(pages, name)
			}
		}
	}
	return pictures, pages, errors.Join(errs...)
}

// readBeside reads what the manifest of a folder says; nothing if there is none, or another
// program's.
func readBeside(dir, name string) (beside, error) {
	b := beside{folder: name}
	text, err := manifest.Text(filepath.Join(dir, name, manifest.File))
	if errors.Is(err, manifest.ErrDamaged) {
		return b, err
	}
	if err != nil || json.Unmarshal(text, &b) != nil || b.Command == "" {
		return beside{folder: name}, nil
	}
	return b, nil
}

// hasOurPage reports whether a folder has a page that a command has written.
func hasOurPage(dir string) bool {
	text, err := bounded.File(filepath.Join(dir, indexFile), maxPage)
	return err == nil && strings.HasPrefix(string(text), ourMark)
}

// maxPage bounds a page that is looked at, in bytes.
const maxPage = 16 << 20

// writeBesides writes what else is in dir than the figures that are listed.
func writeBesides(w io.Writer, pictures []beside, pages []string) error {
	var text strings.Builder
	if len(pictures) > 0 {
		text.WriteString("\n## Made by other commands\n\nBy `propose`, `utility`, `train` and the like, or of a file " +
			"of somebody's own.\n\n| | folder | shows | data | command | files |\n|---|---|---|---|---|---|\n")
		for _, b := range pictures {
			fmt.Fprintf(&text, "| %s | %s | %s | %s | `%s` | %s |\n", thumbnail(b.folder, b.Files), b.folder,
				inCell(b.Title), sources(b.Data)+howText(b.Scale, b.Runner), inCell(b.Command), links(b.folder, b.Files))
		}
	}
	if len(pages) > 0 {
		text.WriteString("\n## Pages\n\n")
		for _, name := range pages {
			fmt.Fprintf(&text, "- [%[1]s](%[1]s/%[2]s)\n", name, indexFile)
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// sources says what data something was made from.
func sources(all manifest.Sets) string {
	var texts []string
	for _, d := range all {
		texts = append(texts, inCell(sourceOf(d)))
	}
	return strings.Join(texts, "; ")
}

// sourceOf says what a data set is.
func sourceOf(d manifest.Data) string {
	text := d.Name + ", " + decimal.Many(d.Rows, "row")
	if d.Note != "" {
		text += " (" + d.Note + ")"
	}
	if d.Synthetic {
		text += ", **synthetic stand-in**"
	}
	return text
}

// howText says what sets a figure apart from one of all of K that can be made again.
func howText(scale float64, runner string) string {
	text := ""
	if scale > 0 && scale < 1 {
		text += fmt.Sprintf(", **%g of K**", scale)
	}
	if runner != "" {
		text += fmt.Sprintf(", **runner %s**: no other run has the same", runner)
	}
	return text
}

// thumbnail shows the first of the pictures that a page can show, which a PDF is not.
func thumbnail(dir string, files []string) string {
	i := slices.IndexFunc(files, func(name string) bool { return slices.Contains(shown, filepath.Ext(name)) })
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("<img src=\"%s/%s\" width=\"160\" alt=\"\">", dir, files[i])
}

// shown are the kinds of pictures that a page can show.
var shown = []string{".png", ".svg"}

// links lists the files: the first picture, the table and the manifest. A manifest that is not
// sealed may name none.
func links(dir string, files []string) string {
	if len(files) == 0 {
		return ""
	}
	return fmt.Sprintf("[picture](%[1]s/%[2]s), [data](%[1]s/%[3]s), [manifest](%[1]s/%[4]s)", dir, files[0],
		manifest.TableFile, manifest.File)
}

// inCell returns a text as it stands in one cell of a table.
func inCell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ").Replace(text)
}
