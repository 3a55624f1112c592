package experiments

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"proactivedp/internal/files"
	"proactivedp/internal/results"
	"proactivedp/train"
)

// predictionsCommand is the beginning of the command that makes a figure of predictions.
const predictionsCommand = "proactivedp propose --check"

// RedrawPredictions draws the pictures in the folder out that [PredictionReport.Write] made again, in the style of d.
// It uses their stored data and manifests, trains nothing and does not change the data. It returns the names of their
// folders.
func RedrawPredictions(out string, d results.Drawing) ([]string, error) {
	if err := errors.Join(d.Validate(), checkOut(out)); err != nil {
		return nil, err
	}
	var drawn []string
	err := files.InFolder(out, func() error {
		pictures, _, err := results.Beside(out, nil)
		if err != nil {
			return err
		}
		for _, e := range pictures {
			if !strings.HasPrefix(e.Command, predictionsCommand) {
				continue
			}
			if err := redrawPredictions(out, e.Folder, d); err != nil {
				return fmt.Errorf("%s: %w", e.Folder, err)
			}
			drawn = append(drawn, e.Folder)
		}
		return nil
	})
	return drawn, err
}

func redrawPredictions(out, folder string, d results.Drawing) error {
	m := results.Manifest{Config: new(json.RawMessage)}
	table, err := results.ReadFigure(out, folder, &m, &m.Table)
	if err != nil {
		return err
	}
	r, err := storedPredictions(table)
	if err != nil {
		return err
	}
	if m.Table, err = results.Digest(append([][]string{table.Header}, table.Rows...)); err != nil {
		return err
	}
	m.Title, m.Drawing, m.Files, m.SHA256 = predictionsTitle, d, d.Files(), "" // results.WriteManifest sets SHA256
	return d.Redraw(filepath.Join(out, folder), r.picture(m.Seeds).Write, m)
}

// storedPredictions reads the report from the data of its figure.
func storedPredictions(table results.Table) (*PredictionReport, error) {
	var epsilon, size, rounds, sigma, clip, eta0, proxy, accuracy, low, high, test, utility, short []float64
	if err := table.Columns(map[string]*[]float64{"epsilon": &epsilon, "sample_size": &size, "rounds": &rounds,
		"sigma": &sigma, "clip": &clip, "eta0": &eta0, "proxy": &proxy, "predicted_accuracy": &accuracy,
		"predicted_low": &low, "predicted_high": &high, "test_accuracy": &test, "utility_graph": &utility,
		"short_run": &short}); err != nil {
		return nil, err
	}
	if len(table.Rows) == 0 {
		return nil, fmt.Errorf("%s has no rows", results.TableFile)
	}
	var all []PredictionCheck
	for i, row := range table.Rows {
		c := PredictionCheck{Case: row[0], Epsilon: epsilon[i], Proxy: proxy[i], Real: test[i], Utility: utility[i],
			Short: short[i], Setting: train.Spec{SampleSize: strconv.Itoa(int(size[i])), GradComps: int(size[i] * rounds[i]),
				NoiseMultiplier: sigma[i], Clip: clip[i], Eta0: eta0[i]}}
		c.Accuracy, c.Low, c.High = accuracy[i], low[i], high[i]
		all = append(all, c)
	}
	r := NewPredictionReport(all)
	if other := table.Differs(r.table()); other != "" {
		return nil, fmt.Errorf("%s %s, as this program would write: the figure must be made again", results.TableFile, other)
	}
	return r, nil
}
