package experiments

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/internal/report"
	"proactivedp/internal/results"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// trainWhole finds the command of a page that trains the winner, which the program puts in.
var trainWhole = regexp.MustCompile("To train the best combination completely, on all training records: `([^`]*)`")

// The pages of the committed searches have the text that this program writes for their tables of data.
func TestCommittedPagesAreOfTheirTables(t *testing.T) {
	folders, err := filepath.Glob("../results/search-*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("%d searches are committed (%v)", len(folders), err)
	}
	for _, folder := range folders {
		m := SearchManifest{Config: SearchSpec{Proxy: 1}} // what was run before there were proxies
		if err := results.ReadManifest(folder, "", &m); err != nil {
			t.Fatal(err)
		}
		page, err := os.ReadFile(filepath.Join(folder, readmeFile))
		if err != nil {
			t.Fatal(err)
		}
		o := SearchOptions{Command: func(SearchSpec) string { return m.Command }}
		if found := trainWhole.FindStringSubmatch(searchLine(string(page))); found != nil {
			o.TrainCommand = func(train.Spec) string { return found[1] }
		}
		// They held out the last records of the training set, which no version does now, and say so.
		number := fmt.Sprint(m.Config.Train.Holdout)
		last, kinds := "its last "+number+" records", "A training is either complete or a proxy (a cheaper training)."
		note := " (A revision up to 393c85f made this search. Later revisions choose the held-out records by a hash, and `--holdout` " +
			"takes a fraction instead of " + number + ".)"
		m.Config.Train.Holdout = train.UsualHoldout
		all := committed(t, m.Config, filepath.Join(folder, tableFile))
		d := &data.Dataset{Name: m.Data.Name, Synthetic: m.Data.Synthetic}
		want := strings.NewReplacer(m.Config.heldOut(), last, kinds, kinds+note).Replace(searchLine(mark + m.Config.readme(all, m.Config.report(all, d, o))))
		if want != searchLine(string(page)) {
			t.Errorf("%s: the program writes\n%s", filepath.Join(folder, readmeFile), want)
		}
	}
}

// committed returns the points of a search with the trials of its table.
func committed(t *testing.T, s SearchSpec, table string) []found {
	t.Helper()
	f, err := os.Open(table)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.points()
	if err != nil || len(rows) != 1+len(all)*s.Seeds {
		t.Fatalf("%s: %d rows of %d points (%v)", table, len(rows), len(all), err)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	for i := range all {
		var accuracies []float64
		for _, row := range rows[1+i*s.Seeds : 1+(i+1)*s.Seeds] {
			accuracy, err := strconv.ParseFloat(row[column["held_out_accuracy"]], 64)
			if err != nil {
				t.Fatal(err)
			}
			accuracies = append(accuracies, accuracy)
			all[i].trials = append(all[i].trials, pool.Trial{Accuracy: accuracy,
				Diverged: row[column["diverged"]] == "true"})
		}
		all[i].mean, all[i].sd = report.Spread(accuracies)
	}
	return all
}
