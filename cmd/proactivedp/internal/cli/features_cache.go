package cli

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"proactivedp/data"
	"proactivedp/internal/bounded"
	"proactivedp/internal/cpu"
	"proactivedp/internal/f32"
	filesystem "proactivedp/internal/files"
	"proactivedp/internal/report"
	"proactivedp/internal/sealed"
)

// featuresFormat is the format of a file of features: a featuresKey as JSON, then the rows as
// little-endian float32. A change of the transform or of the defaults of its options raises Version.
var featuresFormat = sealed.Format{Magic: "proactivedp features\n", Version: 1, Name: "file of features"}

// featuresKey says which features a file has. It holds everything that their bits depend on.
type featuresKey struct {
	Data      string `json:"data_sha256"`
	Recipe    string `json:"features"`
	Constants string `json:"constants_sha256"`
	Kernels   string `json:"kernels"`
	Arch      string `json:"arch"`
	Records   int    `json:"records"`
	Width     int    `json:"width"`
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
	if m.Constants() == "" {
		return m.Apply(f.ctx, d, nil)
	}
	n, err := m.Features(d)
	if err != nil {
		return nil, err
	}
	if f.dir == "" || d.Len() == 0 {
		return f.compute(d, m)
	}
	key, err := json.Marshal(featuresKey{d.Hash(), m.String(), m.Constants(), f32.Kernels().String(), cpu.Arch(),
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
			return featuresFormat.Write(w, key, nil, func(w io.Writer) error { return writeFloats(w, out.Value) })
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

// compute computes the features.
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

// say writes a line.
func (f featurer) say(format string, args ...any) {
	if f.out != nil {
		fmt.Fprintf(f.out, "proactivedp: "+format+"\n", args...)
	}
}

// floatsAtOnce is how many numbers are converted at once.
const floatsAtOnce = 1 << 18

func writeFloats(w io.Writer, x []float32) error {
	buf := make([]byte, 0, 4*floatsAtOnce)
	for len(x) > 0 {
		n := min(len(x), floatsAtOnce)
		buf = buf[:0]
		for _, v := range x[:n] {
			buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(v))
		}
		if _, err := w.Write(buf); err != nil {
			return err
		}
		x = x[n:]
	}
	return nil
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
	value, buf := make([]float32, n), make([]byte, 4*floatsAtOnce)
	for to := value; len(to) > 0; {
		some := buf[:4*min(len(to), floatsAtOnce)]
		if _, err := io.ReadFull(content, some); err != nil {
			return nil, err
		}
		for i := range len(some) / 4 {
			to[i] = math.Float32frombits(binary.LittleEndian.Uint32(some[4*i:]))
		}
		to = to[len(some)/4:]
	}
	return value, nil
}
