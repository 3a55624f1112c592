// This file says how a result was made: by which build, on which machine and from which data. A digest
// detects damage to the manifest.

package results

import (
	"encoding/json"
	"math"
	"runtime"
	"time"

	"proactivedp/internal/cpu"
	"proactivedp/internal/f32"
	"proactivedp/internal/version"
	"proactivedp/train"
)

// These are the names of the files in the folder of a figure.
const (
	ManifestFile = "manifest.json" // how it was made; every result has one
	PictureFile  = "figure.png"    // the picture as PNG
	TableFile    = "data.csv"      // the data in long form
)

// Origin says when a result was made, and with what.
type Origin struct {
	Version  string  `json:"version"`
	Go       string  `json:"go"`
	Machine  string  `json:"machine"`
	Kernels  string  `json:"kernels"` // class of the float32 kernels that were used
	CPUs     int     `json:"cpus"`
	Made     string  `json:"made"`           // date in UTC
	Cells    int     `json:"cells"`          // number of training runs of the command, for all its results
	Computed int     `json:"cells_computed"` // how many of them were computed; the others were kept from an earlier command
	Seconds  float64 `json:"seconds"`        // duration of the command in seconds
	// CellSeconds is the total computing time of the training runs in seconds. It includes runs that an
	// earlier command computed, but not those of other machines.
	CellSeconds float64 `json:"cell_seconds,omitempty"`
}

// NewOrigin returns the origin of a result that this process has just made. cells is the number of training runs of
// the result, and computed how many of them this command ran. took is the duration of the command, and cellTime the
// total time of the runs.
func NewOrigin(cells, computed int, took, cellTime time.Duration) Origin {
	return Origin{
		Version: version.Get().Source(), Go: runtime.Version(), Machine: cpu.Describe(),
		Kernels: f32.Kernels().String(), CPUs: runtime.GOMAXPROCS(0),
		Made: time.Now().UTC().Format(time.DateOnly), Cells: cells, Computed: computed, Seconds: took.Seconds(),
		CellSeconds: math.Round(1e3*cellTime.Seconds()) / 1e3,
	}
}

// Data describes in a manifest a data set from which a result was computed.
type Data struct {
	Name      string `json:"name"`
	SHA256    string `json:"sha256"` // digest of the parsed content
	Rows      int    `json:"rows"`
	Features  int    `json:"features"`
	Train     int    `json:"train,omitempty"` // rows of the published training set, if there is one
	Note      string `json:"note,omitempty"`
	Synthetic bool   `json:"synthetic"`
}

// DataOf describes the data set of a source for a manifest.
func DataOf(source *train.Source) Data {
	d := source.Data()
	return Data{d.Name, source.Hash(), d.Len(), d.Features, d.Train, d.Note, d.Synthetic}
}

// Sets are the data sets of a manifest. In JSON, a single data set is an object, and several are a list.
type Sets []Data

// UnmarshalJSON reads one data set or a list of them.
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
