package cli

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"proactivedp/data"
	"proactivedp/internal/bounded"
	"proactivedp/internal/codec"
	"proactivedp/internal/cpu"
	"proactivedp/internal/f32"
	filesystem "proactivedp/internal/files"
	"proactivedp/internal/report"
	"proactivedp/internal/sealed"
	"proactivedp/rng"
)

// featuresFormat is the format of a file of features: a featuresKey as JSON, then the rows as
// little-endian float32.
var featuresFormat = sealed.Format{Magic: "proactivedp features\n", Version: 1, Name: "file of features"}

// featuresKey says which features a file has. It holds everything that their bits depend on.
type featuresKey struct {
	Data    string `json:"data_sha256"`
	Recipe  string `json:"features"`
	Drawn   string `json:"drawn_sha256"` // of the features of a drawn image, by which another transform is noticed
	Kernels string `json:"kernels"`
	Arch    string `json:"arch"`
	Records int    `json:"records"`
	Width   int    `json:"width"`
}

// featurer computes features, shows the progress, and keeps them in a folder.
type featurer struct {
	ctx   context.Context
	dir   string    // "" keeps nothing
	asked bool      // the user named the folder: it is an error if it cannot be written
	own   bool      // the records are the user's
	out   io.Writer // for messages and progress
}

// apply computes the features of d, or reads those of an earlier run. Features without constants take
// less time than to keep them.
func (f featurer) apply(d *data.Dataset, m data.FeatureMap) (*data.Dataset, error) {
	n, err := m.Features(d)
	if err != nil {
		return nil, err
	}
	if m.Constants() == "" || f.dir == "" || d.Len() == 0 {
		return f.compute(d, m)
	}
	drawn, err := f.drawn(d.Images, m)
	if err != nil {
		return nil, err
	}
	key, err := json.Marshal(featuresKey{d.Hash(), m.String(), drawn, f32.Kernels().String(), cpu.Arch(),
		d.Len(), n})
	if err != nil {
		return nil, err
	}
	path := filepath.Join(f.dir, fmt.Sprintf("%x.features", sha256.Sum256(key)))
	value, err := readFeatures(path, key, d.Len()*n)
	if err == nil {
		return d.WithDense(n, value), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		f.say("%s: %v; the features are computed again", path, err)
	}
	err = os.MkdirAll(f.dir, 0o700)
	if err == nil {
		err = filesystem.Check(path)
	}
	if err != nil && f.asked {
		return nil, fmt.Errorf("--cache: %w", err)
	}
	out, failed := f.compute(d, m)
	if failed != nil {
		return nil, failed
	}
	if err == nil {
		err = filesystem.WritePrivate(path, func(w io.Writer) error {
			return featuresFormat.Write(w, key, nil, func(w io.Writer) error {
				c := codec.NewWriter(w)
				codec.Floats(c, &out.Value, len(out.Value))
				return c.End()
			})
		})
	}
	switch {
	case err != nil:
		f.say("the features %v of %s are not kept: %v", m, d.Name, err)
	case f.own:
		f.say("the features %v of %s are kept in %s, a copy of private records that ε does not cover: delete it when it is "+
			"no longer needed", m, d.Name, path)
	default:
		f.say("the features %v of %s are kept in %s", m, d.Name, path)
	}
	return out, nil
}

// workOfFeatures is about how many operations the features of a pixel take.
const workOfFeatures = 20_000

func (f featurer) compute(d *data.Dataset, m data.FeatureMap) (*data.Dataset, error) {
	work := float64(d.Len()) * float64(d.Images.Size()) * workOfFeatures
	show, finish := report.LongBar(f.out, fmt.Sprintf("features of %s", d.Name), work)
	defer finish()
	var progress func(done int)
	if show != nil {
		progress = func(done int) { show(float64(done) / float64(d.Len())) }
	}
	return m.Apply(f.ctx, d, progress)
}

// drawn returns a digest of the features of one drawn image of the shape of images.
func (f featurer) drawn(images *data.Images, m data.FeatureMap) (string, error) {
	one := *images
	one.Pixels = make([]byte, one.Size())
	stream := rng.New(0).Stream(rng.Synthetic, 0, 0)
	for i := range one.Pixels {
		one.Pixels[i] = byte(stream.Uint64())
	}
	d, err := m.Apply(f.ctx, &data.Dataset{Name: "drawn", Features: one.Size(), Classes: 2, Label: []int32{0}, Images: &one}, nil)
	if err != nil {
		return "", err
	}
	return d.Hash(), nil
}

func (f featurer) say(format string, args ...any) {
	if f.out != nil {
		fmt.Fprintf(f.out, "proactivedp: "+format+"\n", args...)
	}
}

// readFeatures reads a file of n numbers with the key. It returns an error if the file is damaged or has
// other features.
func readFeatures(path string, key []byte, n int) ([]float32, error) {
	file, err := bounded.Regular(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if size := info.Size(); size > 4*int64(n)+int64(len(key))+1<<10 {
		return nil, fmt.Errorf("the file has %d bytes, must have %d numbers", size, n)
	}
	header, content, err := featuresFormat.Open(file, info.Size(), nil)
	if err != nil {
		return nil, err
	}
	if string(header) != string(key) || content.Size() != 4*int64(n) {
		return nil, errors.New("the file has other features")
	}
	c := codec.NewReader(content)
	var value []float32
	codec.Floats(c, &value, n)
	return value, c.End()
}
