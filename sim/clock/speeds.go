package clock

import (
	"fmt"
	"strconv"
	"strings"

	"proactivedp/data"
	"proactivedp/rng"
)

// Speeds says how fast each simulated client computes. A gradient of a client with speed x takes 1/x times the
// duration that is drawn from Timing.Compute, the distribution for speed 1. Either List has the speeds, or Kind and
// Shape describe a distribution with mean 1, from which the factor 1/x of each client is drawn once. With the zero
// value all clients have speed 1.
type Speeds struct {
	List  []float64 // the speed of each client
	Kind  Family    // Lognormal or Pareto: the distribution of the factor 1/x if List is nil
	Shape float64   // the parameter of Kind: σ of Lognormal or α of Pareto
}

// MinSpeed and MaxSpeed are the limits of a client's speed in Speeds.List. A gradient of a client with speed
// x takes 1/x times the duration that is drawn from Timing.Compute.
const (
	MinSpeed = 1e-3
	MaxSpeed = 1e3
)

// ParseSpeeds reads [Speeds] from text: a list with one speed for each client, such as 1,1,0.5, or the distribution
// of the factor 1/speed, lognormal:SIGMA or pareto:ALPHA (see Duration.Shape). "" means that all clients have speed
// 1.
func ParseSpeeds(text string) (Speeds, error) {
	if text == "" {
		return Speeds{}, nil
	}
	bad := func() (Speeds, error) {
		return Speeds{}, fmt.Errorf("speeds = %q, must be one for each client in [%g, %g] such as 1,1,0.5, or "+
			"lognormal:SIGMA with SIGMA in [0, %d] or pareto:ALPHA with ALPHA in (1, %d]",
			text, MinSpeed, float64(MaxSpeed), maxSigma, maxAlpha)
	}
	if kind, shape, drawn := strings.Cut(text, ":"); drawn {
		x, err := strconv.ParseFloat(shape, 64)
		s := Speeds{Kind: Family(kind), Shape: x}
		if err != nil || kind == "" || s.Validate(0) != nil { // an empty kind would mean speed 1
			return bad()
		}
		return s, nil
	}
	var s Speeds
	for field := range strings.SplitSeq(text, ",") {
		x, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return bad()
		}
		s.List = append(s.List, x)
	}
	if s.Validate(len(s.List)) != nil {
		return bad()
	}
	return s, nil
}

func (s Speeds) String() string {
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	if s.Kind != "" {
		return string(s.Kind) + ":" + number(s.Shape)
	}
	list := make([]string, len(s.List))
	for i, x := range s.List {
		list[i] = number(x)
	}
	return strings.Join(list, ",")
}

// AllOne reports whether s is the zero value, with which all clients have speed 1.
func (s Speeds) AllOne() bool { return s.Kind == "" && s.List == nil }

// Validate returns an error if a field of s is outside its range, or if List does not have one speed for each client.
// clients is the number of clients in the run.
func (s Speeds) Validate(clients int) error {
	switch {
	case s.AllOne():
		return nil
	case s.Kind == "":
		if len(s.List) != clients {
			return fmt.Errorf("number of speeds = %d, must be %d, one for each client", len(s.List), clients)
		}
		for i, x := range s.List {
			if !(x >= MinSpeed && x <= MaxSpeed) {
				return fmt.Errorf("speed of client %d = %v, must be in [%g, %g]", i, x, MinSpeed,
					float64(MaxSpeed))
			}
		}
		return nil
	case s.Kind != Lognormal && s.Kind != Pareto:
		return fmt.Errorf("distribution of the speeds = %q, must be %q or %q", s.Kind, Lognormal, Pareto)
	case s.List != nil:
		return fmt.Errorf("speeds have both a list and a distribution, must have only one")
	}
	return s.factor().check()
}

// factor returns the distribution of the factor 1/x, of mean 1.
func (s Speeds) factor() Duration { return Duration{Kind: s.Kind, Shape: s.Shape} }

// Factors returns for each of the clients the factor 1/x by which its gradients take longer than at speed 1, where x
// is its speed. nil means that all factors are 1. If the speeds are not listed, the factors are drawn from root.
// Factors panics if clients is not in [0, data.MaxParts] or if Validate(clients) returns an error.
func (s Speeds) Factors(clients int, root *rng.Root) []float64 {
	if s.AllOne() {
		return nil
	}
	if clients < 0 || clients > data.MaxParts {
		panic(fmt.Sprintf("clock: factors of %d clients, must be in [0, %d]", clients, data.MaxParts))
	}
	if err := s.Validate(clients); err != nil {
		panic("clock: factors: " + err.Error())
	}
	out := make([]float64, clients)
	drawn := s.factor()
	var stream rng.Stream
	for c := range out {
		if s.List != nil {
			out[c] = 1 / s.List[c]
			continue
		}
		root.Reseed(&stream, rng.Speed, uint32(c), 0)
		out[c] = drawn.unit(&stream)
	}
	return out
}
