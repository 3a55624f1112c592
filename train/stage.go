package train

import (
	"errors"
	"fmt"
	"math"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/rng"
	"proactivedp/sim"
)

// Stage is one of several trainings of the same model, one after the other. Package auto runs them until a target
// accuracy is reached or the privacy budget is spent. A Stage has what differs between these trainings: the initial
// model, which is usually the final model of the stage before, and the clients that take part. The other clients do
// not train. All other settings are in a [Spec] (see [Source.PrepareStage]).
type Stage struct {
	Initial      []float32     // parameters at the beginning, such as those of the previous stage; nil means untrained ones
	Participants []Participant // at least one, in increasing order of clients
	// Root is the source of the participants' samples, noise and dropout. If it is nil, the source is the spec's
	// seed. The split, the division of the records among clients, the untrained parameters and the virtual clock always
	// depend on the seed.
	Root *rng.Root
}

// Participant is a client that takes part in a [Stage]. Each participant has its own noise multiplier and its own run
// number, and may have its own batch size.
type Participant struct {
	Client  int `json:"client"`            // the client's number among the spec's clients, from 0
	Records int `json:"records,omitempty"` // N_c: the client uses the first N_c of its records; 0 means all
	// NoiseMultiplier is σ of this client in this stage: its noise has the standard deviation σ·C for the clipping
	// norm C.
	NoiseMultiplier float64 `json:"sigma"`
	// SampleSize is the client's own constant batch size s_c; 0 means the spec's. The client has T_c = ⌊K/s_c⌋ rounds,
	// where K is the spec's GradComps. At least one client must have as many rounds as the spec, and none may have
	// more, because the permissible delay and the numbers of global models count the spec's rounds.
	SampleSize int `json:"sample_size,omitempty"`
	// Run is the number of this client's training among all trainings that take their random numbers from the same
	// source (Stage.Root). Two participants, also of different stages, must not have the same number. Otherwise both
	// would add the same noise, and whoever subtracts one release from the other would remove it.
	Run uint64 `json:"run"`
}

// FirstOfPersons is part of an error text of this package and of package auto. It says why a client cannot be limited
// to the first N_c of its records (Participant.Records = N_c, above 0) if the guarantee is for persons. Suppose that a
// person is added, with k records among the first N_c. Then k records of other persons are no longer among the first
// N_c, and are not used. So adding one person would change the use of other persons' records.
const FirstOfPersons = "if a person is added, others' records move beyond the first ones"

// stageID is the part of a checkpoint's identity that describes a stage.
type stageID struct {
	Participants []Participant `json:"parts"`
	Initial      string        `json:"initial_sha256,omitempty"` // absent for the default global model
	Root         string        `json:"root,omitempty"`           // its public name; absent for the seed
}

// PrepareStage prepares a [Stage]: one of several trainings, each of which usually begins with the final model of the
// one before. The seed, the batch sizes, the clipping norm and the step sizes come from spec. A participant, which is
// a client that trains in the stage, may have its own batch size instead. Then spec must have the smallest batch size
// of all participants. The reason is that all clients compute the same number of gradients, so the smallest batch size
// means the most rounds, and no participant may have more rounds than spec.
//
// Spec.NoiseMultiplier and Spec.Run must be 0, because each participant has its own. Spec.SeedFromOS must be false:
// set Stage.Root if the noise must be secret. Spec.TargetEpsilon and Spec.BoundsEpsilon must be 0, because a stage
// does not check or count them. All errors are reported together.
func (s *Source) PrepareStage(spec Spec, stage Stage) (*Prepared, error) {
	if err := s.made(); err != nil {
		return nil, err
	}
	if err := errors.Join(stage.check(spec)); err != nil {
		return nil, err
	}
	s.mu.Lock()
	p, err := s.configure(spec, rng.New(spec.Seed))
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	all, config := p.Config.Rows, p.Config
	config.Rows = nil
	if stage.Initial != nil {
		config.Initial = stage.Initial
	}
	roots := sim.Roots{Run: config.Roots.Run}
	var errs []error
	for _, participant := range stage.Participants {
		rows := all[participant.Client]
		if participant.Records > rows.Len() {
			errs = append(errs, fmt.Errorf("client %d: records = %d, must be at most the %d that it holds",
				participant.Client, participant.Records, rows.Len()))
			continue
		}
		if participant.Records > 0 {
			rows = data.Subset{Data: rows.Data, Rows: rows.Rows[:participant.Records:participant.Records]}
		}
		own := config.Mechanism
		own.NoiseMultiplier, own.DatasetSize = participant.NoiseMultiplier, rows.Len()
		if participant.SampleSize > 0 {
			own.Sizes = dp.ConstantSizes(participant.SampleSize)
		}
		config.Rows, config.Own = append(config.Rows, rows), append(config.Own, own)
		root := config.Roots.Clients[participant.Client]
		if stage.Root != nil {
			root = stage.Root
		}
		roots.Clients = append(roots.Clients, root.ForRun(participant.Run))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	config.Roots = roots
	p.stage = &stageID{Participants: stage.Participants}
	if stage.Root != nil {
		p.stage.Root = stage.Root.Name().Root
	}
	if stage.Initial != nil {
		p.stage.Initial = (&sim.Result{Params: stage.Initial}).ParamsSHA256()
	}
	if err := p.finish(config.Rows[0].Len()); err != nil {
		return nil, err
	}
	if s := config.LargestSample(); s > config.Run().Max {
		p.Notes = append(p.Notes, fmt.Sprintf("clients have their own batch sizes, up to %d; the batch size and the rounds of a client that "+
			"are stated are those of a client with the smallest batches", s))
	}
	return p, nil
}

func (l Stage) check(spec Spec) error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf("stage: "+format, args...)) }
	if l.Root != nil {
		if err := l.Root.Check(); err != nil {
			fail("%w", err)
		}
	}
	if len(l.Participants) == 0 {
		fail("number of participants = 0, must be at least 1")
	}
	if spec.TargetEpsilon != 0 {
		fail("target epsilon of the spec = %v, must be 0", spec.TargetEpsilon)
	}
	if spec.BoundsEpsilon != 0 {
		fail("bounds epsilon of the spec = %v, must be 0: no stage accounts for private bounds", spec.BoundsEpsilon)
	}
	if spec.NoiseMultiplier != 0 || spec.Run != 0 || spec.SeedFromOS {
		fail("sigma = %v, run = %d and a seed from the system = %v of the spec, must be 0, 0 and false: each participant "+
			"has its own", spec.NoiseMultiplier, spec.Run, spec.SeedFromOS)
	}
	runs := map[uint64]bool{}
	for i, participant := range l.Participants {
		if participant.Client < 0 || participant.Client >= spec.Clients || i > 0 && participant.Client <= l.Participants[i-1].Client {
			fail("client = %d at place %d, must be in increasing order and in [0, %d]", participant.Client, i, spec.Clients-1)
		}
		if participant.Records < 0 {
			fail("client %d: records = %d, must be at least 0", participant.Client, participant.Records)
		}
		if s := participant.SampleSize; s < 0 || s > math.MaxInt32 {
			fail("client %d: sample size = %d, must be in [1, %d], or 0 for that of the spec", participant.Client, s, math.MaxInt32)
		}
		if participant.Records > 0 && spec.AtMost != 0 {
			fail("client %d: records = %d, must be 0 for persons: %s", participant.Client, participant.Records, FirstOfPersons)
		}
		if runs[participant.Run] {
			fail("client %d: run = %d, but another participant has the same: %w", participant.Client, participant.Run, dp.ErrSharedNoise)
		}
		runs[participant.Run] = true
	}
	return errors.Join(errs...)
}
