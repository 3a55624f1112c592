package experiments

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"proactivedp/internal/results"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// The figures in results were made with the grids that the presets have: σ of the
// utility graphs, and sample sizes, but where their manifests have others.
func TestPresetsAreOfTheCommittedResults(t *testing.T) {
	for _, s := range experimentList() {
		var sizes []float64
		for _, size := range s.sizes {
			sizes = append(sizes, float64(size))
		}
		for _, c := range []struct {
			kind, column string
			want         []float64
		}{{"-utility", "sigma", s.Sigmas}, {"-sample-size", "sample_size", sizes}} {
			var made Manifest
			if err := results.ReadManifest(filepath.Join("..", "results"), s.name()+c.kind, &made); err != nil {
				t.Fatal(err)
			}
			if made.Sizes != nil {
				c.want = nil
				for _, size := range made.Sizes {
					c.want = append(c.want, float64(size))
				}
			}
			if got := columnOf(t, s.name()+c.kind, c.column); !slices.Equal(got, c.want) {
				t.Errorf("%s%s: %s %v in results, %v in the preset", s.name(), c.kind, c.column, got, c.want)
			}
		}
	}
}

// columnOf returns the different numbers of a column of a committed figure's data.
func columnOf(t *testing.T, figure, column string) []float64 {
	t.Helper()
	file, err := os.Open(filepath.Join("..", "results", figure, results.TableFile))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.Index(rows[0], column)
	if at < 0 {
		t.Fatalf("%s: no column %s", figure, column)
	}
	var numbers []float64
	for _, row := range rows[1:] {
		v, err := strconv.ParseFloat(row[at], 64)
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, v)
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// A model that the paper does not have is trained as the data set's own: softmax
// regression on MNIST with the parameters of its network, on phishing with those of
// logistic regression.
func TestModelsBesideThePaperTakeTheDataSetsSetting(t *testing.T) {
	for dataset, like := range map[string]string{"mnist": train.LeNet, "cifar10": train.AlexNet,
		"phishing": train.Ridge} {
		got, want := pool.Train(train.Softmax, dataset), pool.Train(like, dataset)
		if want.Model = train.Softmax; got != want {
			t.Errorf("%s: %+v, want %+v", dataset, got, want)
		}
	}
}
