// This file writes the folder of a figure, all files or none, and lists such folders in an index.

package results

import (
	"io"
	"os"
	"path/filepath"
	"time"

	"proactivedp/internal/files"
	"proactivedp/train"
)

// Manifest says how a figure was made that is not in the registry of package experiments. The caller of
// WriteFigure sets the other fields; WriteFigure sets the data, the origin and the files.
type Manifest struct {
	Title   string `json:"title"`
	Command string `json:"command"`
	Config  any    `json:"config"`
	Seeds   int    `json:"seeds"`
	Data    []Data `json:"data"`
	Origin
	Drawing Drawing  `json:"drawing,omitzero"` // how the picture is drawn
	Files   []string `json:"files"`            // the first one is a picture
	Table   string   `json:"table_sha256"`     // see Digest
	SHA256  string   `json:"manifest_sha256"`  // see WriteManifest
}

// WriteFigure writes a figure to the folder dir in the same form as experiments.Make: the picture in the formats of
// m.Drawing, the table with its header as data, and the manifest m. The manifest describes the data of sources. took
// is the duration of the command.
func WriteFigure(dir string, picture Picture, table [][]string, m Manifest, sources []*train.Source,
	took time.Duration) error {
	m.Data = nil
	for _, source := range sources {
		m.Data = append(m.Data, DataOf(source))
	}
	m.Origin = NewOrigin(0, 0, took, 0)
	m.Files = m.Drawing.Files()
	var err error
	if m.Table, err = Digest(table); err != nil {
		return err
	}
	return m.Drawing.Write(dir, picture, table, m)
}

// WriteFiles writes pictures, by their file names, a table with a header, and a manifest, which is written last. It
// writes all files or none.
func WriteFiles(dir string, pictures map[string]func(io.Writer) error, table [][]string, m any) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	var outputs []files.Output
	for name, draw := range pictures {
		outputs = append(outputs, files.Output{Path: filepath.Join(dir, name), Write: draw})
	}
	outputs = append(outputs, files.Output{Path: filepath.Join(dir, TableFile),
		Write: func(w io.Writer) error { return WriteTable(w, table) }})
	return files.WriteSet(outputs, files.Output{
		Path: filepath.Join(dir, ManifestFile), Write: func(w io.Writer) error { return WriteManifest(w, m) },
	})
}
