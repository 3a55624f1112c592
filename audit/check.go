package audit

import (
	"math"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"

	"proactivedp/dp"
)

// Sight says what a [Check] uses: only the messages that an adversary also sees, or also the seeds of the training,
// which an adversary does not know.
type Sight string

// Releases and Seeds are the values of [Sight]: what a check uses.
const (
	Releases Sight = "releases" // only what is sent, which an adversary also sees
	Seeds    Sight = "seeds"    // what is sent, and the seeds, so that each message can be computed again
)

// Check is a statistical test whether the messages that clients send (releases) are what the mechanism prescribes:
// the sum of the clipped gradients of a batch plus independent Gaussian noise. A failed check shows that the program
// ran another mechanism, for example with too little noise. It gives no bound on ε.
type Check struct {
	// World names the training whose messages were tested, one of several small ones: "crowd", for example, has three
	// clients that hold the same records. Name names the check.
	World string  `json:"world"`
	Name  string  `json:"check"`
	Sees  Sight   `json:"sees"`  // whether the check uses only messages, which an adversary also sees, or the seeds too
	Value float64 `json:"value"` // measured value of the check's statistic (a number computed from the messages)
	// Expected is the value that Value should have if the mechanism is correct or, for some checks, must not exceed.
	Expected float64 `json:"expected"`
	PValue   float64 `json:"p_value"` // probability that the correct mechanism gives a Value at least this far from Expected
	// Failed says whether PValue is so small that the check fails; the limit is set by Options.Confidence and the
	// number of tests.
	Failed bool `json:"failed"`
}

// The p-values below are exact or upper bounds, except for sums of hundreds of terms or more with light
// tails. For these they use the normal distribution.

// twoSided returns the probability that a standard normal number is at least as far from 0 as z.
func twoSided(z float64) float64 {
	if math.IsNaN(z) {
		return 1
	}
	return math.Erfc(math.Abs(z) / math.Sqrt2)
}

// cubeRoot transforms a sum of n squares of standard normal numbers into a number that is approximately
// standard normal, also in the tails (E. Wilson, M. Hilferty, "The distribution of chi-square", PNAS
// 17, 1931).
func cubeRoot(squares, n float64) float64 {
	v := 2 / (9 * n)
	return (math.Cbrt(squares/n) - (1 - v)) / math.Sqrt(v)
}

// findings collects the checks of a training, which is named in each of them.
type findings struct {
	world string
	all   []Check
}

func (f *findings) add(name string, sees Sight, value, expected, p float64) {
	f.all = append(f.all, Check{World: f.world, Name: name, Sees: sees, Value: value, Expected: expected,
		PValue: min(1, p)})
}

// checks returns the checks of the tally t. The kinds and the number of checks depend only on the
// sheet.
func (t *tally) checks(world string) []Check {
	f := &findings{world: world}
	t.noiseChecks(f)
	t.independenceChecks(f)
	t.sumChecks(f)
	if t.storm {
		f.add("sent-again", Releases, float64(t.other), 0, impossible(t.other > 0))
	}
	f.add("replay", Seeds, t.off, 1, impossible(t.off > 1))
	return f.all
}

// impossible returns the p-value of an event that the correct mechanism never produces.
func impossible(seen bool) float64 {
	if seen {
		return 0
	}
	return 1
}

// noiseChecks tests the size, the mean and the distribution of the noise, and whether any noise is used
// twice.
func (t *tally) noiseChecks(f *findings) {
	n, d := float64(t.runs*t.releases()), float64(len(t.free))
	draws := n * d
	squares, least, most, worst := 0.0, math.Inf(1), 0.0, 0.0
	for _, x := range t.square {
		squares += x
		least, most = min(least, x), max(most, x)
		worst = max(worst, math.Abs(cubeRoot(x, n)))
	}
	f.add("noise", Releases, math.Sqrt(squares/draws), 1, twoSided(cubeRoot(squares, draws)))
	extreme := least
	if cubeRoot(most, n) > -cubeRoot(least, n) {
		extreme = most
	}
	f.add("noise-by-coordinate", Releases, math.Sqrt(extreme/n), 1, d*twoSided(worst))
	mean := farthest(t.total)
	f.add("mean-by-coordinate", Releases, mean/n, 0, d*twoSided(mean/math.Sqrt(n)))
	distance, bins := t.shape()
	f.add("noise-shape", Releases, distance/bins, 1, mathext.GammaIncRegComp(bins/2, distance/2))
	if len(t.free) >= blockLength {
		repeated, blocks := float64(t.repeated()), float64(len(t.blocks))
		p := 1.0
		if repeated > 0 { // by chance, only the hashes of two blocks are equal; equal numbers are less likely still
			p = blocks * blocks * 0x1p-65
		}
		f.add("noise-repeats", Releases, repeated, 0, p)
	}
}

// independenceChecks tests that noise and samples of one client, round or leg (one of two trainings with
// the same root) are independent of those of the others.
func (t *tally) independenceChecks(f *findings) {
	n, d := float64(t.runs*t.releases()), float64(len(t.free))
	t.between(f, "noise", t.pairs, float64(t.runs)*d, dependence{})
	legged := float64(t.legged*t.releases()) * d
	f.add("noise-between-legs", Releases, t.legs/legged, 0, twoSided(t.legs/math.Sqrt(legged)))
	if len(t.marks) > 0 {
		t.between(f, "samples", t.marked, float64(t.runs*len(t.marks)), t.dependence())
		mark := farthest(t.mark)
		f.add("sampled-by-record", Releases, mark/n, 0, float64(len(t.marks))*twoSided(mark/math.Sqrt(n)))
	}
}

// sumChecks adds the checks of the sum of clipped gradients: its mean, its variance, and whether
// the noise depends on it.
func (t *tally) sumChecks(f *findings) {
	n := float64(t.runs * t.releases())
	f.add("sum", Releases, t.sum/n, 0, twoSided(t.sum/math.Sqrt(n)))
	// The variance of the square of a standardised number is 2 plus its fourth cumulant. The sum is
	// therefore treated as that of fewer normal numbers, with the same variance.
	like := n * 2 * n / (2*n + t.fourth)
	if t.batches > 0 { // the sums of one epoch are correlated, and their squares by the square of that
		q := 1 / float64(t.batches)
		_, variance, _ := t.sheet.sum(q)
		squares := dot(t.along, t.along)
		like /= 1 + float64(t.batches-1)*math.Pow(q*q*squares/variance, 2)
	}
	f.add("sum-variance", Releases, t.sumSq/n, 1, twoSided(cubeRoot(t.sumSq/n*like, like)))
	if len(t.free) >= 64 {
		f.add("sum-against-noise", Releases, t.louder/n, 0, twoSided(t.louder/math.Sqrt(n)))
	}
}

func farthest(xs []float64) float64 {
	far := 0.0
	for _, x := range xs {
		if math.Abs(x) > math.Abs(far) {
			far = x
		}
	}
	return far
}

// dependence says how samples of one epoch of random allocation depend on each other: a record that is in one
// round is in no other. The zero value is for numbers that are all independent.
type dependence struct {
	batches int     // t
	mean    float64 // mean of a term of two rounds of one epoch
	// inflation is the largest variance of a sum over the rounds of an epoch of products of two rounds with the
	// same place in different epochs or clients, over that of independent products.
	inflation float64
}

// dependence returns the dependence of the marks. For the indicators I, J of a record in two rounds of an epoch at rate
// q = 1/t, E(I−q)(J−q) = −q². The variance of this product is at most that of independent indicators, if t ≥ 2, and so
// is that of the sum over all pairs of an epoch, because the sum of the t indicators is constant.
func (t *tally) dependence() dependence {
	if t.batches == 0 {
		return dependence{}
	}
	q, d := 1/float64(t.batches), dependence{batches: t.batches}
	most := 0.0
	for _, m := range t.marks {
		rho := q * q / (q*(1-q) + math.Pow(t.sigma/m.amplitude, 2))
		d.mean -= rho / float64(len(t.marks))
		most = max(most, rho)
	}
	d.inflation = 1 + float64(t.batches-1)*most*most
	return d
}

// between adds checks of whether releases of a run are correlated: those of clients in a round, of
// rounds of a client, of the same round of two epochs, and of any two. Each of products is a sum of terms products of
// independent standardised numbers, except for the dependence d.
func (t *tally) between(f *findings, name string, products [][]float64, terms float64, d dependence) {
	clients, rounds, epochs, worst := 0.0, 0.0, 0.0, 0.0
	sameRound, sameClient, samePlace, pairs := 0.0, 0.0, 0.0, 0.0
	for a := range products {
		for b, x := range products[a][:a] {
			if pairs++; d.batches > 0 && a/t.rounds == b/t.rounds {
				if one, other := a%t.rounds, b%t.rounds; one/d.batches == other/d.batches {
					x -= terms * d.mean
				} else if one%d.batches == other%d.batches {
					epochs += x
					samePlace++
				}
			}
			if math.Abs(x) > math.Abs(worst) {
				worst = x
			}
			switch {
			case a%t.rounds == b%t.rounds:
				clients += x
				sameRound++
			case a/t.rounds == b/t.rounds:
				rounds += x
				sameClient++
			}
		}
	}
	inflation := max(1, d.inflation)
	f.add(name+"-between-clients", Releases, clients/(terms*sameRound), 0, twoSided(clients/math.Sqrt(terms*sameRound*inflation)))
	if d.batches > 0 {
		f.add(name+"-between-epochs", Releases, epochs/(terms*samePlace), 0, twoSided(epochs/math.Sqrt(terms*samePlace*inflation)))
	}
	f.add(name+"-between-rounds", Releases, rounds/(terms*sameClient), 0, twoSided(rounds/math.Sqrt(terms*sameClient)))
	f.add(name+"-between-any-two", Releases, worst/terms, 0, pairs*twoSided(worst/math.Sqrt(terms)))
}

// shape returns the chi-square distance between the noise and a normal distribution, and its degrees of
// freedom. Bins in which fewer than 50 draws are expected are merged with the next bin towards the
// middle.
func (t *tally) shape() (distance, freedom float64) {
	const least = 50
	total := 0
	for _, n := range t.bins {
		total += n
	}
	edge := func(i int) float64 { // upper end of bin i
		if i > lastBin {
			return math.Inf(1)
		}
		return float64(i)/binsPerStd - lastBin/2/binsPerStd
	}
	freedom = -1
	half := len(t.bins) / 2
	for _, side := range []int{1, -1} {
		seen, expected := 0.0, 0.0
		for i := range half {
			at := i
			if side < 0 {
				at = len(t.bins) - 1 - i
			}
			below := math.Inf(-1)
			if at > 0 {
				below = edge(at - 1)
			}
			seen += float64(t.bins[at])
			expected += float64(total) * (distuv.UnitNormal.CDF(edge(at)) - distuv.UnitNormal.CDF(below))
			if expected >= least || i == half-1 {
				if expected > 0 {
					distance += (seen - expected) * (seen - expected) / expected
					freedom++
				}
				seen, expected = 0, 0
			}
		}
	}
	return distance, max(freedom, 1)
}

// push tests whether the canary moves a release in its direction by at most what is claimed: C if it is
// removed or 2C if it is replaced, times the sample rate, and times the number of a person's records.
func push(world string, with, without *outcome) Check {
	m := with.cfg.Mechanism
	scheme, _ := dp.SchemeOf(m.Sampling, m.Adjacency)                      // 0 if unknown: the sensitivity is NaN, which fails
	allowed := with.rate.mean() * float64(m.ClipNorm*scheme.Sensitivity()) // C, or 2C
	allowed *= float64(max(1, m.Group))
	a, b := with.along, without.along
	moved := a.mean() - b.mean()
	// The variances are estimated. With the degrees of freedom of the world with fewer runs, Student's
	// distribution gives a p-value that is at least any of Welch's.
	t := (moved - allowed) / math.Sqrt(a.variance()/(a.n-1)+b.variance()/(b.n-1))
	return Check{
		World: world, Name: "push", Sees: Releases, Value: moved, Expected: allowed,
		PValue: distuv.StudentsT{Sigma: 1, Nu: min(a.n, b.n) - 1}.Survival(t),
	}
}

// moments accumulates the first two moments of numbers.
type moments struct{ n, sum, squares float64 }

func (m *moments) add(x float64) {
	m.n++
	m.sum += x
	m.squares += float64(x * x)
}

func (m *moments) merge(o moments) {
	m.n += o.n
	m.sum += o.sum
	m.squares += o.squares
}

func (m *moments) mean() float64     { return m.sum / m.n }
func (m *moments) variance() float64 { return max(0, m.squares/m.n-m.mean()*m.mean()) }
