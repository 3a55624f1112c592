package experiments

import (
	"fmt"
	"strconv"
	"strings"

	"proactivedp/internal/decimal"
	"proactivedp/internal/plots"
	"proactivedp/internal/report"
)

// published is a published test accuracy of a private training that used no other data, with its ε and δ.
type published struct {
	by, model string
	source    string
	epsilon   float64 // as published; nothing here certifies it
	accuracy  float64
}

// publishedDelta is the δ of all published results here, and publishedEpsilon the ε of most of them.
const (
	publishedDelta   = 1e-5
	publishedEpsilon = 3
)

// The sources of published results. The programs of both shuffle the records and count the batches as Poisson samples:
// get_scattered_loader in data.py of github.com/ftramer/Handcrafted-DP, whose README has the accuracies, and
// image_dataset_loader.py and calibrate.py of github.com/google-deepmind/jax_privacy at commit 9e935fc.
const (
	handcrafted = "Tramèr and Boneh 2021, arXiv 2011.11660"
	unlocking   = "De et al. 2022, arXiv 2204.13650"
)

// publishedResults are by data set.
var publishedResults = map[string][]published{
	"mnist": {
		{"Tramèr and Boneh", "linear on ScatterNet", handcrafted, publishedEpsilon, 0.987},
		{"Tramèr and Boneh", "CNN on pixels", handcrafted, publishedEpsilon, 0.981},
	},
	"cifar10": {
		{"Tramèr and Boneh", "linear on ScatterNet", handcrafted, publishedEpsilon, 0.67},
		{"Tramèr and Boneh", "CNN on ScatterNet", handcrafted, publishedEpsilon, 0.693},
		{"De et al.", "WRN", unlocking, 1, 0.568},
		{"De et al.", "WRN", unlocking, 2, 0.659},
		{"De et al.", "WRN", unlocking, 4, 0.735},
		{"De et al.", "WRN", unlocking, 8, 0.814},
	},
}

// publishedSeries is the series of published results in tables.
const publishedSeries = "published"

// counted says what the published ε count.
const counted = "batches shuffled, ε for Poisson samples"

// publishedLines returns the results as points, with a name for each source and model.
func publishedLines(all []published) []plots.Line {
	var lines []plots.Line
	for _, p := range all {
		name := fmt.Sprintf("published: %s,\n%s", p.by, p.model)
		if len(lines) == 0 || lines[len(lines)-1].Name != name {
			lines = append(lines, plots.Line{Name: name, Points: true})
		}
		lines[len(lines)-1].Add(p.epsilon, p.accuracy, p.accuracy, p.accuracy)
	}
	return lines
}

// publishedRows returns rows for a table with the header, to which it adds two columns.
func publishedRows(header []string, dataset string, all []published) (wider []string, rows [][]string) {
	wider = append(header, "published_epsilon", "source")
	for _, p := range all {
		cells := map[string]string{
			"data": dataset, "series": publishedSeries, "model": p.model, "delta": decimal.Up(publishedDelta, 6),
			"test_accuracy":     report.Number(p.accuracy),
			"published_epsilon": strconv.FormatFloat(p.epsilon, 'g', -1, 64),
			"source":            p.source + "; " + counted,
		}
		var row []string
		for _, column := range wider {
			row = append(row, cells[column])
		}
		rows = append(rows, row)
	}
	return wider, rows
}

// publishedText explains the points at the end of a caption.
func publishedText(all []published) string {
	if len(all) == 0 {
		return ""
	}
	var sources []string
	for _, p := range all {
		if len(sources) == 0 || sources[len(sources)-1] != p.source {
			sources = append(sources, p.source)
		}
	}
	return fmt.Sprintf(" Published, with δ = %g and all test images: %s. Their programs shuffle the records but compute ε for Poisson "+
		"samples, so their true ε can be larger.", publishedDelta, strings.Join(sources, "; "))
}
