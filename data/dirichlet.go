package data

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"proactivedp/rng"
)

const dirichlet = "dirichlet:"

// MinAlpha and MaxAlpha are the limits of the parameter alpha of a [Dirichlet] partition, which says how much the
// labels of different clients differ. A small alpha makes them very different, a large one makes them alike.
const (
	MinAlpha = 1e-3
	MaxAlpha = 1e6
)

// Dirichlet returns a partition that simulates clients whose data differ. Like [Shard], it deals the rows into
// disjoint parts of equal size, but each client has its own proportions of labels. They are drawn from the symmetric
// Dirichlet distribution with concentration alpha in [MinAlpha, MaxAlpha]: the smaller alpha, the fewer classes a
// client has (Hsu, Qi, Brown, "Measuring the Effects of Non-Identical Data Distribution for Federated Visual
// Classification", 2019). The clients take one row in turn. The class of the row is drawn at random with the client's
// proportions, among the classes that still have rows.
//
// Use it for simulations only. Which client gets a record depends on the labels of all records, and ε does not cover
// this. The theory of the Proactive DP paper assumes that the data of all clients have the same distribution.
func Dirichlet(alpha float64) Partition {
	return Partition(dirichlet + strconv.FormatFloat(alpha, 'g', -1, 64))
}

// Skewed reports whether p gives clients different distributions of labels, as only a [Dirichlet] partition does.
// Reports of such a training warn of it, because the Proactive DP paper assumes that the data of all clients have the
// same distribution.
func (p Partition) Skewed() bool {
	_, skewed := p.alpha()
	return skewed
}

// alpha returns the concentration. ok is false if p is no Dirichlet partition.
func (p Partition) alpha() (float64, bool) {
	text, named := strings.CutPrefix(string(p), dirichlet)
	alpha, err := strconv.ParseFloat(text, 64)
	return alpha, named && err == nil && alpha >= MinAlpha && alpha <= MaxAlpha
}

// dealSkewed deals the rows of train to the parts, equally many to each, with label proportions
// that are drawn for each part.
func dealSkewed(parts []Subset, train Subset, alpha float64, root *rng.Root) {
	size := train.Len() / len(parts)
	pools := make([][]int32, train.Data.Classes) // the remaining rows of each class, in random order
	rows := slices.Clone(train.Rows)
	rng.Shuffle(root.Stream(rng.Partition, 0, 0), rows)
	for _, r := range rows {
		class := train.Data.Label[r]
		pools[class] = append(pools[class], r)
	}
	weights := make([][]float64, len(parts)) // the probability that a client takes a class
	var stream rng.Stream
	for c := range parts {
		root.Reseed(&stream, rng.Labels, uint32(c), 0)
		weights[c] = proportions(&stream, alpha, len(pools))
	}
	draws := root.Stream(rng.Labels, 0, 1)
	dealt := make([][]int32, len(parts))
	for range size {
		for c := range parts {
			class := pick(draws, weights[c], pools)
			last := len(pools[class]) - 1
			dealt[c] = append(dealt[c], pools[class][last])
			pools[class] = pools[class][:last]
		}
	}
	for c := range parts {
		slices.Sort(dealt[c])
		parts[c] = Subset{train.Data, dealt[c]}
	}
}

// proportions draws from the symmetric Dirichlet distribution: Gamma(α) numbers divided by their
// sum. It uses logarithms, because the numbers may be tiny.
func proportions(s *rng.Stream, alpha float64, classes int) []float64 {
	p := make([]float64, classes)
	for i := range p {
		p[i] = s.LogGamma(alpha)
	}
	largest, sum := slices.Max(p), 0.0
	for i := range p {
		p[i] = math.Exp(p[i] - largest)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// pick draws a class by weight among those with remaining rows. If all their weights are 0, it
// draws by the number of remaining rows.
func pick(s *rng.Stream, weights []float64, pools [][]int32) int {
	weight := func(class int) float64 {
		if len(pools[class]) == 0 {
			return 0
		}
		return weights[class]
	}
	total := 0.0
	for class := range pools {
		total += weight(class)
	}
	if total == 0 {
		weight = func(class int) float64 { return float64(len(pools[class])) }
		for class := range pools {
			total += weight(class)
		}
	}
	at, chosen := s.Float64()*total, -1
	for class := range pools {
		w := weight(class)
		if w == 0 {
			continue
		}
		chosen = class // rounding may leave at above the last weight; then the last class is taken
		if at -= w; at < 0 {
			break
		}
	}
	return chosen
}
