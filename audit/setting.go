package audit

import (
	"cmp"
	"fmt"
	"time"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/models"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/sim/clock"
)

// clip is the clipping norm C of every probe. Its value does not matter: the guarantee only depends on
// σ, the noise divided by C.
const clip = 1

// setting is a small training that an adversary has prepared: its records, and the mechanism that is
// claimed.
type setting struct {
	model     models.Bounded
	data      *data.Dataset
	neighbour *data.Dataset // under replace-one adjacency, the data with another record 0; nil if record 0 is removed
	partition data.Partition
	clients   int
	rounds    int // T, the number of rounds of each client
	size      int // s, the expected sample size
	places    int // N_c, the number of records of each client
	sigma     float64
	sampling  dp.Sampling // "" means Poisson
	batches   int         // t of Allocation; size is then places/t
	group     int         // records 0 to group − 1 are of one person, whose ε is claimed; 0 means that ε is for record 0
	adapts    bool        // clients have unequal speeds and adapt their sample sizes
	storm     bool        // messages are lost or duplicated, clients leave and return
}

func (s setting) virtualOnly() bool { return s.adapts || s.storm }

func (s setting) mechanism() dp.Mechanism {
	sampling := cmp.Or(s.sampling, dp.Poisson)
	return dp.Mechanism{
		Sampling: sampling, Adjacency: dp.NaturalAdjacency(sampling), ClipNorm: clip, NoiseMultiplier: s.sigma,
		DatasetSize: s.places, Sizes: dp.ConstantSizes(s.size), Batches: s.batches, Group: s.group,
	}
}

// canaries returns how many records the worlds differ in: those of the person, or record 0.
func (s setting) canaries() int { return max(1, s.group) }

// holders returns the number of clients that hold record 0.
func (s setting) holders() int {
	if s.partition == data.Shard {
		return 1
	}
	return s.clients
}

// rows returns the rows of each client. With the partition Replicate, all clients hold the first places rows. With
// Shard, each client holds the rows after those of the client before it.
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

// config returns the configuration of a run, without roots. absent says for each row whether it is
// missing.
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

// pinned is a model that always starts at the same parameters, so that its gradients are known before
// the run.
type pinned struct{ models.Bounded }

func (m pinned) Init(params []float32, _ *rng.Stream) {
	m.Bounded.Init(params, rng.New(0).Stream(rng.Init, 0, 0))
}

// gradients returns the clipped gradient of each record at the initial parameters. Checks compare
// the clients' sums with them. They are clipped here and not by the model, because the model's
// clipping is among the things that are audited.
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
