package synth

import (
	"fmt"
	"math"

	"proactivedp/data"
	"proactivedp/rng"
)

// TableShape says how large a random table for [Table] or [Numbers] is, and how hard its labels are to learn.
type TableShape struct {
	// Rows is in [MinRows, MaxRows], and Features in [1, 16384], with at most 2^28 values (Rows·Features). Classes is in
	// [2, MaxTableClasses], or 0 for [Numbers].
	Rows, Features, Classes int
	// Share, in [0, 1), is the probability of class 0. The other classes share the rest equally. 0 means that all
	// classes are equally frequent.
	Share float64
	// Noise, in [0, 1), is the probability that a label is independent of the features of its row. For [Numbers], it is
	// instead the fraction of the targets' variance that comes from random errors and not from the features.
	Noise float64
}

// MaxTableClasses is the largest number of classes of a TableShape.
const MaxTableClasses = 1000

// The other ranges of a TableShape. They bound the memory of a table.
const (
	maxTableFeatures = 1 << 14
	maxTableEntries  = 1 << 28
)

// Validate returns an error if a field of s is outside its range, for example Rows outside [MinRows, MaxRows].
func (s TableShape) Validate() error {
	if s.Rows < MinRows || s.Rows > MaxRows || s.Features < 1 || s.Features > maxTableFeatures || s.Classes < 2 ||
		s.Classes > MaxTableClasses || s.Rows*s.Features > maxTableEntries {
		return fmt.Errorf("%d rows of %d features in %d classes, must be in [%d, %d], [1, %d] and [2, %d], with at most %d "+
			"entries", s.Rows, s.Features, s.Classes, MinRows, MaxRows, maxTableFeatures, MaxTableClasses, maxTableEntries)
	}
	if !(s.Share >= 0 && s.Share < 1) || !(s.Noise >= 0 && s.Noise < 1) {
		return fmt.Errorf("share = %v and noise = %v, must be in [0, 1)", s.Share, s.Noise)
	}
	return nil
}

// informative is the part of a table's features that differ between the classes, and apart how far
// the means of two classes are apart in such a feature, in standard deviations, for one feature. With
// more features they are closer, so that the best possible accuracy depends little on their number.
const (
	informative = 3
	apart       = 2.5
)

// Table returns a random table of the shape s with the given name, drawn from root, for tests of programs that read
// tables. All values are in [0, 1], as in a table that was scaled by public bounds. Only every third feature depends
// on the class.
func Table(root *rng.Root, name string, s TableShape) (*data.Dataset, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if err := root.Check(); err != nil {
		return nil, fmt.Errorf("table %q: %w", name, err)
	}
	useful := (s.Features + informative - 1) / informative
	means := make([]float64, s.Classes*s.Features)
	stream := root.Stream(rng.Synthetic, 10, attributeStream)
	for c := range s.Classes {
		for f := 0; f < s.Features; f += informative {
			means[c*s.Features+f] = apart / math.Sqrt(float64(useful)) * stream.Normal()
		}
	}
	rows := root.Stream(rng.Synthetic, 10, rowStream)
	d := &data.Dataset{Name: name, Features: s.Features, Classes: s.Classes, Start: []int{0}, Synthetic: true}
	d.Index, d.Value = make([]int32, 0, s.Rows*s.Features), make([]float32, 0, s.Rows*s.Features)
	for range s.Rows {
		class := s.class(rows)
		for f := range s.Features {
			value := min(0.5+0.15*(means[class*s.Features+f]+rows.Normal()), 1)
			if value > 0 {
				d.Index, d.Value = append(d.Index, int32(f)), append(d.Value, float32(value))
			}
		}
		d.Start = append(d.Start, len(d.Index))
		if rows.Float64() < s.Noise {
			class = s.class(rows)
		}
		d.Label = append(d.Label, int32(class))
	}
	return d, nil
}

// targetSpread is the standard deviation of the targets of Numbers, as a fraction of half the range of their bounds.
const targetSpread = 0.4

// Numbers returns a random table with the given name for tests of regression, drawn from root. Its targets are real
// numbers within the bounds b. All values of features are in [0, 1]. s.Classes and s.Share must be 0, because there
// are no classes. A target is a linear function of every third feature plus a normal error. s.Noise is the fraction
// of the variance of the targets that comes from this error. So the R² of a model is at most about 1 − s.Noise.
func Numbers(root *rng.Root, name string, s TableShape, b data.TargetBounds) (*data.Dataset, error) {
	if s.Classes != 0 || s.Share != 0 {
		return nil, fmt.Errorf("%d classes and share = %v of a table of numbers, must be 0", s.Classes, s.Share)
	}
	s.Classes = 2
	d, err := Table(root, name, s)
	if err != nil {
		return nil, err
	}
	weights, errors := root.Stream(rng.Synthetic, 11, attributeStream), root.Stream(rng.Synthetic, 11, rowStream)
	weight, norm := make([]float64, s.Features), 0.0
	for f := 0; f < s.Features; f += informative {
		weight[f] = weights.Normal()
		norm += weight[f] * weight[f]
	}
	sums, mean, variance := make([]float64, d.Len()), 0.0, 0.0
	for i := range sums {
		row := d.Row(i)
		for j, f := range row.Index {
			sums[i] += weight[f] * float64(row.Value[j]) / math.Sqrt(norm)
		}
		mean += sums[i] / float64(len(sums))
	}
	for _, v := range sums {
		variance += (v - mean) * (v - mean) / float64(len(sums))
	}
	for i, v := range sums {
		z := math.Sqrt(1-s.Noise)*(v-mean)/math.Sqrt(variance) + math.Sqrt(s.Noise)*errors.Normal()
		sums[i] = b.Original(targetSpread * z)
	}
	return d.WithTargets(b, sums)
}

func (s TableShape) class(from *rng.Stream) int {
	share := s.Share
	if share == 0 {
		share = 1 / float64(s.Classes)
	}
	if from.Float64() < share {
		return 0
	}
	return 1 + from.IntN(s.Classes-1)
}
