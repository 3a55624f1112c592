// This file says how a result was made, beside it: by which build, on what machine
// and from which data, with a digest that tells a manifest that was damaged.

package results

import (
	"encoding/json"
	"math"
	"runtime"
	"time"

	"proactivedp/data"
	"proactivedp/internal/cpu"
	"proactivedp/internal/f32"
	"proactivedp/internal/version"
)

// The files in the folder of a figure.
const (
	ManifestFile = "manifest.json" // how it was made, as in the folder of any result
	PictureFile  = "figure.png"    // the picture, if it is drawn as PNG
	TableFile    = "data.csv"      // its data in long form
)

// Origin says by what a result was made, and when.
type Origin struct {
	Version  string  `json:"version"`
	Go       string  `json:"go"`
	Machine  string  `json:"machine"`
	Kernels  string  `json:"kernels"` // class of the float32 kernels in use
	CPUs     int     `json:"cpus"`
	Made     string  `json:"made"`           // the date in UTC
	Cells    int     `json:"cells"`          // training runs of the command, for all that it made
	Computed int     `json:"cells_computed"` // how many of them were computed; the rest was found finished
	Seconds  float64 `json:"seconds"`        // seconds that the command took
	// CellSeconds is how many seconds each of the training runs took to compute, together:
	// those that were found, too, when they were computed; but for those of other machines.
	CellSeconds float64 `json:"cell_seconds,omitempty"`
}

// NewOrigin returns the origin of what this process has made now, with so many training
// runs, of which so many were computed, and which took as long as cellTime together.
func NewOrigin(cells, computed int, took, cellTime time.Duration) Origin {
	return Origin{
		Version: version.Get().Source(), Go: runtime.Version(), Machine: cpu.Describe(),
		Kernels: f32.Kernels().String(), CPUs: runtime.GOMAXPROCS(0),
		Made: time.Now().UTC().Format(time.DateOnly), Cells: cells, Computed: computed, Seconds: took.Seconds(),
		CellSeconds: math.Round(1e3*cellTime.Seconds()) / 1e3,
	}
}

// Data says what data a result was made from.
type Data struct {
	Name      string `json:"name"`
	SHA256    string `json:"sha256"` // digest of the parsed content
	Rows      int    `json:"rows"`
	Features  int    `json:"features"`
	Train     int    `json:"train,omitempty"` // rows of the published training set, if one was published
	Note      string `json:"note,omitempty"`
	Synthetic bool   `json:"synthetic"`
}

// DataOf returns what a manifest says of a data set with this digest.
func DataOf(d *data.Dataset, sha256 string) Data {
	return Data{d.Name, sha256, d.Len(), d.Features, d.Train, d.Note, d.Synthetic}
}

// Sets are the data sets of a manifest: of one that was made from several a list, else one.
type Sets []Data

// UnmarshalJSON reads one data set, or a list of them.
func (s *Sets) UnmarshalJSON(text []byte) error {
	var several []Data
	if json.Unmarshal(text, &several) == nil {
		*s = several
		return nil
	}
	var one Data
	if err := json.Unmarshal(text, &one); err != nil {
		return err
	}
	*s = Sets{one}
	return nil
}
