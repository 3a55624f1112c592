package experiments

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"proactivedp/internal/results"
	"proactivedp/train/pool"
)

type storedFigure struct {
	Manifest
	config json.RawMessage // of the manifest
	table  results.Table
}

func readStored(dir, folder string) (*storedFigure, error) {
	k := &storedFigure{}
	k.Config = &k.config
	var err error
	if k.table, err = results.ReadFigure(dir, folder, &k.Manifest, &k.Table); err != nil {
		return nil, err
	}
	if err := errors.Join(CheckSeeds(k.Seeds), CheckPart("scale", k.Scale), checkSizes(k.Sizes)); err != nil {
		return nil, fmt.Errorf("%s: %w", results.ManifestFile, err)
	}
	return k, nil
}

// whole converts float64 counts, as read from CSV, to ints.
func whole(values []float64) []int {
	var all []int
	for _, x := range values {
		all = append(all, int(x))
	}
	return all
}

// storedCurves returns the n curves of a figure of training curves.
func storedCurves(k *storedFigure, n int) ([]*pool.Curve, error) {
	runs, err := k.table.Runs(n, "series", "seed")
	if err != nil {
		return nil, err
	}
	var all []*pool.Curve
	for _, r := range runs {
		var target, at, accuracy []float64
		if err := r.Columns(map[string]*[]float64{"grad_computations": &target,
			"broadcast_grad_computations": &at, "test_accuracy": &accuracy}); err != nil {
			return nil, err
		}
		all = append(all, &pool.Curve{Target: whole(target), At: whole(at), Accuracy: accuracy})
	}
	return all, nil
}

// storedUtilities returns the n utility graphs of a figure. names are the columns that distinguish the graphs.
func storedUtilities(k *storedFigure, n int, names ...string) ([]*pool.Utility, error) {
	runs, err := k.table.Runs(n, names...)
	if err != nil {
		return nil, err
	}
	var all []*pool.Utility
	for _, r := range runs {
		var clip, sigma, fraction, sd, mean, accuracy, norm []float64
		if err := r.Columns(map[string]*[]float64{"clip": &clip, "sigma": &sigma, "fraction": &fraction,
			"fraction_sd": &sd, "test_accuracy": &mean, "wstar_accuracy": &accuracy,
			"wstar_norm": &norm}); err != nil {
			return nil, err
		}
		u := &pool.Utility{Clip: clip[0], Accuracy: accuracy[0], Norm: norm[0]}
		for i := range sigma {
			u.Points = append(u.Points, pool.UtilityPoint{Sigma: sigma[i], Fraction: fraction[i], FractionSD: sd[i],
				MeanAccuracy: mean[i]})
		}
		all = append(all, u)
	}
	return all, nil
}

// storedPriced returns the trainings of a figure of budgets, with costs and accuracies.
func storedPriced(k *storedFigure) ([]priced, error) {
	var all []priced
	if err := json.Unmarshal(k.config, &all); err != nil {
		return nil, fmt.Errorf("%s: config: %w", results.ManifestFile, err)
	}
	runs := k.table
	runs.Rows = slices.DeleteFunc(slices.Clone(runs.Rows), func(row []string) bool { return slices.Contains(row, publishedSeries) })
	if want := len(all) * k.Seeds; len(runs.Rows) != want || want == 0 {
		return nil, fmt.Errorf("%s has %d rows of trainings, must have %d by the manifest's settings", results.TableFile,
			len(runs.Rows), want)
	}
	var accuracy, gradients []float64
	if err := runs.Columns(map[string]*[]float64{"test_accuracy": &accuracy,
		"gradients_of_all_clients": &gradients}); err != nil {
		return nil, err
	}
	for i := range all {
		all[i].gradients = int(gradients[i*k.Seeds])
		all[i].accuracy = accuracy[i*k.Seeds : (i+1)*k.Seeds]
	}
	return all, nil
}
