package experiments

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"proactivedp/internal/files"
	"proactivedp/internal/report"
	"proactivedp/internal/results"
)

// The file that lists the figures of a folder. Its first line distinguishes it from files of other
// origin.
const (
	indexFile = results.PageFile
	indexMark = "<!-- Written by proactivedp figures. -->\n"
)

// checkIndex refuses a folder whose README.md this program did not write. It also refuses damaged
// manifests and data of figures that are not being made now, because the index would list them.
func checkIndex(dir string, figures []Figure) error {
	_, err := report.HoldsOurs(dir, indexFile, indexMark, "an index of figures")
	if err != nil {
		return err
	}
	if _, err = manifests(dir, figures, nil); err != nil {
		return err
	}
	var anew []string
	for _, f := range figures {
		anew = append(anew, f.Name)
	}
	if _, err = results.ReadFindings(dir, anew...); err != nil {
		return fmt.Errorf("%w: make the figure again, or remove it", err)
	}
	return nil
}

// manifests returns the manifests in dir, without those of the figures in but, in the order of the
// registry and then of own. It reports all damaged ones.
func manifests(dir string, but, own []Figure) ([]Manifest, error) {
	var made []Manifest
	var errs []error
	for _, fig := range append(Figures(), own...) {
		if slices.ContainsFunc(but, func(f Figure) bool { return f.Name == fig.Name }) {
			continue
		}
		var m Manifest
		err := results.ReadManifest(dir, fig.Name, &m)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%w: make its figure again, or remove it", err))
			continue
		}
		made = append(made, m)
	}
	return made, errors.Join(errs...)
}

// registered reports whether a figure is in the registry.
func registered(f Figure) bool {
	return slices.ContainsFunc(Figures(), func(r Figure) bool { return r.Name == f.Name })
}

// writeIndex lists every figure with a manifest in dir that is in the registry or was just made.
func writeIndex(dir string, figures []Figure) error {
	made, err := manifests(dir, nil, slices.DeleteFunc(slices.Clone(figures), registered))
	if err != nil {
		return err
	}
	var names []string
	for _, m := range made {
		names = append(names, m.Figure)
	}
	pictures, pages, err := results.Beside(dir, names)
	if err != nil {
		return err
	}
	stated, err := statedOf(dir)
	if err != nil {
		return err
	}
	return files.Write(filepath.Join(dir, indexFile), func(w io.Writer) error {
		if _, err := fmt.Fprint(w,
			indexMark+"# Figures\n\nWritten with the figures; each is a picture, its data and a manifest of how it "+
				"was made.\nWhat the paper states of them stands beside ours with a verdict: a mean over seeds ± one\n"+
				"standard deviation, of utility graphs over seeds and draws of the noise. Certified ε are upper\n"+
				"ends, of runs compared the larger; accountant, adjacency, sampling and δ are in the picture's\n"+
				"caption and the manifest.\n\n"+
				"| | figure | shows | the paper, and here | data | command | files |\n|---|---|---|---|---|---|---|\n",
		); err != nil {
			return err
		}
		for _, m := range made {
			row := results.Entry{Folder: m.Figure, Title: m.Title, Command: m.Command, Data: results.Sets{m.Data},
				Scale: m.Scale, Runner: m.Runner, Files: m.Files}
			if err := row.WriteRow(w, stated[m.Figure]); err != nil {
				return err
			}
		}
		return writeBesides(w, pictures, pages)
	})
}

// writeBesides lists the other results in the folder.
func writeBesides(w io.Writer, pictures []results.Entry, pages []string) error {
	var text strings.Builder
	if len(pictures) > 0 {
		text.WriteString("\n## Made by other commands\n\nBy `propose`, `utility`, `train` and the like, or of a file " +
			"of somebody's own.\n\n| | folder | shows | data | command | files |\n|---|---|---|---|---|---|\n")
		for _, e := range pictures {
			if err := e.WriteRow(&text); err != nil {
				return err
			}
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

// statedOf returns, for each figure in dir, what the paper states, with our value and a verdict.
func statedOf(dir string) (map[string]string, error) {
	all, err := results.ReadFindings(dir)
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for _, f := range all {
		if texts[f.Figure] != "" {
			texts[f.Figure] += "<br>"
		}
		texts[f.Figure] += fmt.Sprintf("%s: %s, **%s**", f.Says, f.Ours, f.Verdict)
		if f.Verdict == results.Undecided {
			texts[f.Figure] += ", " + f.Why
		}
		if f.Epsilon != "" {
			texts[f.Figure] += fmt.Sprintf(" (certified %s per record)", f.Epsilon)
		}
	}
	return texts, nil
}
