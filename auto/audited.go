package auto

import (
	"context"
	"fmt"
	"math"

	"proactivedp/audit"
	"proactivedp/data"
	"proactivedp/sim"
	"proactivedp/train"
)

// The audited loop has few records and rounds, so that a run is quick and uses each record.
const (
	auditedRecords = 14
	auditedSize    = auditedRecords // so that releases are Gaussian, and the bound is close to the claim
	auditedRounds  = 4
	auditedClip    = 1
	auditedStop    = 1.5 // logarithm of the likelihood ratio at which the adversary stops
)

// Course returns a test case for package audit, to put into its Options.Courses: a small run of the loop of this
// package, for which the audit tests that everything it releases keeps the claimed ε. As in [Run], each private
// training is charged to a privacy budget that was fixed beforehand, and does not run if the budget is not enough. An
// adversary sees every release, and stops the loop as soon as the releases suggest that the canary (the record in
// question) is in the data.
func Course(ctx context.Context) (audit.Course, error) {
	spec := train.DefaultSpec()
	spec.Model, spec.Clients, spec.Holdout, spec.NoiseMultiplier = train.Plain, 1, train.UsualHoldout, 0
	spec.Partition, spec.Schedule, spec.Beta = string(data.Replicate), string(sim.NoDecay), 0
	task := Task{Spec: spec, Strategy: Tight, Stages: 3, Clients: []Client{{Epsilon: 6, Delta: 1e-3, Accuracy: 0.5}}}
	public := Public{Data: "drawn", Records: auditedRecords, HeldOut: []int{2}, Features: 2, Classes: 2}
	accounts := accountsOf(task, public)
	if _, _, err := accounts[0].fixOrder(ctx, auditedSize, auditedRounds); err != nil {
		return audit.Course{}, err
	}
	l, err := newLedger(accounts[0])
	if err != nil {
		return audit.Course{}, err
	}
	source := train.NewSource(auditedData())
	return audit.Course{
		Name: "loop",
		About: "stages of a loop, each chosen by earlier releases; the adversary stops it when he has seen " +
			"enough",
		Guarantee: l.guarantee(), Share: 50,
		Run: func(ctx context.Context, canary bool, seed uint64) (float64, error) {
			t := task
			t.Spec.Seed = seed
			j := &Journal{Public: public, Seed: seed, Accounts: accounts, Tasks: []JournalTask{{
				Task: t, SampleSize: auditedSize, Rounds: auditedRounds,
				Outlook: Outlook{Points: []Point{{Clip: auditedClip, Sigma: 1, Eta0: 1e-9}}},
			}}}
			return audited(ctx, j, source, canary)
		},
	}, nil
}

// auditedData returns records whose first one is the canary. Its gradient is far longer than C and
// orthogonal to all others.
func auditedData() *data.Dataset {
	d := &data.Dataset{Name: "gradients", Features: 2, Classes: 2, Start: []int{0}, Synthetic: true,
		Train: auditedRecords}
	for i := range auditedRecords + 2 {
		x, label := [2]float32{-0.1, 3}, int32(0)
		if i == 0 {
			x, label = [2]float32{10, 0}, 1
		}
		for c, v := range x {
			if v != 0 {
				d.Index, d.Value = append(d.Index, int32(c)), append(d.Value, v)
			}
		}
		d.Label, d.Start = append(d.Label, label), append(d.Start, len(d.Index))
	}
	return d
}

// audited runs a loop and returns the logarithm of the likelihood ratio of all its releases. For each
// release this is (1-q)N(0, σ²) + qN(1, σ²) over N(0, σ²), along the canary's gradient.
func audited(ctx context.Context, j *Journal, source *train.Source, canary bool) (float64, error) {
	l, err := newLoop(ctx, j)
	if err != nil {
		return 0, err
	}
	ratio := 0.0
	var params []float32
	for {
		s, _, err := l.advance(ctx)
		if s == nil || err != nil {
			return ratio, err
		}
		spec := s.Spec(l.currentTask().Task)
		spec.Holdout = 0 // the adversary decides when to stop
		p, err := source.PrepareStage(spec, train.Stage{Initial: params, Participants: s.Participants})
		if err != nil {
			return 0, err
		}
		beside := sim.NewWorkspace(p.Config.Model)
		p.Config.Substitute = func(c *sim.Client, u []float32, ws *sim.Workspace) error {
			if err := releaseOf(c, u, ws, canary); err != nil {
				return err
			}
			g := beside.Sum()
			if err := c.GradSum(g, data.Batch{Data: source.Data(), Rows: []int32{0}}, beside); err != nil {
				return err
			}
			x := 0.0
			for i, v := range g {
				x += v / auditedClip * float64(u[i]) / auditedClip
			}
			q, sigma := float64(auditedSize)/auditedRecords, s.Participants[0].NoiseMultiplier
			ratio += math.Log1p(q * math.Expm1((2*x-1)/(2*sigma*sigma)))
			return nil
		}
		r, err := p.Run(ctx, sim.Perf{}, nil)
		if err != nil {
			return 0, err
		}
		if err := s.check(j.Accounts, j.Seed, r); err != nil {
			return 0, err
		}
		heldOut := Tested{}
		if ratio > auditedStop {
			heldOut.TestAccuracy = 1
		}
		params = r.Params
		if err := l.trained(fmt.Sprint("stage of seed ", j.Seed), []Tested{heldOut}); err != nil {
			return 0, err
		}
	}
}

// releaseOf sets u to the release of the round. If canary is false, the canary's place in the sample
// stays empty.
func releaseOf(c *sim.Client, u []float32, ws *sim.Workspace, canary bool) error {
	if canary {
		return c.Release(u, ws)
	}
	sample := c.Sample(ws)
	rows := make([]int32, 0, len(sample.Rows))
	for _, r := range sample.Rows {
		if r != 0 {
			rows = append(rows, r)
		}
	}
	sum := ws.Sum()
	if err := c.GradSum(sum, data.Batch{Data: sample.Data, Rows: rows}, ws); err != nil {
		return err
	}
	c.AddNoise(u, sum, ws)
	return nil
}
