package clock

import (
	"fmt"
	"strconv"
	"strings"

	"proactivedp/data"
	"proactivedp/rng"
)

// Speeds says how fast each client computes in simulated time, relative to a usual client. A client with speed x
// takes 1/x times as long for a gradient as Timing.Compute says. Either List has the speeds, or Kind and Shape
// describe a distribution with mean 1, from which the factor 1/x is drawn once for each client. With the zero value
// all clients have speed 1.
type Speeds struct {
	List  []float64 // speed of each client, in [MinSpeed, MaxSpeed]; 1 is usual
	Kind  Family    // if List is nil: the distribution of the factor 1/x, Lognormal or Pareto
	Shape float64   // parameter of that distribution: σ of Lognormal or α of Pareto, see Duration.Shape
}

// MinSpeed and MaxSpeed are the limits of a client's speed in Speeds.List. A usual client has speed 1.
const (
	MinSpeed = 1e-3
	MaxSpeed = 1e3
)

// ParseSpeeds reads the speeds of clients: a list with one speed for each client, such as "1,1,0.5", or the
// distribution of 1/speed, "lognormal:SIGMA" or "pareto:ALPHA". "" means that all clients have speed 1.
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

// AllOne reports whether all clients have speed 1, so that no speeds need to be drawn.
func (s Speeds) AllOne() bool { return s.Kind == "" && s.List == nil }

// Validate returns an error if a field is outside its range. clients is the number of clients in the run, because
// List must have a speed for each of them.
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

// Factors returns for each client the factor 1/x by which its gradients take longer than at speed x = 1. nil means
// that all factors are 1. Factors that are not listed are drawn from root, so they are the same in each run with this
// root. Factors panics if clients is not in [0, data.MaxParts] or if Validate(clients) returns an error.
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
