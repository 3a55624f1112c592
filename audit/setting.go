package audit

import (
	"fmt"
	"time"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/models"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/sim/clock"
)

// clip is the clipping norm C of every probe. Its value does not matter: the
// guarantee depends on σ, the noise over C, alone.
const clip = 1

// setting is a small training that an adversary has prepared: whose records
// there are, and what is claimed of it.
type setting struct {
	model     models.Bounded
	data      *data.Dataset
	neighbour *data.Dataset // data with another record 0, under replace-one adjacency; nil: record 0 is removed
	partition data.Partition
	clients   int
	rounds    int // T, the rounds of each client
	size      int // s, the expected sample size
	places    int // N_c, the records that each client holds
	sigma     float64
	sampling  dp.Sampling // "": Poisson
	adapts    bool        // clients are of unequal speed and adapt their sample sizes
	storm     bool        // messages are lost and come twice, clients leave and return
}

// virtualOnly reports whether the setting needs the virtual clock.
func (s setting) virtualOnly() bool { return s.adapts || s.storm }

// mechanism is what every client runs.
func (s setting) mechanism() dp.Mechanism {
	sampling := s.sampling
	if sampling == "" {
		sampling = dp.Poisson
	}
	return dp.Mechanism{
		Sampling: sampling, Adjacency: dp.NaturalAdjacency(sampling), ClipNorm: clip, NoiseMultiplier: s.sigma,
		DatasetSize: s.places, Sizes: dp.ConstantSizes(s.size),
	}
}

// holders is how many clients hold record 0.
func (s setting) holders() int {
	if s.partition == data.Shard {
		return 1
	}
	return s.clients
}

// rows returns the rows that each client holds: with replicate all hold the same
// first rows, with shard each holds the next ones.
func (s setting) rows() []data.Subset {
	rows := s.data.All().Rows
	held := make([]data.Subset, s.clients)
	for c := range held {
		from := 0
		if s.partition == data.Shard {
			from = c * s.places
		}
		held[c] = data.Subset{Data: s.data, Rows: rows[from : from+s.places]}
	}
	return held
}

// config is a run of the setting, still without roots and without the records that
// are absent (by row of the data).
func (s setting) config(absent []bool) sim.Config {
	cfg := sim.Config{
		Model: without{s.model, absent}, Rows: s.rows(), Partition: s.partition, Mechanism: s.mechanism(),
		GradComps:  s.rounds * s.size,
		Delay:      sim.AtMost(1),
		Steps:      sim.StepSize{Eta0: tinyStep, Decay: sim.NoDecay},
		Timing:     clock.DefaultTiming(),
		Substitute: (*sim.Client).Release,
	}
	if s.adapts {
		cfg.Adapt = 4
		for c := range s.clients {
			cfg.Speeds.List = append(cfg.Speeds.List, 1/float64(1+c))
		}
	}
	if s.storm {
		cfg.Network = clock.Network{Loss: 0.3, Resend: time.Millisecond, Duplicate: 0.3}
		cfg.Churn = clock.Churn{Present: time.Millisecond, Away: 300 * time.Microsecond}
	}
	return cfg
}

// pinned is a model that begins at one place, whatever the run, so that its
// gradients are known beforehand.
type pinned struct{ models.Bounded }

func (m pinned) Init(params []float32, _ *rng.Stream) {
	m.Bounded.Init(params, rng.New(0).Stream(rng.Init, 0, 0))
}

// gradients returns the gradients of single records at the start, each clipped here
// and not by the model: what the sums are held against.
func (s setting) gradients() ([][]float64, error) {
	m := s.model
	params, scratch := make([]float32, m.NumParams()), m.NewScratch()
	m.Init(params, rng.New(0).Stream(rng.Init, 0, 0))
	of := make([][]float64, s.places)
	for i := range of {
		of[i] = make([]float64, len(params))
		alone := data.Batch{Data: s.data, Rows: []int32{int32(i)}}
		if err := m.WideGradSum(of[i], params, alone, noClip, scratch); err != nil {
			return nil, fmt.Errorf("the gradient of record %d: %w", i, err)
		}
		if n := norm(of[i]); n > clip {
			scale(of[i], clip/n)
		}
	}
	return of, nil
}
