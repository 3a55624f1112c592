package dp

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"proactivedp/internal/decimal"
)

// Sizes is a sample size sequence s_0, s_1, …: what a client of Algorithm
// LocalSGDwithDP samples in round i. Implementations are immutable.
type Sizes interface {
	// At returns s_i ≥ 1 for a round i ≥ 0.
	At(i int) int
	// String is the sequence as ParseSizes reads it.
	String() string
}

// ConstantSizes is s_i = s.
type ConstantSizes int

// At returns s.
func (s ConstantSizes) At(int) int { return int(s) }

func (s ConstantSizes) String() string { return strconv.Itoa(int(s)) }

// PolynomialSizes is s_i = ⌊First + Slope·i^Power⌋. Power 1 is the linear
// sequence.
type PolynomialSizes struct {
	First, Slope, Power float64 // First ≥ 1, Slope ≥ 0, Power > 0
}

// At returns s_i, at most 2^31-1, or 0 if that is not a size. No mechanism may have size 0.
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

// ListSizes is a sequence given term by term; its last term repeats.
type ListSizes []int

// At returns the i-th term, or 0, which no mechanism may have, of an empty list.
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

// ParseSizes reads "26", "linear:10,0.5", "poly:10,0.5,1.5" or "list:5,10,20".
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

// MaxRounds bounds the rounds of one client: what is kept for each round of a
// run (step sizes, the server's counts) then stays below 200 MB.
const MaxRounds = 10_000_000

// Run is a sequence cut to a number of gradient computations.
type Run struct {
	Rounds    int // T, the largest with s_0 + … + s_{T-1} ≤ K
	Computed  int // K', that sum
	Remainder int // K - K', what is left of K
	Max       int // the largest s_i that is used
}

// Cut returns how many whole rounds of s fit into k gradient computations. It
// stops looking above MaxRounds, which no run may have, and after a round of a size below 1,
// which Mechanism.Validate refuses.
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

// Theta returns θ = s_max/s̄ ≥ 1 of the run (1 if it has no rounds), as in
// Theorem Main: 1 exactly for constant sizes.
func (r Run) Theta() float64 {
	if r.Rounds == 0 {
		return 1
	}
	return float64(r.Max) * float64(r.Rounds) / float64(r.Computed)
}
