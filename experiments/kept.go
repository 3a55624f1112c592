package experiments

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"proactivedp/experiments/grid"
	"proactivedp/experiments/manifest"
	"proactivedp/internal/report"
)

// kept is a figure as its folder has it.
type kept struct {
	Manifest
	config json.RawMessage // of the manifest
	header []string
	rows   [][]string
}

// maxKept bounds the rows that are read.
const maxKept = 1 << 20

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
	table, err := manifest.ReadTable(dir, k.Table)
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
		return nil, fmt.Errorf("%s has %d runs, must have the %d of the manifest's settings", manifest.TableFile,
			len(all), n)
	}
	for i, r := range all {
		if len(r.rows) != len(all[0].rows) {
			return nil, fmt.Errorf("%s has %d rows of run %d, must have %d", manifest.TableFile, len(r.rows), i+1,
				len(all[0].rows))
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
	return results(runs, func(r run) (grid.Curve, error) {
		var target, at, accuracy []float64
		err := r.columns(map[string]*[]float64{"grad_computations": &target,
			"broadcast_grad_computations": &at, "test_accuracy": &accuracy})
		return grid.Curve{Target: whole(target), At: whole(at), Accuracy: accuracy}, err
	})
}

// results returns the results of runs, as finished cells have them.
func results[T any](runs []run, of func(run) (T, error)) ([]json.RawMessage, error) {
	var all []json.RawMessage
	for _, r := range runs {
		result, err := of(r)
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(result)
		if err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, nil
}

// keptUtilities returns the graphs of a figure of them; names are the columns that tell them
// apart.
func keptUtilities(k *kept, n int, names ...string) ([]json.RawMessage, error) {
	runs, err := k.runs(n, names...)
	if err != nil {
		return nil, err
	}
	return results(runs, func(r run) (grid.Utility, error) {
		var clip, sigma, fraction, sd, mean, accuracy, norm []float64
		if err := r.columns(map[string]*[]float64{"clip": &clip, "sigma": &sigma, "fraction": &fraction,
			"fraction_sd": &sd, "test_accuracy": &mean, "wstar_accuracy": &accuracy,
			"wstar_norm": &norm}); err != nil {
			return grid.Utility{}, err
		}
		u := grid.Utility{Clip: clip[0], Accuracy: accuracy[0], Norm: norm[0]}
		for i := range sigma {
			u.Points = append(u.Points, grid.UtilityPoint{Sigma: sigma[i], Fraction: fraction[i], FractionSD: sd[i],
				MeanAccuracy: mean[i]})
		}
		return u, nil
	})
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

// redrawn returns the figure with a way to draw it anew: from the results of its n cells, as
// they are read from its folder.
func (fig Figure) redrawn(n func(f *frame) int, results func(k *kept, n int) ([]json.RawMessage, error)) Figure {
	fig.redraw = func(ctx context.Context, f *frame, k *kept) (*outcome, error) {
		all, err := results(k, n(f))
		if err != nil {
			return nil, err
		}
		return fig.finish(ctx, f, all)
	}
	return fig
}
