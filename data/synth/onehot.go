package synth

import (
	"proactivedp/data"
	"proactivedp/rng"
)

// OneHot returns "synth-drawn", a random data set with the given number of rows, drawn from root, for tests and
// examples. Training on it takes only moments. Its rows have 10 attributes of two levels each, one-hot coded in 20
// features, in two classes that are nearly separable. It resembles no real data set.
func OneHot(root *rng.Root, rows int) *data.Dataset {
	s := root.Stream(rng.Synthetic, 9, 0)
	d := &data.Dataset{Name: "synth-drawn", Features: 20, Classes: 2, Start: []int{0}, Synthetic: true}
	for range rows {
		z := 0.0
		for a := range 10 {
			level := s.IntN(2)
			z += float64(2*level-1) * float64(a%3)
			d.Index = append(d.Index, int32(2*a+level))
			d.Value = append(d.Value, 0.3)
		}
		d.Start = append(d.Start, len(d.Index))
		label := int32(0)
		if z+s.Normal() > 0 {
			label = 1
		}
		d.Label = append(d.Label, label)
	}
	return d
}
