package plan

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/internal/decimal"
)

// Frontier is the trade of sample size against noise against rounds, for one
// (N, k, ε, δ): each row's σ is the least within the budget, that which the plan was
// allowed.
//
// A Frontier is made by Plan.Frontier. The methods of any other return an error or, if they
// have none to return, may panic.
type Frontier struct {
	N          int     `json:"n"`
	Epochs     float64 `json:"epochs"`
	Theta      float64 `json:"theta"`
	Epsilon    float64 `json:"epsilon"` // the budget of a record
	Delta      float64 `json:"delta"`
	Accountant string  `json:"accountant"` // by which the tight columns are found
	Rows       []Row   `json:"rows"`
}

// Row is one sample size of a Frontier, in increasing order. A σ that does not
// exist, or that the accountant has no answer for, is nil.
type Row struct {
	SampleSize  int      `json:"sample_size"` // s, the mean if θ > 1
	Rounds      int      `json:"rounds"`      // T = ⌈K/s⌉
	SampleRate  float64  `json:"sample_rate"` // s/N
	ClosedForm  *float64 `json:"sigma_closed_form"`
	AddOrRemove *float64 `json:"sigma_add_or_remove"`
	ReplaceOne  *float64 `json:"sigma_replace_one"`

	// Signal is what a size keeps of the full-batch signal with the tight σ under the plan's
	// adjacency, see [Batch]; nil without that σ.
	Computations int      `json:"grad_computations"` // sT
	Signal       *float64 `json:"signal"`
}

// smallest is how far, as a quotient, a Frontier goes below the plan's own
// sample size: below it is the range where many rounds buy hardly less noise.
const smallest = 32

// MaxPoints is how many sizes a Frontier may be asked for.
const MaxPoints = 1000

// Frontier returns the rows for about the given number of sizes, in [1, MaxPoints], in a
// geometric grid up to N or K, whatever is less, and from a thirty-second of the plan's
// own size, which is among them; from 1 if the plan has no run. acc gives the
// columns AddOrRemove and ReplaceOne.
func (p *Plan) Frontier(ctx context.Context, acc dp.Accountant, points int) (*Frontier, error) {
	if err := p.made(); err != nil {
		return nil, err
	}
	if points < 1 || points > MaxPoints {
		return nil, fmt.Errorf("points = %d, must be in [1, %d]", points, MaxPoints)
	}
	f := &Frontier{N: p.N, Epochs: p.Epochs, Theta: p.Theta, Epsilon: p.budget(), Delta: p.Delta,
		Accountant: acc.Name()}
	k := epochsCount(p.Epochs, p.N)
	if p.Epsilon == 0 || isTooLittle(p.Epochs, p.N) || p.Theta > float64(p.N) {
		return nil, fmt.Errorf("epsilon = %v, K = %d and theta = %v, must be positive and θ at most N for a "+
			"frontier", p.Epsilon, k, p.Theta)
	}
	theorem := *p
	theorem.Adjacency, theorem.Method = dp.AddOrRemove, ClosedForm
	columns := []calculator{
		{&theorem, theorem.priceByForm(closedform.Corrected, p.copies()), p.budget(), nil},
		p.under(ctx, acc, dp.AddOrRemove),
		p.under(ctx, acc, dp.ReplaceOne),
	}
	most, own := min(columns[0].largestMean(), k), 1
	if p.Run != nil {
		own = p.Run.SampleSize
	}
	sizes := append(geometric(max(own/smallest, 1), most, points), min(own, most))
	slices.Sort(sizes)
	f.Rows = make([]Row, 0, len(sizes))
	off := []float64{1, 1, 1} // the last σ of each column over its first guess
	for _, s := range slices.Backward(slices.Compact(sizes)) {
		row := Row{SampleSize: s, Rounds: roundsOf(k, s), SampleRate: float64(s) / float64(p.N)}
		row.Computations = s * row.Rounds
		for i, sigma := range []**float64{&row.ClosedForm, &row.AddOrRemove, &row.ReplaceOne} {
			guess := columns[i].startNoise(s, row.Rounds)
			solve := func() (stop, error) {
				return columns[i].noiseBy(ctx, columns[i].noiseDial(off[i]*guess, s, row.Rounds), s, row.Rounds)
			}
			if p.Run != nil && s == p.Run.SampleSize && row.Rounds == p.Run.Rounds {
				if least := p.leastNoise(i, acc); least != nil {
					*sigma = &least.Sigma
					continue
				}
				// As Tighten does, so that one run has one least σ to the last digit.
				solve = func() (stop, error) { return columns[i].noise(ctx, s, row.Rounds) }
			}
			found, err := solve()
			if err != nil {
				return nil, ended(ctx, err)
			}
			if found.met {
				*sigma, off[i] = &found.value, found.value/guess
			}
		}
		tight := row.AddOrRemove
		if p.Adjacency == dp.ReplaceOne {
			tight = row.ReplaceOne
		}
		if tight != nil {
			row.Signal = p.signalAt(p.budget(), *tight, s, row.Rounds)
		}
		f.Rows = append(f.Rows, row)
	}
	slices.Reverse(f.Rows)
	return f, nil
}

// leastNoise returns what Tighten found by the accountant for the plan's own run and column
// 1 or 2 of a frontier; nil if nothing.
func (p *Plan) leastNoise(column int, acc dp.Accountant) *Setting {
	switch {
	case p.Tight == nil || p.Tight.Accountant != acc.Name():
	case column == 1:
		return p.Tight.AddOrRemove.LeastNoise
	case column == 2:
		return p.Tight.ReplaceOne.LeastNoise
	}
	return nil
}

// geometric returns about points whole numbers from least ≥ 1 to most, each
// once, in order and with equal quotients where that can be; none if most is
// below least.
func geometric(least, most, points int) []int {
	var grid []int
	quotient := float64(most) / float64(least)
	for i := range points {
		v := int(math.Round(float64(least) * math.Pow(quotient, float64(i)/float64(max(points-1, 1)))))
		if v >= least && v <= most && (len(grid) == 0 || v > grid[len(grid)-1]) {
			grid = append(grid, v)
		}
	}
	return grid
}

// WriteCSV writes the rows with a header of their JSON keys; what is nil is
// empty.
func (f *Frontier) WriteCSV(w io.Writer) error {
	if err := f.made(); err != nil {
		return err
	}
	out := csv.NewWriter(w)
	out.Write([]string{"sample_size", "rounds", "sample_rate", "sigma_closed_form", "sigma_add_or_remove",
		"sigma_replace_one", "grad_computations", "signal"})
	number := func(v *float64) string {
		if v == nil {
			return ""
		}
		return decimal.Exactly(*v)
	}
	for _, r := range f.Rows {
		out.Write([]string{
			strconv.Itoa(r.SampleSize), strconv.Itoa(r.Rounds), number(&r.SampleRate),
			number(r.ClosedForm), number(r.AddOrRemove), number(r.ReplaceOne), strconv.Itoa(r.Computations), number(r.Signal),
		})
	}
	out.Flush()
	return out.Error()
}

// made reports that there is no frontier.
func (f *Frontier) made() error {
	if f == nil || f.N < 1 {
		return errors.New("this Frontier was not made by Plan.Frontier")
	}
	return nil
}
