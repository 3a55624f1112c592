package experiments

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"

	"proactivedp/experiments/grid"
	"proactivedp/experiments/manifest"
	"proactivedp/internal/atomicfile"
	"proactivedp/internal/bounded"
	"proactivedp/internal/lockfile"
	"proactivedp/internal/report"
	"proactivedp/train"
)

// ErrNotRedrawn is what Redraw wraps for a figure that cannot be drawn from its data alone:
// its picture shows more than they hold. It is made anew, from the trainings that are kept.
var ErrNotRedrawn = errors.New("its data do not hold all that its picture shows")

// Redrawable reports whether [Redraw] can draw the figure from its data.
func (fig Figure) Redrawable() bool { return fig.redraw != nil }

// Redraw draws figures of o.Out anew, in the style of o.Drawing, from the data and the
// manifest in their folders: nothing is trained, and data, origin and settings stay as they
// are to the byte. Seeds, scale and runner are the manifest's; of o, Out, Drawing and Load
// are used. It returns the names of those that were drawn. A figure whose data this program
// would write differently, of another data set, or damaged, is an error, and is left as it
// was; so is one that was never made.
func Redraw(ctx context.Context, figures []Figure, o MakeOptions) ([]string, error) {
	if err := errors.Join(o.Drawing.Validate(), checkOut(o.Out)); err != nil {
		return nil, err
	}
	var drawn []string
	err := lockfile.InFolder(o.Out, func() error {
		var errs []error
		sources := map[string]*train.Source{}
		for _, fig := range figures {
			if err := context.Cause(ctx); err != nil {
				return errors.Join(append(errs, fmt.Errorf("experiments: stopped before %s: %w", fig.Name, err))...)
			}
			if err := redraw(ctx, fig, o, sources); err != nil {
				errs = append(errs, fmt.Errorf("experiments: %s: %w", fig.Name, err))
				continue
			}
			drawn = append(drawn, fig.Name)
		}
		return errors.Join(errs...)
	})
	return drawn, err
}

// checkOut reports a folder that is not there.
func checkOut(out string) error {
	info, err := os.Stat(out)
	if err != nil {
		return fmt.Errorf("experiments: out: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("experiments: out = %q, must be a folder", out)
	}
	return nil
}

// Made returns those of the figures that have been made into a folder.
func Made(figures []Figure, out string) []Figure {
	return slices.DeleteFunc(slices.Clone(figures), func(fig Figure) bool {
		_, err := os.Stat(filepath.Join(out, fig.Name, manifest.File))
		return errors.Is(err, fs.ErrNotExist)
	})
}

func redraw(ctx context.Context, fig Figure, o MakeOptions, sources map[string]*train.Source) error {
	if fig.redraw == nil {
		return ErrNotRedrawn
	}
	dir := filepath.Join(o.Out, fig.Name)
	k, err := readKept(dir)
	if err != nil {
		return err
	}
	source := sources[k.Data.Name]
	if source == nil {
		d, err := o.Load(ctx, k.Data.Name) // which names a stand-in, if it was one
		if err != nil {
			return err
		}
		source = train.NewSource(d)
		sources[k.Data.Name] = source
	}
	if got := source.Hash(); got != k.Data.SHA256 {
		return fmt.Errorf("the data set %s has the digest %.12s…, must be that of the manifest, %.12s…", fig.Data,
			got,
			k.Data.SHA256)
	}
	f := &frame{source: source, seeds: k.Seeds, scale: k.Scale, runner: k.Runner, timeScale: k.TimeScale}
	out, err := fig.redraw(ctx, f, k)
	if err != nil {
		return err
	}
	if other := k.differs(out.table); other != "" {
		return fmt.Errorf("%s %s, as this program would write: the figure must be made anew", manifest.TableFile, other)
	}
	return k.replace(dir, o.Drawing, out)
}

// kept is a figure as its folder has it.
type kept struct {
	Manifest
	config json.RawMessage // of the manifest
	header []string
	rows   [][]string
}

// Bounds of what is read.
const (
	maxTable = 64 << 20
	maxKept  = 1 << 20 // rows
)

// readKept reads what the folder of a figure has.
func readKept(dir string) (*kept, error) {
	text, err := manifest.Text(filepath.Join(dir, manifest.File))
	if err != nil {
		return nil, err
	}
	k := &kept{}
	k.Config = &k.config
	if err := json.Unmarshal(text, &k.Manifest); err != nil {
		return nil, fmt.Errorf("%s: %w", manifest.File, err)
	}
	if err := errors.Join(CheckSeeds(k.Seeds), CheckPart("scale", k.Scale)); err != nil {
		return nil, fmt.Errorf("%s: %w", manifest.File, err)
	}
	table, err := bounded.File(filepath.Join(dir, manifest.TableFile), maxTable)
	if err != nil {
		return nil, err
	}
	if k.header, k.rows, err = report.ParseCSV(table); err != nil {
		return nil, fmt.Errorf("%s: %w", manifest.TableFile, err)
	}
	if len(k.rows) > maxKept {
		return nil, fmt.Errorf("%s has %d rows, must be at most %d", manifest.TableFile, len(k.rows), maxKept)
	}
	return k, nil
}

// differs says where the table that this program would write is not the one that is kept;
// "" if it is.
func (k *kept) differs(table [][]string) string {
	if !slices.Equal(table[0], k.header) {
		return "has other columns"
	}
	if len(table) != len(k.rows)+1 {
		return fmt.Sprintf("has %d rows, not %d", len(k.rows), len(table)-1)
	}
	for i, row := range k.rows {
		for j, cell := range row {
			if want := table[i+1][j]; !sameCell(cell, want) {
				return fmt.Sprintf("has %s = %s in line %d, not %s", k.header[j], cell, i+2, want)
			}
		}
	}
	return ""
}

// sameCell reports whether cells are the same text; or the same number, of which one was
// written with the six digits that earlier versions gave to all; or the same name, in which
// they rounded a number of four digits another way.
func sameCell(a, b string) bool {
	if a == b {
		return true
	}
	within := 1e-3 // one of the fourth digit
	if number.FindString(a) == a {
		within = 5e-6
	}
	as, bs := number.FindAllString(a, -1), number.FindAllString(b, -1)
	return number.ReplaceAllString(a, "0") == number.ReplaceAllString(b, "0") &&
		slices.EqualFunc(as, bs, func(a, b string) bool {
			x, err := strconv.ParseFloat(a, 64)
			y, failed := strconv.ParseFloat(b, 64)
			return err == nil && failed == nil && math.Abs(x-y) <= within*math.Abs(x)
		})
}

// number is a number in a cell.
var number = regexp.MustCompile(`[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?`)

// replace writes the pictures, and the manifest if it says another style than before.
func (k *kept) replace(dir string, d Drawing, out *outcome) error {
	var pictures []atomicfile.Output
	for _, format := range d.formats() {
		pictures = append(pictures, atomicfile.Output{Path: filepath.Join(dir, pictureName(format)),
			Write: func(w io.Writer) error { return out.picture.Write(w, format, d.style()) }})
	}
	if reflect.DeepEqual(k.Drawing, d) && slices.Equal(k.Files, d.files()) {
		return atomicfile.WriteSet(pictures[1:], pictures[0])
	}
	k.Drawing, k.Files, k.SHA256 = d, d.files(), "" // which manifest.Write fills in
	return atomicfile.WriteSet(pictures, atomicfile.Output{Path: filepath.Join(dir, manifest.File),
		Write: func(w io.Writer) error { return manifest.Write(w, k.Manifest) }})
}

// runs returns the rows of each run: those that follow each other with the same series and
// seed; names are the columns that tell runs apart. There must be n.
func (k *kept) runs(n int, names ...string) ([]run, error) {
	var key []int
	for _, name := range names {
		i := slices.Index(k.header, name)
		if i < 0 {
			return nil, fmt.Errorf("%s has no column %s", manifest.TableFile, name)
		}
		key = append(key, i)
	}
	var all []run
	for _, row := range k.rows {
		same := len(all) > 0 && !slices.ContainsFunc(key,
			func(i int) bool { return all[len(all)-1].rows[0][i] != row[i] })
		if !same {
			all = append(all, run{header: k.header})
		}
		last := &all[len(all)-1]
		last.rows = append(last.rows, row)
	}
	if len(all) != n {
		return nil,
			fmt.Errorf("%s has %d runs, must have the %d of the manifest's settings, as this program would write",
				manifest.TableFile, len(all), n)
	}
	for i, r := range all {
		if len(r.rows) != len(all[0].rows) {
			return nil, fmt.Errorf("%s has %d rows of run %d, must have %d, as this program would write",
				manifest.TableFile,
				len(r.rows), i+1, len(all[0].rows))
		}
	}
	return all, nil
}

// run is the rows of a training.
type run struct {
	header []string
	rows   [][]string
}

// column returns the numbers of a column.
func (r run) column(name string) ([]float64, error) {
	i := slices.Index(r.header, name)
	if i < 0 {
		return nil, fmt.Errorf("%s has no column %s", manifest.TableFile, name)
	}
	var all []float64
	for _, row := range r.rows {
		x, err := strconv.ParseFloat(row[i], 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %s = %q, must be a number", manifest.TableFile, name, row[i])
		}
		all = append(all, x)
	}
	return all, nil
}

// columns reads columns by their names into what they are wanted for.
func (r run) columns(to map[string]*[]float64) error {
	var errs []error
	for name, values := range to {
		var err error
		*values, err = r.column(name)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// whole returns numbers that are counts.
func whole(values []float64) []int {
	var all []int
	for _, x := range values {
		all = append(all, int(x))
	}
	return all
}

// keptCurves returns the curves of a figure of training curves.
func keptCurves(k *kept, n int) ([]json.RawMessage, error) {
	runs, err := k.runs(n, "series", "seed")
	if err != nil {
		return nil, err
	}
	var all []json.RawMessage
	for _, r := range runs {
		var target, at, accuracy []float64
		if err := r.columns(map[string]*[]float64{"grad_computations": &target,
			"broadcast_grad_computations": &at, "test_accuracy": &accuracy}); err != nil {
			return nil, err
		}
		text, err := json.Marshal(grid.Curve{Target: whole(target), At: whole(at), Accuracy: accuracy})
		if err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, nil
}

// keptUtilities returns the graphs of a utility figure.
func keptUtilities(k *kept, n int) ([]json.RawMessage, error) {
	runs, err := k.runs(n, "clip", "seed")
	if err != nil {
		return nil, err
	}
	var all []json.RawMessage
	for _, r := range runs {
		var clip, sigma, fraction, sd, mean, accuracy, norm []float64
		if err := r.columns(map[string]*[]float64{"clip": &clip, "sigma": &sigma, "fraction": &fraction,
			"fraction_sd": &sd, "test_accuracy": &mean, "wstar_accuracy": &accuracy,
			"wstar_norm": &norm}); err != nil {
			return nil, err
		}
		u := grid.Utility{Clip: clip[0], Accuracy: accuracy[0], Norm: norm[0]}
		for i := range sigma {
			u.Points = append(u.Points, grid.UtilityPoint{Sigma: sigma[i], Fraction: fraction[i], FractionSD: sd[i],
				MeanAccuracy: mean[i]})
		}
		text, err := json.Marshal(u)
		if err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, nil
}

// keptPriced returns the trainings of a figure of budgets, with what they cost and found.
func keptPriced(k *kept) ([]priced, error) {
	var all []priced
	if err := json.Unmarshal(k.config, &all); err != nil {
		return nil, fmt.Errorf("%s: config: %w", manifest.File, err)
	}
	if want := len(all) * k.Seeds; len(k.rows) != want || want == 0 {
		return nil, fmt.Errorf("%s has %d rows, must have the %d of the manifest's settings", manifest.TableFile,
			len(k.rows), want)
	}
	var accuracy, gradients []float64
	if err := (run{k.header, k.rows}).columns(map[string]*[]float64{"test_accuracy": &accuracy,
		"gradients_of_all_clients": &gradients}); err != nil {
		return nil, err
	}
	for i := range all {
		all[i].gradients = int(gradients[i*k.Seeds])
		all[i].accuracy = accuracy[i*k.Seeds : (i+1)*k.Seeds]
	}
	return all, nil
}
