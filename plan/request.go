package plan

import (
	"cmp"
	"fmt"
	"math"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/rng"
)

// Request says which numbers of a plan are given; [Solve] finds the others. The zero value of a field means that it
// is not given. N is the number of records, k the number of epochs, s the batch size, T the number of rounds and σ
// the noise multiplier, so k = sT/N. Give one or two of k, s and T, and one or two of σ and ε:
//
//	given                solved for
//	k and ε              the recommended s and the least σ for it, see [Plan.Recommend];
//	                     with a closed form, the theorem's least σ (closedform.Sigma) and the largest s
//	k and σ              only with a closed form, which ties ε to σ: the largest s
//	k, σ and ε           the largest s
//	σ, two of k, s, T    ε
//	ε, two of k, s, T    the least σ
//	s, σ and ε           the largest T
//	T, σ and ε           the largest s
//
// The number of rounds follows from epochs as [Rounds] says. The run never costs more than ε. The closed forms (the
// paper's theorem, see [Method]) need a σ above √2, at least 1.4142136.
//
// With random allocation, a batch size s means t = ⌈N/s⌉ batches in each of the k epochs, so T = ⌈kt⌉
// rounds.
type Request struct {
	// N is the number of records of the client, in [1, 2^53]. Under add-or-remove adjacency, two neighbouring data
	// sets differ by one record; N is then the number of records of the larger one.
	N int `json:"n"`
	// Epochs is the number of epochs k in [1e-6, 1e9]; k epochs of N records are K = kN gradients, at most 2^53.
	Epochs     float64 `json:"epochs"`
	SampleSize int     `json:"sample_size,omitempty"` // batch size s, the mean if batch sizes vary; at most N/θ
	Rounds     int     `json:"rounds,omitempty"`      // number of rounds T of each client, in [1, 2^53]
	Sigma      float64 `json:"sigma,omitempty"`       // noise multiplier σ in [0.05, 1e6]
	Epsilon    float64 `json:"epsilon,omitempty"`     // ε that a record may pay, in [1e-8, 1e4]
	Delta      float64 `json:"delta,omitempty"`       // δ in [1e-300, 1); if not given, dp.DefaultDelta(N), which needs N ≥ 100 (methods Printed and Paper: 1/N)
	// Theta is θ, the largest batch size divided by the mean, in [1, 1e6], for a training whose batch sizes vary. 0
	// means 1: constant sizes.
	Theta float64 `json:"theta,omitempty"`

	Method    Method       `json:"method,omitempty"`    // how ε is computed, see Method; if not given, PLD
	Adjacency dp.Adjacency `json:"adjacency,omitempty"` // if not given, add-or-remove, the only adjacency that the closed form covers

	// Sampling says how batches are drawn: Poisson (also if not given) or Allocation, where each record is in one
	// random round of each epoch. Allocation needs the method PLD and Redraw, which says whether each epoch assigns
	// the records to rounds anew. With Allocation, Batches may be given instead of SampleSize: the number of rounds
	// in an epoch, in [1, N].
	Sampling dp.Sampling `json:"sampling,omitempty"`
	Batches  int         `json:"batches,omitempty"`
	Redraw   dp.Redraw   `json:"redraw,omitempty"`
	// Group is k > 1 if ε is to protect a person with up to k records. It needs Poisson sampling and PLD. 0 and 1
	// protect a record.
	Group int `json:"group,omitempty"`

	// Clients is the number of clients, in [1, 1e6]; 0 means 1. Shared says whether every client holds every record;
	// a record then pays for the rounds of all clients, and otherwise for those of one client.
	Clients int  `json:"clients,omitempty"`
	Shared  bool `json:"shared,omitempty"`

	// Root is the public name of the seed or secret from which the noise will be drawn, such as "seed:1" (see
	// rng.Name). It is written to the plan, so that a later [Replan] can avoid noise that was used: the planned
	// rounds are run 0 of this root, and rounds that are planned later get the next run numbers. If Root is not
	// given, the plan does not name its noise.
	Root string `json:"root,omitempty"`
}

// Validate returns one error that lists every field outside its range, and says if too few or too many
// fields are given.
func (r Request) Validate() error {
	errs, m := rangeErrors{}, r.method()
	goodN := r.N >= 1 && int64(r.N) <= maxCount
	if !goodN {
		errs.fail("data set size N = %d, must be in [1, 2^53 = %d]", r.N, int64(maxCount))
	}
	r.validateMethod(&errs)
	r.validateCombination(&errs)
	if r.Sigma != 0 {
		if !m.isClosedForm() {
			errs.within("sigma", r.Sigma, minSigma, maxSigma, "")
		} else {
			why := ": the theorem needs more than √2"
			if r.Sigma >= minSigma {
				why += fmt.Sprintf("; methods %q and %q take σ from %v on, with ε or two of epochs, sample size and "+
					"rounds", PLD, RDP, minSigma)
			}
			errs.within("sigma", r.Sigma, closedform.MinSigma, closedform.MaxSigma, why)
		}
	}
	if r.Epsilon != 0 {
		errs.within("epsilon", r.Epsilon, minEpsilon, maxEpsilon, "")
	}
	errs.delta(r.Delta, r.N)
	goodEpochs := r.Epochs == 0 || errs.within("epochs k", r.Epochs, minEpochs, maxEpochs, "")
	goodTheta := r.Theta == 0 || errs.within("theta", r.Theta, 1, maxTheta, "")
	goodClients := errs.clients(r.Clients)
	errs.add(checkRoot(r.Root))
	goodDraw := r.validateDraw(&errs)
	if goodN && goodEpochs && goodTheta && goodClients && goodDraw {
		r.sized().validateSizes(&errs)
	}
	return errs.join()
}

// validateDraw checks how records are drawn, and whether persons are covered. It reports whether the number
// of batches is valid.
func (r Request) validateDraw(errs *rangeErrors) bool {
	sampling, m := cmp.Or(r.Sampling, dp.Poisson), r.method()
	known := true
	switch sampling {
	case dp.Poisson:
	case dp.Allocation:
		if m != PLD {
			errs.fail("method = %q, must be %q with %s sampling, which no other covers: %w", m, PLD, sampling, dp.ErrNotCovered)
		}
		if r.Theta != 0 && r.Theta != 1 {
			errs.fail("theta = %v, must be 1 with %s sampling: its batches have no sizes that could grow", r.Theta, sampling)
		}
		if r.Adjacency != "" {
			_, err := dp.SchemeOf(sampling, r.Adjacency)
			errs.add(err)
		}
		if r.Redraw == "" {
			errs.fail("redraw is missing with %s sampling: %q if each epoch draws anew, %q if one draw is kept for all epochs, "+
				"which costs far more", sampling, dp.EachEpoch, dp.Once)
		} else {
			_, err := dp.ParseRedraw(string(r.Redraw))
			errs.add(err)
		}
	default:
		known = false
		if _, err := dp.ParseSampling(string(sampling)); err != nil {
			errs.add(err)
		} else {
			errs.fail("sampling = %q, must be %q or %q: no plan has another, a calibration may: %w", sampling, dp.Poisson,
				dp.Allocation, dp.ErrNotCovered)
		}
	}
	if known && sampling != dp.Allocation && r.Redraw != "" {
		errs.fail("redraw = %q, must not be given with %s sampling: each round draws anew", r.Redraw, sampling)
	}
	r.validateGroup(errs, sampling)
	switch {
	case r.Batches == 0:
		return true
	case known && sampling != dp.Allocation:
		errs.fail("batches = %d, must not be given with %s sampling: give a sample size", r.Batches, sampling)
	case r.SampleSize != 0:
		errs.fail("batches = %d and sample size = %d, only one may be given", r.Batches, r.SampleSize)
	case r.Batches < 1 || r.Batches > max(r.N, 1):
		errs.fail("batches = %d, must be in [1, N = %d]", r.Batches, r.N)
	default:
		return true
	}
	return false
}

// validateGroup checks persons with several records. That larger samples cost at least as much is proved for
// a record only, and the records of a person may be at several clients.
func (r Request) validateGroup(errs *rangeErrors, sampling dp.Sampling) {
	if r.Group == 0 || !errs.counts("group", r.Group, 1, dp.MaxGroup) || r.Group == 1 {
		return
	}
	if m := r.method(); m != PLD {
		errs.fail("method = %q, must be %q with group = %d, which no other covers: %w", m, PLD, r.Group, dp.ErrNotCovered)
	}
	if e := (dp.Event{Sampling: sampling, Adjacency: cmp.Or(r.Adjacency, dp.AddOrRemove), Group: r.Group}); sampling.CheckDrawn() == nil {
		_, err := e.Scheme()
		errs.add(err)
	}
	if r.Theta != 0 && r.Theta != 1 {
		errs.fail("theta = %v, must be 1 with group = %d", r.Theta, r.Group)
	}
	if r.Clients > 1 && !r.Shared {
		errs.fail("clients = %d that hold different records, must be 1 with group = %d, or share all records: several of "+
			"them could hold records of one person", r.Clients, r.Group)
	}
}

// sized returns r with the sample size N/t, rounded up, if r has batches.
func (r Request) sized() Request {
	if r.Batches != 0 {
		r.SampleSize = sizeIn(r.N, r.Batches)
	}
	return r
}

// sizeIn returns ⌈n/t⌉, the expected size of a batch of t, rounded up.
func sizeIn(n, t int) int { return (n-1)/t + 1 }

func (r Request) validateMethod(errs *rangeErrors) {
	if r.Method != "" {
		_, err := ParseMethod(string(r.Method))
		errs.add(err)
	}
	if r.Adjacency != "" {
		_, err := dp.ParseAdjacency(string(r.Adjacency))
		errs.add(err)
	}
	if m := r.method(); r.Adjacency == dp.ReplaceOne && m.isClosedForm() {
		errs.add(fmt.Errorf("adjacency = %q, must be %q: Theorem simpleF is not proved for another, and violated "+
			"there: %w", r.Adjacency, dp.AddOrRemove, dp.ErrNotCovered))
	}
}

func given(values ...bool) int {
	n := 0
	for _, v := range values {
		if v {
			n++
		}
	}
	return n
}

func (r Request) validateCombination(errs *rangeErrors) {
	m := r.method()
	if r.Batches > 0 {
		r = r.sized() // messages have this size
	}
	work := given(r.Epochs != 0, r.SampleSize != 0, r.Rounds != 0)
	privacy := given(r.Sigma != 0, r.Epsilon != 0)
	switch {
	case work == 0:
		errs.fail("epochs k = 0, sample size = 0 and rounds = 0, one or two of them must be given")
	case work == 3:
		errs.fail("epochs k = %v, sample size = %d and rounds = %d, only two may be given: k = sT/N", r.Epochs,
			r.SampleSize, r.Rounds)
	}
	switch {
	case privacy == 0:
		errs.fail("sigma and epsilon are both missing, one must be given")
	case privacy == 2 && work == 2:
		errs.fail("sigma = %v and epsilon = %v, only one may be given if two of epochs, batch size and steps are: "+
			"the other follows", r.Sigma, r.Epsilon)
	case privacy == 2 && m == Paper:
		errs.fail("sigma = %v and epsilon = %v, only one may be given if method = %q: the paper ties them by (treq4)",
			r.Sigma, r.Epsilon, m)
	case privacy == 1 && r.isJoint() && r.Sigma != 0 && r.Epochs != 0 && !m.isClosedForm():
		errs.fail("epochs and sigma = %v are not enough: give batch size or steps as well for the ε of the run, or epsilon for "+
			"the largest batch size; only method = %q finds ε from σ alone", r.Sigma, ClosedForm)
	case privacy == 1 && work == 1 && r.Epochs == 0:
		has, other := fmt.Sprintf("sample size = %d", r.SampleSize), "steps"
		switch {
		case r.Batches != 0:
			has = fmt.Sprintf("batches = %d", r.Batches)
		case r.Rounds != 0:
			has, other = fmt.Sprintf("rounds = %d", r.Rounds), "a batch size"
		}
		errs.fail("%s is not enough: give epochs or %s too, or both noise multiplier and epsilon", has, other)
	}
	if m == Paper && (r.SampleSize != 0 || r.Rounds != 0) {
		errs.fail("sample size = %d and rounds = %d, must not be given if method = %q: the paper solves for them",
			r.SampleSize, r.Rounds, m)
	}
}

// validateSizes checks s and T against N and k, which must be valid.
func (r Request) validateSizes(errs *rangeErrors) {
	n, clients := float64(r.N), float64(max(r.Clients, 1))
	if r.SampleSize != 0 {
		if most := n / r.theta(); r.SampleSize < 1 || float64(r.SampleSize) > most {
			errs.fail("sample size = %d, must be in [1, N/θ = %v]", r.SampleSize, most)
			return
		}
	}
	if r.Rounds != 0 && !errs.counts("rounds", r.Rounds, 1, maxCount) {
		return
	}
	if r.Epochs != 0 {
		k, ok := count(r.Epochs * n) // ⌈kN⌉
		if !ok || r.Epochs*n*clients > maxCount {
			errs.fail("epochs k = %v of N = %d, must be at most 2^53 gradient computations (of %v clients)", r.Epochs,
				r.N, clients)
			return
		}
		if r.SampleSize > k {
			errs.fail("sample size = %d, must be at most K = kN = %d", r.SampleSize, k)
		}
		if r.Rounds > k {
			errs.fail("rounds = %d, must be at most K = kN = %d", r.Rounds, k)
		}
		if most := n / r.theta(); r.Rounds != 0 && float64(k/r.Rounds) > most {
			errs.fail("rounds = %d, must be more: then s = K/T = %d is at most N/θ = %v", r.Rounds, k/r.Rounds, most)
		}
		return
	}
	computed := float64(max(r.SampleSize, 1)) * float64(max(r.Rounds, 1))
	if computed*clients > maxCount {
		errs.fail("sample size = %d in rounds = %d, must be at most 2^53 gradient computations (of %v clients)",
			r.SampleSize, r.Rounds, clients)
	} else if r.SampleSize != 0 && r.Rounds != 0 {
		errs.within("epochs k = sT/N", computed/n, minEpochs, maxEpochs, "")
	}
}

func (r Request) method() Method { return cmp.Or(r.Method, PLD) }

// isJoint reports whether r asks for both s and T, and gives k and one of σ and ε.
func (r Request) isJoint() bool {
	return r.SampleSize == 0 && r.Batches == 0 && r.Rounds == 0 && (r.Sigma == 0 || r.Epsilon == 0)
}

func (r Request) theta() float64 { return cmp.Or(r.Theta, 1) }

// plan returns an unsolved plan for r, with defaults for fields that are not given.
func (r Request) plan() *Plan {
	m := r.method()
	p := &Plan{
		N: r.N, Epochs: r.Epochs, Theta: r.theta(), TargetEpsilon: r.Epsilon, Epsilon: r.Epsilon, Delta: r.Delta,
		Sigma:     r.Sigma,
		Adjacency: cmp.Or(r.Adjacency, dp.AddOrRemove), Sampling: cmp.Or(r.Sampling, dp.Poisson), Redraw: r.Redraw, batches: r.Batches,
		Method: m, Accountant: string(m), Kind: m.kind(),
		Clients: max(r.Clients, 1), Shared: r.Shared, Noise: rng.Name{Root: r.Root},
		Conditions: []closedform.Condition{},
	}
	if p.Delta == 0 {
		p.Delta = dp.DefaultDelta(r.N)
		if m == Printed || m == Paper {
			p.Delta = 1 / float64(r.N)
		}
	}
	if r.Group > 1 {
		p.Group = r.Group
	}
	if p.Sampling == dp.Allocation && r.Epochs != 0 && r.Rounds != 0 { // T = kt, and T ≤ ⌈kN⌉
		p.batches = int(min(math.Ceil(float64(r.Rounds)/r.Epochs*(1-1e-12)), float64(r.N)))
	}
	return p
}
