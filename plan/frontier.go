package plan

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/internal/decimal"
)

// Frontier is a table for choosing a batch size: for several batch sizes, the number of rounds and the least noise
// multiplier σ that meets the budget. The number of records, the epochs, ε and δ are those of a plan, and the same in
// all rows.
//
// Use [Plan.Frontier] to make a Frontier. The methods of any other Frontier return an error or, if they have no error
// result, may panic.
type Frontier struct {
	N          int     `json:"n"`
	Epochs     float64 `json:"epochs"`
	Theta      float64 `json:"theta"`   // largest batch size divided by the mean batch size; 1 if sizes are constant
	Epsilon    float64 `json:"epsilon"` // ε of the budget, for all rounds that use a record, of all clients that hold it
	Delta      float64 `json:"delta"`
	Accountant string  `json:"accountant"` // name of the accountant that computed the σ of the rows (their fields AddOrRemove and ReplaceOne)

	Sampling dp.Sampling `json:"sampling"`
	// Redraw says, for Allocation only, whether each epoch assigns the records to rounds anew.
	Redraw dp.Redraw `json:"redraw,omitempty"`
	Group  int       `json:"group,omitempty"` // k > 1 if ε protects a person with up to k records; otherwise 0
	Rows   []Row     `json:"rows"`
}

// Row is one batch size of a [Frontier]. Rows are in increasing order of size. ClosedForm, AddOrRemove and ReplaceOne
// are the least noise multipliers σ within the budget: by the paper's theorem, and by the accountant given to
// [Plan.Frontier] under each of the two adjacencies. They are nil if no σ meets the budget, or if the theorem or the
// accountant does not cover the row.
type Row struct {
	SampleSize  int      `json:"sample_size"` // batch size s; the mean batch size if batch sizes vary
	Rounds      int      `json:"rounds"`      // number of rounds T = ⌈K/s⌉, to compute K gradients (k epochs of N records)
	SampleRate  float64  `json:"sample_rate"` // sample rate s/N; for random allocation 1/t, with t rounds in an epoch
	ClosedForm  *float64 `json:"sigma_closed_form"`
	AddOrRemove *float64 `json:"sigma_add_or_remove"`
	ReplaceOne  *float64 `json:"sigma_replace_one"`

	// Computations is the number of gradients that the rounds compute, sT. Signal is the size of the summed gradients
	// compared with the noise, as a fraction of that of full batches (see [Batch]). It is computed with the least σ
	// of the accountant given to [Plan.Frontier] under the plan's adjacency, and nil if there is no such σ.
	Computations int      `json:"grad_computations"` // sT
	Signal       *float64 `json:"signal"`
}

// smallest is the ratio of the plan's sample size to the least size of a Frontier. Below that size, smaller
// samples in more rounds hardly need less noise.
const smallest = 32

// MaxPoints is the largest value of the argument points of [Plan.Frontier]: the number of batch sizes, to which the plan's
// own is added.
const MaxPoints = 1000

// Frontier returns a table with the least noise multiplier for each of several batch sizes, within the budget of p.
// points, in [1, MaxPoints], is about the number of sizes. They form a geometric grid, to which the plan's own size
// is added. The grid begins at 1/32 of the plan's batch size, or at 1 if the plan has no run. It ends at the number
// of records N or the number of gradients K, whichever is less. acc is the accountant that computes the least noise
// multipliers under add-or-remove and under replace-one adjacency; those in the column ClosedForm are by the paper's
// theorem.
func (p *Plan) Frontier(ctx context.Context, acc dp.Accountant, points int) (*Frontier, error) {
	if err := p.made(); err != nil {
		return nil, err
	}
	if err := dp.CheckCount("points", points, 1, MaxPoints); err != nil {
		return nil, err
	}
	f := &Frontier{N: p.N, Epochs: p.Epochs, Theta: p.Theta, Epsilon: p.budget(), Delta: p.Delta,
		Accountant: acc.Name(), Sampling: p.Sampling, Redraw: p.Redraw, Group: p.Group}
	k := epochsCount(p.Epochs, p.N)
	if p.Epsilon == 0 || isTooLittle(p.Epochs, p.N) || p.Theta > float64(p.N) {
		return nil, fmt.Errorf("epsilon = %v, K = %d and theta = %v, must be positive and θ at most N for a "+
			"frontier", p.Epsilon, k, p.Theta)
	}
	theorem := *p
	theorem.Adjacency, theorem.Method = dp.AddOrRemove, ClosedForm
	columns := []calculator{
		newCalculator(&theorem, theorem.priceByForm(closedform.Corrected, p.copies()), p.budget()),
		p.under(ctx, acc, dp.AddOrRemove),
		p.under(ctx, acc, dp.ReplaceOne),
	}
	most, own := min(columns[0].largestMean(), k), 1
	if p.Run != nil {
		own = p.Run.SampleSize
	}
	sizes := append(geometric(max(own/smallest, 1), most, points), min(own, most))
	if p.Sampling == dp.Allocation {
		for i, s := range sizes {
			if t := p.batchesOf(s); t == p.batches && p.Run != nil {
				sizes[i] = own
			} else {
				sizes[i] = sizeIn(p.N, t)
			}
		}
	}
	slices.Sort(sizes)
	f.Rows = make([]Row, 0, len(sizes))
	off := []float64{1, 1, 1} // for each column, the last σ found over its first guess
	for _, s := range slices.Backward(slices.Compact(sizes)) {
		row := Row{SampleSize: s, Rounds: p.roundsOf(k, s), SampleRate: float64(s) / float64(p.N)}
		if p.Sampling == dp.Allocation {
			row.SampleRate = 1 / float64(p.batchesOf(s))
		}
		row.Computations = s * row.Rounds
		for i, sigma := range []**float64{&row.ClosedForm, &row.AddOrRemove, &row.ReplaceOne} {
			if _, err := columns[i].p.event(1, s, 1).Scheme(); err != nil || i == 0 && !theorem.hasTheorem() {
				continue
			}
			guess := columns[i].startNoise(s, row.Rounds)
			solve := func() (stop, error) {
				return columns[i].noiseBy(ctx, columns[i].noiseDial(off[i]*guess, s, row.Rounds), s, row.Rounds)
			}
			if p.Run != nil && s == p.Run.SampleSize && row.Rounds == p.Run.Rounds {
				// As Solve and Tighten do, so that one run has one least σ to the last digit.
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
			row.Signal = p.signalAt(columns[1].limit().mu, *tight, s, row.Rounds)
		}
		f.Rows = append(f.Rows, row)
	}
	slices.Reverse(f.Rows)
	return f, nil
}

// geometric returns about the given number of distinct integers in [least, most], in increasing order
// and with equal ratios as far as possible. least must be at least 1. The result is empty if most <
// least.
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

// WriteCSV writes a header with the JSON keys of [Row], and one line for each row. A nil value is an empty
// cell.
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

func (f *Frontier) made() error { return made(f != nil && f.N >= 1, "Frontier", "Plan.Frontier") }
