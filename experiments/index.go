package experiments

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"proactivedp/internal/atomicfile"
	"proactivedp/internal/report"
)

// indexFile lists the figures of a folder. Its first line tells it from a file
// that somebody wrote.
const (
	indexFile = "README.md"
	indexMark = "<!-- Written by proactivedp figures. -->\n"
)

// checkIndex refuses a folder whose README.md is somebody's own.
func checkIndex(dir string) error {
	_, err := report.HoldsOurs(dir, indexFile, indexMark, "an index of figures")
	return err
}

// writeIndex lists every figure that has a manifest in dir, in the order of the
// registry.
func writeIndex(dir string) error {
	var made []Manifest
	for _, fig := range Figures() {
		text, err := os.ReadFile(filepath.Join(dir, fig.Name, manifestFile))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("experiments: index: %w", err)
		}
		m := Manifest{Scale: 1} // older manifests do not say the scale, which was 1
		if err := json.Unmarshal(text, &m); err != nil {
			return fmt.Errorf("experiments: %s: %w", filepath.Join(dir, fig.Name, manifestFile), err)
		}
		made = append(made, m)
	}
	return atomicfile.Write(filepath.Join(dir, indexFile), func(w io.Writer) error {
		if _, err := fmt.Fprint(w, indexMark+"# Figures\n\nWritten with the figures; each is a picture, its data and a manifest of how it was made.\n\n"+
			"| figure | shows | data | command | files |\n|---|---|---|---|---|\n"); err != nil {
			return err
		}
		for _, m := range made {
			source := fmt.Sprintf("%s, %d rows", m.Data.Name, m.Data.Rows)
			if m.Data.Synthetic {
				source += ", **synthetic stand-in**"
			}
			if m.Scale < 1 {
				source += fmt.Sprintf(", **%g of K**", m.Scale)
			}
			if _, err := fmt.Fprintf(w, "| %s | %s | %s | `%s` | [picture](%[1]s/%[5]s), [data](%[1]s/%[6]s), [manifest](%[1]s/%[7]s) |\n",
				m.Figure, m.Title, source, m.Command, pictureFile, tableFile, manifestFile); err != nil {
				return err
			}
		}
		return nil
	})
}
