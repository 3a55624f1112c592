package audit

import (
	"cmp"
	"slices"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/models/lenet"
	"proactivedp/models/logreg"
	"proactivedp/rng"
)

// loudCanary is the norm of the canary's gradient before clipping. It is much larger than the clipping
// norm.
const loudCanary = 10

// probes returns all probes except the one-run probe. In each of them, the clients have random speeds
// and are at most one round ahead of each other.
func probes() ([]probe, error) {
	logistic, err := logistic()
	if err != nil {
		return nil, err
	}
	return []probe{
		{
			name: "full-batch",
			about: "every record in every round, so that the releases are Gaussian; the other records push " +
				"against the canary",
			setting: setting{
				model: linear{1}, data: gradients(1, []float32{loudCanary}, []float32{-1}, []float32{-1}),
				partition: data.Replicate, clients: 2, rounds: 3, size: 3, places: 3, sigma: 2,
			},
			share: 1,
		},
		logistic,
		{
			name:    "sampled",
			about:   "one record in 16 on average, so that almost all privacy comes from sampling",
			setting: among(15, setting{clients: 2, rounds: 8, size: 1, sigma: 1}),
			share:   5,
		},
		{
			name:    "pair",
			about:   "one of two records on average, much noise: samples are often empty, and rounds can be compared",
			setting: among(1, setting{clients: 2, rounds: 8, size: 1, sigma: 8}),
			also:    []statistic{spread, loud, apart},
			share:   5,
		},
		{
			name:    "shard",
			about:   "one client of three holds each record, half of a client's records in a round on average",
			setting: among(11, setting{partition: data.Shard, clients: 3, rounds: 4, size: 2, places: 4, sigma: 1}),
			share:   5,
		},
		{
			name:  "replaced",
			about: "samples of two records of four, of a fixed size; the canary is replaced by its opposite",
			setting: among(3, setting{clients: 2, rounds: 3, size: 2, sigma: 2, sampling: dp.FixedSize,
				neighbour: orthogonal(3, []float32{-loudCanary, 0})}),
			share: 5,
		},
		{
			name:    "allocated",
			about:   "random allocation: each record is in one of the four rounds of an epoch",
			setting: among(7, setting{clients: 2, rounds: 8, size: 2, sigma: 1, sampling: dp.Allocation, batches: 4}),
			share:   5,
		},
		{
			name:    "person",
			about:   "a person has two of four records, half of them in a round on average; the claim is for the person",
			setting: among(2, setting{data: ofPersons(), clients: 2, rounds: 4, size: 2, places: 4, sigma: 2, group: 2}),
			share:   5,
		},
		{
			name:    "adapted",
			about:   "clients of unequal speed adapt their sample sizes, four of 16 records at first",
			setting: among(15, setting{clients: 3, rounds: 4, size: 4, sigma: 2, adapts: true}),
			share:   10,
		},
		{
			name: "storm",
			about: "clients leave and return, messages are lost, sent again or duplicated; half of the records " +
				"in a round",
			setting: among(3, setting{clients: 3, rounds: 4, size: 2, sigma: 2, storm: true}),
			share:   10,
		},
		{
			name:    "lenet",
			about:   "like full-batch, with LeNet-5, random images and its 61,706 parameters",
			setting: network(),
			share:   200,
			least:   20,
		},
	}, nil
}

// network returns the setting that trains a network, with three images of random pixels, all of them in every
// round.
func network() setting {
	const images, side = 3, 28
	d := &data.Dataset{
		Name: "noise", Features: side * side, Classes: 10, Label: []int32{3, 1, 4}, Synthetic: true,
		Images: &data.Images{Channels: 1, Height: side, Width: side, Mean: []float32{0.5}, Std: []float32{0.25}},
	}
	pixels := rng.New(0).Stream(rng.Synthetic, 0, 0)
	for range images * side * side {
		d.Images.Pixels = append(d.Images.Pixels, byte(pixels.IntN(256)))
	}
	return setting{
		model: pinned{lenet.NewReLU()}, data: d,
		partition: data.Replicate, clients: 2, rounds: 2, size: images, places: images, sigma: 2,
	}
}

// logistic returns the probe that trains logistic regression. At w = 0 the gradient of a record (x, y)
// is (1/2 − y)·(x, 1). The gradient of the canary has norm 5.
func logistic() (probe, error) {
	m, err := logreg.NewPlain(1)
	if err != nil {
		return probe{}, err
	}
	d := gradients(1, []float32{loudCanary}, []float32{1.5}, []float32{1.5})
	d.Label[0] = 1
	return probe{
		name:  "logreg",
		about: "like full-batch, with logistic regression and its own clipping",
		setting: setting{
			model: m, data: d,
			partition: data.Replicate, clients: 2, rounds: 3, size: 3, places: 3, sigma: 2,
		},
		share: 2,
	}, nil
}

func gradients(features int, rows ...[]float32) *data.Dataset {
	d := &data.Dataset{Name: "gradients", Features: features, Classes: 2, Label: make([]int32, len(rows)),
		Start: []int{0}, Synthetic: true}
	for _, row := range rows {
		for c, v := range row {
			if v != 0 {
				d.Index, d.Value = append(d.Index, int32(c)), append(d.Value, v)
			}
		}
		d.Start = append(d.Start, len(d.Index))
	}
	return d
}

// among completes the setting s. Unless s says otherwise, its data are a canary of length loudCanary and n records whose
// gradients are orthogonal to it, and every client holds all of them.
func among(n int, s setting) setting {
	s.model = linear{2}
	if s.data == nil {
		s.data = orthogonal(n, []float32{loudCanary, 0})
	}
	s.partition, s.places = cmp.Or(s.partition, data.Replicate), cmp.Or(s.places, n+1)
	return s
}

// ofPersons returns a data set of two canaries of one person, and of two records of others.
func ofPersons() *data.Dataset {
	d := gradients(2, []float32{loudCanary, 0}, []float32{loudCanary, 0}, []float32{0, 1}, []float32{0, 1})
	d.Person = []data.PersonKey{{0}, {0}, {1}, {2}}
	return d
}

// orthogonal returns a data set of the given canary and of n records whose gradients are orthogonal to it.
func orthogonal(n int, canary []float32) *data.Dataset {
	return gradients(2, append([][]float32{canary}, slices.Repeat([][]float32{{0, 1}}, n)...)...)
}
