package dp

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"proactivedp/internal/decimal"
)

// Sizes is the sequence of batch sizes s_0, s_1, … of a client: round i samples s_i records, exactly or on average.
// [ConstantSizes], [PolynomialSizes] and [ListSizes] implement it, and [ParseSizes] reads one from text.
// Implementations are immutable.
type Sizes interface {
	// At returns s_i, the sample size of round i ≥ 0. It is at least 1.
	At(i int) int
	// String returns the sequence as text that [ParseSizes] reads, such as "linear:10,0.5".
	String() string
}

// ConstantSizes is the sequence of sample sizes in which every round has the same size s.
type ConstantSizes int

// At returns the constant size s; the round does not matter.
func (s ConstantSizes) At(int) int { return int(s) }

func (s ConstantSizes) String() string { return strconv.Itoa(int(s)) }

// PolynomialSizes is the sequence of sample sizes s_i = ⌊First + Slope·i^Power⌋, which grows with the round i. With
// Power 1 it is linear.
type PolynomialSizes struct {
	// First is the size of round 0, at least 1. Slope ≥ 0 and Power > 0 say how sizes grow.
	First, Slope, Power float64
}

// At returns the size s_i of round i. A size above 2^31-1 becomes 2^31-1, because a sample is a list of int32. If s_i
// would be below 1 or NaN, because the fields are outside their ranges, At returns 0, which [Mechanism.Validate]
// refuses.
func (s PolynomialSizes) At(i int) int {
	size := s.First
	if s.Slope != 0 { // 0 times an infinite power is 0 here
		size += s.Slope * math.Pow(float64(i), s.Power)
	}
	n, _ := decimal.Whole(min(size, math.MaxInt32))
	return n
}

func (s PolynomialSizes) String() string {
	f := decimal.Exactly
	if s.Power == 1 {
		return "linear:" + f(s.First) + "," + f(s.Slope)
	}
	return "poly:" + f(s.First) + "," + f(s.Slope) + "," + f(s.Power)
}

// ListSizes is a sequence of sample sizes that lists the size of each round. After its end, the last
// size repeats.
type ListSizes []int

// At returns the size of round i, which counts from 0. After the end of the list it returns the last size. For an
// empty list it returns 0, which [Mechanism.Validate] refuses.
func (s ListSizes) At(i int) int {
	if len(s) == 0 {
		return 0
	}
	return s[min(i, len(s)-1)]
}

func (s ListSizes) String() string {
	parts := make([]string, len(s))
	for i, v := range s {
		parts[i] = strconv.Itoa(v)
	}
	return "list:" + strings.Join(parts, ",")
}

// ParseSizes reads a sequence of sample sizes: "26" (each round has 26 records), "linear:10,0.5" (round i has
// ⌊10 + 0.5·i⌋), "poly:10,0.5,1.5" (⌊10 + 0.5·i^1.5⌋) or "list:5,10,20" (the last size repeats). The first round is
// round 0.
func ParseSizes(text string) (Sizes, error) {
	bad := func(want string) (Sizes, error) {
		return nil, fmt.Errorf("sample size = %q, must be %s", text, want)
	}
	kind, args, named := strings.Cut(text, ":")
	if !named {
		s, err := decimal.Count(text)
		if err != nil || s < 1 || s > math.MaxInt32 {
			return bad("an integer of at least 1, linear:FIRST,SLOPE, poly:FIRST,SLOPE,POWER or list:S0,S1,…")
		}
		return ConstantSizes(s), nil
	}
	fields := strings.Split(args, ",")
	if kind == "list" {
		list := make(ListSizes, len(fields))
		for i, f := range fields {
			v, err := decimal.Count(f)
			if err != nil || v < 1 || v > math.MaxInt32 {
				return bad("list:S0,S1,… of integers of at least 1")
			}
			list[i] = v
		}
		return list, nil
	}
	nums := make([]float64, len(fields))
	for i, f := range fields {
		v, err := strconv.ParseFloat(f, 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return bad("of finite numbers")
		}
		nums[i] = v
	}
	switch {
	case kind == "linear" && len(nums) == 2:
		nums = append(nums, 1)
	case kind == "poly" && len(nums) == 3:
	default:
		return bad("linear:FIRST,SLOPE, poly:FIRST,SLOPE,POWER or list:S0,S1,…")
	}
	p := PolynomialSizes{nums[0], nums[1], nums[2]}
	if p.First < 1 || p.Slope < 0 || p.Power <= 0 {
		return bad("with FIRST ≥ 1, SLOPE ≥ 0 and POWER > 0")
	}
	return p, nil
}

// MaxRounds is the largest number of rounds of one client. The reason for the limit is memory: a simulation stores
// the total batch size before each round (8 bytes for each round, so at most 160 MB) if batch sizes vary, or if the
// clients' permissible delay (how far a client may run ahead of the global model, see package sim) depends on batch
// sizes.
const MaxRounds = 20_000_000

// Run says how many rounds a client computes if it may compute K gradients in total. Round i computes s_i gradients,
// its batch size. [Cut] makes a Run.
type Run struct {
	Rounds    int // T, the largest number of rounds with s_0 + … + s_{T-1} ≤ K
	Computed  int // K' = s_0 + … + s_{T-1}, the gradients of these rounds
	Remainder int // K - K', the gradients of K that are left because they are too few for another round
	Max       int // the largest sample size s_i of these rounds
}

// Cut returns how many whole rounds fit into k gradient computations, if round i has the batch size s.At(i). Cut
// returns no error. In two cases it stops early, and its Run is refused later, when a training is configured:
//
//   - If sizes vary and more than MaxRounds rounds would fit, it stops at MaxRounds+1 rounds, which are too many.
//   - If a size is below 1, it stops after that round, and [Mechanism.Validate] reports the size.
func Cut(s Sizes, k int) Run {
	r := Run{}
	if c, ok := s.(ConstantSizes); ok && c > 0 {
		r = Run{Rounds: k / int(c), Max: int(c)}
		r.Computed = r.Rounds * int(c)
	} else {
		for r.Rounds <= MaxRounds {
			size := s.At(r.Rounds)
			if size < 1 {
				r.Rounds++
				break
			}
			if size > k-r.Computed {
				break
			}
			r.Computed += size
			r.Max = max(r.Max, size)
			r.Rounds++
		}
	}
	if r.Rounds == 0 {
		r.Max = 0
	}
	r.Remainder = k - r.Computed
	return r
}

// Theta returns θ, the run's largest batch size divided by its mean batch size. The theorems of package closedform
// need more rounds for a larger θ. θ is at least 1, and exactly 1 for constant sizes and for a run without rounds.
func (r Run) Theta() float64 {
	if r.Rounds == 0 {
		return 1
	}
	return float64(r.Max) * float64(r.Rounds) / float64(r.Computed)
}
