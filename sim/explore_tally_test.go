package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/models"
	"proactivedp/rng"
	"proactivedp/sim/clock"
)

// tally is a model with one parameter for each round of each client. Its gradients are 0. The
// releases are unit vectors and the step size is 1, so parameter (c, i) of a global or local model
// is minus the number of times that update i of client c was applied to it. So the models show what
// the machines did, independently of their own records.
//
// With a momentum of ½, an update that was applied once, followed by j others, weighs 2 − 2^−j. One
// that was applied twice weighs more than 2.
type tally struct{ params int }

func (tally) Name() string                    { return "tally" }
func (m tally) NumParams() int                { return m.params }
func (tally) Init(p []float32, _ *rng.Stream) { clear(p) }
func (tally) NewScratch() models.Scratch      { return nil }
func (tally) ClippedGradSum(sum, _ []float32, _ data.Batch, _ float64, _ models.Scratch) error {
	clear(sum)
	return nil
}
func (tally) Loss([]float32, data.Batch, models.Scratch) float64     { return 0 }
func (tally) Predict([]int32, []float32, data.Batch, models.Scratch) {}

// config returns the configuration of the run that is explored.
func (e Exploration) config() *Config {
	n := max(2, e.Rounds) // records, as many as the largest sample size
	d := &data.Dataset{Features: 1, Classes: 2, Label: make([]int32, n), Start: make([]int, n+1)}
	rows := make([]int32, n)
	for i := range rows {
		rows[i] = int32(i)
	}
	var delay Delay = Unlimited{}
	if e.Tau >= 0 {
		delay = AtMost(e.Tau)
	}
	now := clock.Duration{Kind: clock.Constant}
	momentum := 0.0
	if e.Momentum {
		momentum = 0.5
	}
	c := &Config{
		Model:     tally{e.Clients * e.Rounds},
		Rows:      slices.Repeat([]data.Subset{{Data: d, Rows: rows}}, e.Clients),
		Partition: data.Replicate,
		Mechanism: dp.Mechanism{
			Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, ClipNorm: 1,
			NoiseMultiplier: 0, DatasetSize: n, Sizes: dp.ConstantSizes(1),
		},
		GradComps: e.Rounds,
		Delay:     delay,
		Steps:     StepSize{Eta0: 1, Decay: NoDecay},
		Momentum:  momentum,
		Roots:     SharedRoots(rng.New(1), e.Clients),
		Timing:    clock.Timing{Compute: now, Uplink: now, Downlink: now},
		// With Churn set, each client gets its own message.
		Churn: clock.Churn{Present: time.Nanosecond, Away: time.Nanosecond},
		Substitute: func(c *Client, u []float32, _ *Workspace) error {
			clear(u)
			u[c.ID()*e.Rounds+c.Round()] = 1
			return nil
		},
	}
	if e.Short > 0 { // ⌊K/s⌋ is Rounds for s = Short, and Short for s = Rounds
		c.GradComps, c.Mechanism.Sizes = e.Rounds*e.Short, dp.ConstantSizes(e.Short)
		c.Own = slices.Repeat([]dp.Mechanism{c.Mechanism}, e.Clients)
		c.Own[0].Sizes = dp.ConstantSizes(e.Rounds)
	}
	return c
}

// rounds returns the number of rounds of a client.
func (e *Exploration) rounds(client int) int {
	if client == 0 && e.Short > 0 {
		return e.Short
	}
	return e.Rounds
}

// updates is a set of updates: bit client·T + round.
type updates uint32

// maxTally is the largest number of updates in a set. With momentum it is maxHeavyTally, because a
// float32 holds the weights 2 − 2^−j exactly only up to there.
const maxTally, maxHeavyTally = 32, 24

// update returns the set of one update.
func (e *Exploration) update(client, round int) updates { return 1 << (client*e.Rounds + round) }

// begins returns the place of a client's round among the rounds of the clients that have the most.
func (e *Exploration) begins(client, round int) int { return round * e.Rounds / e.rounds(client) }

// before returns the set of all updates that v̂_k must have: of rounds whose places are below k.
func (e *Exploration) before(k int) updates {
	var set updates
	for c := range e.Clients {
		for i := range e.rounds(c) {
			if e.begins(c, i+1) <= k {
				set |= e.update(c, i)
			}
		}
	}
	return set
}

// names formats a set as a list of client:round.
func (e *Exploration) names(set updates) string {
	var names []string
	for c := range e.Clients {
		for i := range e.Rounds {
			if set&e.update(c, i) != 0 {
				names = append(names, fmt.Sprintf("%d:%d", c, i))
			}
		}
	}
	return "{" + strings.Join(names, " ") + "}"
}

// applied returns the updates that are in a model at least once.
func applied(model []float32) updates {
	var set updates
	for p, n := range model {
		if n != 0 {
			set |= 1 << p
		}
	}
	return set
}
