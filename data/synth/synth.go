// Package synth generates random data sets of the same shape as the real ones (stand-ins), for use when the real ones
// are not available. Stand-ins contain nobody's data. Dataset.Synthetic is set, and every result that is computed
// from them says so.
//
//	d, err := synth.Make("synth-mnist:7000", rng.New(1))
//
// The tables resemble the real ones. A row has categorical attributes with skewed frequencies, one-hot coded.
// Attributes depend on each other: each row has one random number u in [0, 1), and with some probability an attribute
// takes the level at the quantile u of its distribution instead of an independent one.
//
// Labels follow a logistic model: P(label = 1) = 1/(1+exp(-a·(z-z₀))), where z is the sum of one normal
// weight for each level of the row. The constants are computed from the generated rows: z₀ such that the
// classes are as balanced as in the real set, and a such that the best possible accuracy equals the
// accuracy that is possible on the real set.
package synth

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"proactivedp/data"
	"proactivedp/internal/root"
	"proactivedp/rng"
)

// shape describes a stand-in.
type shape struct {
	name     string
	place    uint32 // place of its random streams; part of the meaning of a seed
	rows     int
	levels   []int   // number of levels of each attribute
	value    float32 // value of every stored entry
	positive float64 // the share of class 1
	bayes    float64 // the accuracy of the teacher, the best possible
}

func phishing() shape {
	// UCI's 30 attributes have 68 values together: 22 have two and 8 have three. The order does not
	// matter, because all weights have the same distribution.
	return shape{
		name:     "synth-phishing",
		place:    0,
		rows:     11055,
		levels:   slices.Concat(slices.Repeat([]int{2}, 22), slices.Repeat([]int{3}, 8)),
		value:    0.18257, // 1/√30, as in LIBSVM's file
		positive: 6157. / 11055,
		bayes:    0.94,
	}
}

func mushrooms() shape {
	return shape{
		name:  "synth-mushrooms",
		place: 1,
		rows:  8124,
		// The number of values that occur for each of UCI's attributes, in order, without
		// stalk-root.
		levels:   []int{6, 4, 10, 2, 9, 2, 2, 2, 12, 2, 4, 4, 9, 9, 1, 4, 3, 5, 9, 6, 7},
		value:    1,
		positive: 4208. / 8124,
		bayes:    0.99,
	}
}

func shapes() []shape { return []shape{phishing(), mushrooms()} }

// Phishing returns "synth-phishing", drawn from root: a stand-in for the data set phishing with 11,055 rows of 68
// features. In each row 30 features are 0.18257 (about 1/√30, so that the row has norm 1), and the others are 0.
// About 56 % of the rows are in class 1. The best possible accuracy is 0.94.
func Phishing(root *rng.Root) *data.Dataset {
	d, _ := phishing().draw(root)
	return d
}

// Names returns the names of the stand-ins (random data sets with the shape of real ones) that [Make] generates.
func Names() []string {
	var names []string
	for _, s := range shapes() {
		names = append(names, s.name)
	}
	for _, p := range pictures() {
		names = append(names, p.name)
	}
	return names
}

// Is reports whether name has the form of a stand-in's name: one of [Names], such as "synth-mnist", possibly with a
// colon and more text after it. [Check] also checks the text after the colon.
func Is(name string) bool {
	base, _, _ := strings.Cut(name, ":")
	return slices.Contains(Names(), base)
}

// StandsInFor returns the name of the real data set that the stand-in name replaces: "mnist" for "synth-mnist" and
// for "synth-mnist:700". It returns any other name unchanged.
func StandsInFor(name string) string {
	real, standIn := strings.CutPrefix(name, "synth-")
	if standIn {
		real, _, _ = strings.Cut(real, ":")
	}
	return real
}

// Check returns the error that [Make] would return for this name of a stand-in: for an unknown name, or a number of
// rows outside [MinRows, MaxRows]. It generates nothing, so use it to check a setting early.
func Check(name string) error {
	_, err := find(name)
	return err
}

// Make returns the stand-in with this name, one of [Names], drawn from root: a random data set with the shape of a
// real one. After the name of a stand-in for images, a colon and the number of rows may follow, as in
// "synth-mnist:7000"; otherwise it has as many rows as the real set. For an unknown name, the error lists the names.
// The zero rng.Root is an error.
func Make(name string, root *rng.Root) (*data.Dataset, error) {
	found, err := find(name)
	if err != nil {
		return nil, err
	}
	if err := root.Check(); err != nil {
		return nil, fmt.Errorf("data set = %q: %w", name, err)
	}
	d := found.draw(root)
	d.Name = name
	return d, nil
}

// Bytes returns how many bytes of memory the result of [Make] with this name needs, without generating it. It returns
// an error for an unknown name.
func Bytes(name string) (int64, error) {
	found, err := find(name)
	return found.bytes, err
}

// drawn is a stand-in that has not been generated yet.
type drawn struct {
	bytes int64
	draw  func(*rng.Root) *data.Dataset
}

// The bytes of a row without its content (label and offset), and of an entry.
const rowBytes, entryBytes = 4 + 8, 4 + 4

func find(name string) (drawn, error) {
	base, count, sized := strings.Cut(name, ":")
	for _, s := range shapes() {
		if s.name == name {
			return drawn{int64(s.rows * (rowBytes + entryBytes*len(s.levels))), func(root *rng.Root) *data.Dataset {
				d, _ := s.draw(root)
				return d
			}}, nil
		}
		if s.name == base {
			return drawn{}, fmt.Errorf("data set = %q, must be %q, which always has as many rows as the real data set", name,
				base)
		}
	}
	for _, p := range pictures() {
		if p.name != base {
			continue
		}
		rows := p.rows
		if sized {
			// Text that is not a number becomes 0, which is too small.
			if rows, _ = strconv.Atoi(count); rows < MinRows || rows > MaxRows {
				return drawn{}, fmt.Errorf("%s: rows = %q, must be in [%d, %d]", base, count, MinRows, MaxRows)
			}
		}
		return drawn{int64(rows * (rowBytes + p.channels*p.side*p.side)), func(root *rng.Root) *data.Dataset {
			return p.make(root, rows)
		}}, nil
	}
	return drawn{}, fmt.Errorf("data set = %q, must be one of %q", name, Names())
}

// skew is the exponent of the level frequencies: the frequency of the k-th most frequent level is
// proportional to k^-skew.
const skew = 1.5

// shared is the probability that an attribute follows its row's quantile. The labels then follow
// the direction in which rows vary most, so learning takes about as long as on the real sets.
const shared = 0.45

// The streams of a data set, which are rounds of rng.Synthetic.
const (
	attributeStream = iota
	rowStream
	labelStream
)

// attribute is a categorical attribute, coded in columns that begin at first.
type attribute struct {
	first      int
	cumulative []float64 // cumulative frequencies of the levels, up to 1
	weight     []float64 // the teacher's weight of each level
}

// draw returns the data set, and the probability of class 1 for each row.
func (s shape) draw(root *rng.Root) (*data.Dataset, []float64) {
	attributes, width := s.attributes(root.Stream(rng.Synthetic, s.place, attributeStream))
	entries := s.rows * len(attributes)
	d := &data.Dataset{
		Name:      s.name,
		Features:  width,
		Classes:   2,
		Label:     make([]int32, s.rows),
		Start:     make([]int, s.rows+1),
		Index:     make([]int32, 0, entries),
		Value:     slices.Repeat([]float32{s.value}, entries),
		Synthetic: true,
	}
	score := make([]float64, s.rows)
	rows := root.Stream(rng.Synthetic, s.place, rowStream)
	for i := range s.rows {
		common := rows.Float64()
		for _, a := range attributes {
			quantile := rows.Float64()
			if rows.Float64() < shared {
				quantile = common
			}
			level := 0
			for a.cumulative[level] < quantile { // the last one is 1
				level++
			}
			d.Index = append(d.Index, int32(a.first+level))
			score[i] += a.weight[level]
		}
		d.Start[i+1] = len(d.Index)
	}
	p := s.teach(score)
	labels := root.Stream(rng.Synthetic, s.place, labelStream)
	for i := range p {
		if labels.Float64() < p[i] {
			d.Label[i] = 1
		}
	}
	return d, p
}

// attributes draws level frequencies, in random order, and the teacher's weights.
func (s shape) attributes(stream *rng.Stream) (all []attribute, width int) {
	for _, levels := range s.levels {
		a := attribute{first: width, cumulative: make([]float64, levels), weight: make([]float64, levels)}
		for k := range levels {
			a.cumulative[k] = math.Pow(float64(k+1), -skew)
		}
		rng.Shuffle(stream, a.cumulative)
		sum := 0.0
		for k, f := range a.cumulative {
			sum += f
			a.cumulative[k] = sum
			a.weight[k] = stream.Normal()
		}
		slices.Sort(a.weight) // a high quantile makes class 1 more likely
		for k := range a.cumulative {
			a.cumulative[k] /= sum // after division, the last one is exactly 1
		}
		all = append(all, a)
		width += levels
	}
	return all, width
}

// teach turns scores into probabilities of class 1. The threshold is the quantile of the scores at
// the required share. The scale is solved for the required accuracy, which grows with it from 1/2
// to 1.
func (s shape) teach(score []float64) []float64 {
	sorted := slices.Sorted(slices.Values(score))
	threshold := sorted[int((1-s.positive)*float64(len(sorted)))]
	p := make([]float64, len(score))
	accuracy := func(scale float64) float64 {
		for i, z := range score {
			p[i] = 1 / (1 + math.Exp(-scale*(z-threshold)))
		}
		return bayes(p)
	}
	lo, hi, err := root.Bracket(func(a float64) float64 { return accuracy(a) - s.bayes }, 0, 1)
	if err == nil {
		var scale float64
		scale, err = root.Find(func(a float64) float64 { return accuracy(a) - s.bayes }, lo, hi, 1e-12)
		accuracy(scale)
	}
	if err != nil {
		panic("synth: " + s.name + ": " + err.Error()) // all scores are equal
	}
	return p
}

// bayes returns the accuracy of the best classifier on rows whose probabilities of class 1 are p.
func bayes(p []float64) float64 {
	sum := 0.0
	for _, v := range p {
		sum += max(v, 1-v)
	}
	return sum / float64(len(p))
}
