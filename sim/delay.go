package sim

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"proactivedp/internal/decimal"
)

// Delay is a permissible delay: it limits how far a client may run ahead of the global model. v̂_k is the global
// model that contains the updates of all rounds below k. Permits(k, i) says whether a client whose newest global
// model is v̂_k may compute round i; otherwise it waits for a newer one. (The paper writes Υ(k, i).) To write your
// own Delay: Permits(k, i) must be true whenever k ≥ i, or clients could wait forever; String must return the text by
// which reports name the delay; and it must be immutable.
type Delay interface {
	Permits(k, i int) bool
	String() string
}

// Dependent is a [Delay] that differs between clients, or depends on the batch sizes s_j of the mechanism. A run
// calls For(client, before) once for each client and uses the Delay that it returns. before[i] = Σ_{j<i} s_j is the
// number of gradients that a client is expected to compute before round i. For may keep before, but must not change
// it.
//
// The Dependent's own method Permits(k, i) knows neither the client nor the batch sizes, and runs use it only to check
// that nobody waits forever. It must return true only if every client may compute round i with broadcast k, whatever
// the batch sizes are.
type Dependent interface {
	Delay
	For(client int, before []int) Delay
}

func permitted(d Delay, client int, before []int) Delay {
	if d, ok := d.(Dependent); ok {
		return d.For(client, before)
	}
	return d
}

// AtMost is a [Delay] that lets a client run at most τ ≥ 0 rounds ahead of its newest global model, where τ is the
// value. A client whose newest global model contains the updates of all rounds below k may compute round i if k ≥ i −
// τ. AtMost(0) is synchronous training. The paper uses 1.
type AtMost int

// Permits reports whether a client whose newest global model is v̂_k (with all rounds below k) may compute round i:
// whether k ≥ i − τ.
func (tau AtMost) Permits(k, i int) bool { return k >= i-int(tau) }

func (tau AtMost) String() string { return strconv.Itoa(int(tau)) }

// Unlimited is a [Delay] with which no client ever waits: it may compute any round, however old its newest global
// model is.
type Unlimited struct{}

func (Unlimited) Permits(int, int) bool { return true }

func (Unlimited) String() string { return "unlimited" }

// ByClient is a [Delay] with a separate limit for each client: element c is the largest number τ ≥ 0 of rounds that
// client c may run ahead of its newest global model, see [AtMost].
type ByClient []int

// Permits reports whether every client may compute round i if its newest global model is v̂_k (with all rounds below
// k). This is so if k ≥ i − τ for the smallest limit τ of all clients. For the limit of one client use For.
func (taus ByClient) Permits(k, i int) bool { return AtMost(slices.Min(taus)).Permits(k, i) }

// For returns the delay of one client: AtMost with this client's limit τ. The second argument is not used.
func (taus ByClient) For(client int, _ []int) Delay { return AtMost(taus[client]) }

func (taus ByClient) String() string { return "clients:" + joined(taus) }

// ByRound is a [Delay] with a separate limit for each round: element i is the largest number τ ≥ 0 of rounds by which
// a client may be ahead of its newest global model when it begins round i, see [AtMost]. The last element is also the
// limit of all later rounds.
type ByRound []int

// Permits reports whether a client whose newest global model is v̂_k (with all rounds below k) may compute round i:
// whether k ≥ i − τ_i, where τ_i is the limit of round i.
func (taus ByRound) Permits(k, i int) bool { return k >= i-taus[min(i, len(taus)-1)] }

func (taus ByRound) String() string { return "list:" + joined(taus) }

// SquareRoot is a [Delay] that grows with the training: when a client has computed t gradients, its newest global
// model may lack the last √(t/ln t) of them. The paper says that this does not harm convergence (Nguyen et al. 2018).
//
// In detail: let s_j be the mechanism's batch sizes. A client begins round i after t = Σ_{j<i} s_j
// gradients, with t counted as at least 2. The global model v̂_k contains the client's rounds below k, and
// may lack rounds k to i−1. So the client may compute round i with v̂_k if
//
//	k ≥ i or Σ_{j=k}^{i−1} s_j ≤ √(t/ln t)
//
// If all s_i = s, that is about √(i/(s ln(s·i))) rounds. With a large s, training stays synchronous for a
// long time.
type SquareRoot struct{}

func (SquareRoot) Permits(k, i int) bool { return k >= i }

// For returns the delay for given batch sizes. It is the same for all clients. before[i] is the sum of the
// mechanism's batch sizes before round i.
func (SquareRoot) For(_ int, before []int) Delay { return squareRoot{before: before} }

func (SquareRoot) String() string { return "sqrt" }

// squareRoot is the delay SquareRoot for given sample sizes.
type squareRoot struct {
	SquareRoot
	before []int
}

func (d squareRoot) Permits(k, i int) bool {
	if k >= i {
		return true
	}
	t := float64(d.before[i])
	lacking := float64(d.before[i] - d.before[k])
	return t >= 2 && lacking*lacking*math.Log(t) <= t
}

func joined(taus []int) string {
	list := make([]string, len(taus))
	for i, tau := range taus {
		list[i] = strconv.Itoa(tau)
	}
	return strings.Join(list, ",")
}

// ParseDelay reads a permissible delay from text: how many rounds a client may be ahead of its newest global model.
// The text is a number τ ≥ 0 ([AtMost]), "unlimited" ([Unlimited]), "sqrt" ([SquareRoot]), "clients:T0,T1,…" with a
// limit for each client ([ByClient]), or "list:D0,D1,…" with a limit for each round ([ByRound]).
func ParseDelay(text string) (Delay, error) {
	switch text {
	case Unlimited{}.String():
		return Unlimited{}, nil
	case SquareRoot{}.String():
		return SquareRoot{}, nil
	}
	kind, args, named := strings.Cut(text, ":")
	if !named {
		args = text
	}
	var taus []int
	for field := range strings.SplitSeq(args, ",") {
		tau, err := decimal.Count(field)
		if err != nil || tau < 0 {
			taus = nil
			break
		}
		taus = append(taus, tau)
	}
	switch {
	case taus == nil:
	case !named && len(taus) == 1:
		return AtMost(taus[0]), nil
	case kind == "clients":
		return ByClient(taus), nil
	case kind == "list":
		return ByRound(taus), nil
	}
	return nil, fmt.Errorf("delay = %q, must be a number of rounds of at least 0, %q, %q, clients:T0,T1,… (one a "+
		"client) or list:D0,D1,… (by round, the last repeats)", text, Unlimited{}, SquareRoot{})
}

// checkDelay reports an error if a client could wait forever.
func checkDelay(d Delay, clients, rounds int) error {
	switch d := d.(type) {
	case nil:
		return fmt.Errorf("no permissible delay Υ")
	case AtMost:
		return checkTaus([]int{int(d)})
	case ByRound:
		return checkTaus(d)
	case ByClient:
		if len(d) != clients {
			return fmt.Errorf("delay %v has values for %d clients, must have %d", d, len(d), clients)
		}
		return checkTaus(d)
	case Unlimited, SquareRoot:
		return nil
	}
	// k is never above i, because v̂_k holds the client's own rounds < k.
	for i := range rounds {
		if !d.Permits(i, i) {
			return fmt.Errorf("delay %v forbids round %d after all earlier rounds: clients would wait forever",
				d, i)
		}
	}
	return nil
}

func checkTaus(taus []int) error {
	if len(taus) == 0 || slices.Min(taus) < 0 {
		return fmt.Errorf("delay = %v rounds, must be at least one number, each at least 0", taus)
	}
	return nil
}

// largestLag returns the largest i − k that d ever permits, or false if that is not known.
func largestLag(d Delay) (int, bool) {
	switch d := d.(type) {
	case AtMost:
		return int(d), true
	case ByClient:
		return slices.Max(d), true
	case ByRound:
		return slices.Max(d), true
	}
	return 0, false
}
