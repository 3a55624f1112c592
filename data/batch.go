package data

import "slices"

// Batch is an ordered list of rows of a data set, such as the examples of one training step. The field Rows has the
// numbers of the rows. The slice belongs to the caller, who must not change it while the batch is in use.
type Batch struct {
	Data *Dataset
	Rows []int32
}

// Len returns the number of examples in the batch.
func (b Batch) Len() int { return len(b.Rows) }

// Example returns the features of example i of the batch and its label. It panics if the data set has images: use
// [Batch.Image].
func (b Batch) Example(i int) (Row, int32) { return b.Data.Row(int(b.Rows[i])), b.Label(i) }

// Image returns the pixels of example i of the batch, if the data set has images: see [Images.Image].
func (b Batch) Image(i int) []byte { return b.Data.Images.Image(int(b.Rows[i])) }

// Label returns the label of example i of the batch: its class, from 0.
func (b Batch) Label(i int) int32 { return b.Data.Label[b.Rows[i]] }

// Subset is a part of a data set's rows, such as the training rows, the test rows, or one client's rows.
type Subset struct {
	Data *Dataset
	Rows []int32 // the row numbers in Data, each at most once
}

// All returns a [Subset] with all rows of d, in order.
func (d *Dataset) All() Subset { return Subset{d, sequence(d.Len())} }

// Len returns the number of rows of the subset.
func (s Subset) Len() int { return len(s.Rows) }

// MajorityShare returns the share, in [0, 1], of the rows that have the most frequent label, and 0 if there are no
// rows. It is the accuracy of always predicting that label.
func (s Subset) MajorityShare() float64 {
	if s.Len() == 0 {
		return 0
	}
	return float64(slices.Max(s.ClassCounts())) / float64(s.Len())
}

// ClassCounts returns the number of rows of s in each class: element c is that of class c.
func (s Subset) ClassCounts() []int {
	counts := make([]int, s.Data.Classes)
	for _, r := range s.Rows {
		counts[s.Data.Label[r]]++
	}
	return counts
}

// All returns one [Batch] with all rows of s, in order.
func (s Subset) All() Batch { return Batch(s) }

// Batch returns some rows of s as a [Batch]. positions has their places in s, each in [0, s.Len()), such as those
// that dp.Mechanism.Sample draws. To save memory, Batch overwrites positions with row numbers of the data set, and
// uses this slice as the batch's Rows.
func (s Subset) Batch(positions []int32) Batch {
	for i, p := range positions {
		positions[i] = s.Rows[p]
	}
	return Batch{Data: s.Data, Rows: positions}
}
