package audit

import (
	"cmp"
	"context"
	"slices"
	"time"

	"proactivedp/data"
	"proactivedp/internal/f32"
	"proactivedp/rng"
	"proactivedp/sim"
)

// OneRun is the result of an audit by a single training with many canaries. Canaries are extra records; the toss of a
// coin decided for each whether it was in the data. The adversary guessed for some of the canaries whether they were
// in the data. Canaries is the number of all canaries, Guesses the number of guesses, and Right the number of correct
// ones. Many correct guesses refute a small ε.
type OneRun struct {
	Canaries int `json:"canaries"`
	Guesses  int `json:"guesses"`
	Right    int `json:"right"`
}

// The one-run probe trains once, with many canaries. Each canary has its own direction of the gradient,
// and a coin decides whether it is in the data. Its score is the length of the releases along its
// direction. The canaries with the largest scores are guessed to be in the data, and those with the
// smallest scores to be out.
const (
	oneRunName     = "one-run"
	oneRunCanaries = 10_000
	oneRunGuesses  = 200
)

// oneRunSetting returns the setting of the probe full-batch, with the difference that every record
// is a canary.
func oneRunSetting() setting {
	rows := &data.Dataset{Name: "gradients", Features: oneRunCanaries, Classes: 2, Label: make([]int32, oneRunCanaries),
		Start: []int{0}, Synthetic: true}
	for i := range oneRunCanaries {
		rows.Index, rows.Value = append(rows.Index, int32(i)), append(rows.Value, loudCanary)
		rows.Start = append(rows.Start, len(rows.Index))
	}
	return setting{
		model: linear{oneRunCanaries}, data: rows,
		partition: data.Replicate, clients: 2, rounds: 3, size: oneRunCanaries, places: oneRunCanaries, sigma: 2,
	}
}

// oneRun trains once and guesses for each canary whether it was in the data. The p-value of the
// guesses has a term of at most 2·canaries·δ (see OneRun.pValue). So δ is chosen so small that this term is
// at most a tenth of the significance level.
func oneRun(ctx context.Context, o *Options, level float64) (Finding, error) {
	start := time.Now()
	s := oneRunSetting()
	found := newFinding(oneRunName, "many canaries in one run, each in the data by the toss of a coin", s)
	absent := make([]bool, oneRunCanaries)
	sums := make([][]float32, s.clients)
	for c := range sums {
		sums[c] = make([]float32, oneRunCanaries)
	}
	w := newWorld(oneRunName, "coins", s, absent, o, func(c *sim.Client, u []float32, _ *sim.Workspace) error {
		f32.Axpy(1, u, sums[c.ID()])
		return nil
	})
	coins := rng.New(w.seed(0)).Stream(rng.Synthetic, 0, 0)
	for i := range absent {
		absent[i] = coins.IntN(2) == 0
	}
	result, err := w.run(ctx, 1)
	if err != nil {
		return found, err
	}
	for _, sum := range sums[1:] {
		f32.Axpy(1, sum, sums[0])
	}
	g := guess(sums[0], absent, oneRunGuesses)
	delta := min(o.Delta, level/(20*oneRunCanaries))
	if err := found.claim(ctx, &outcome{cfg: w.cfg, ledgers: result.Ledgers}, delta); err != nil {
		return found, err
	}
	if found.EpsilonLowerBound, err = g.epsilon(delta, level); err != nil {
		return found, err
	}
	found.OneRun = &g
	found.conclude(1, time.Since(start))
	return found, nil
}

// guess counts the right guesses for made canaries: half of them, with the largest scores, are guessed
// to be in the data, and half, with the smallest, to be out. absent has the truth.
func guess(scores []float32, absent []bool, made int) OneRun {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	ascending(order, scores)
	return countRight(len(order), choice{made / 2, made / 2}, func(rank int) bool { return absent[order[rank]] })
}

// ascending sorts places by their scores. Places with equal scores keep their order.
func ascending[F cmp.Ordered](order []int, scores []F) {
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[a], scores[b]) })
}

// countRight counts the right guesses of a choice. absent says of the canary of each rank, lowest score
// first, whether it was left out.
func countRight(canaries int, c choice, absent func(rank int) bool) OneRun {
	right := 0
	for i := range c.low {
		if absent(i) {
			right++
		}
	}
	for i := range c.high {
		if !absent(canaries - 1 - i) {
			right++
		}
	}
	return OneRun{canaries, c.low + c.high, right}
}
