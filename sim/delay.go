package sim

import (
	"fmt"
	"strconv"
)

// Delay is the permissible delay Υ(k, i): whether a client may compute round i
// when the newest global model it has received is v̂_k. It must be true for
// k ≥ i, or clients could wait for ever. Implementations are immutable.
type Delay interface {
	Permits(k, i int) bool
	String() string
}

// AtMost lets a client run at most τ ≥ 0 rounds ahead: Υ(k, i) ⇔ k ≥ i − τ. 0 is
// synchronous training, 1 the paper's setting.
type AtMost int

// Permits reports k ≥ i − τ.
func (tau AtMost) Permits(k, i int) bool { return k >= i-int(tau) }

func (tau AtMost) String() string { return strconv.Itoa(int(tau)) }

// Unlimited is Υ ≡ true.
type Unlimited struct{}

// Permits reports true.
func (Unlimited) Permits(int, int) bool { return true }

func (Unlimited) String() string { return "unlimited" }

// ParseDelay reads a number of rounds τ ≥ 0 or "unlimited".
func ParseDelay(text string) (Delay, error) {
	if text == (Unlimited{}).String() {
		return Unlimited{}, nil
	}
	tau, err := strconv.Atoi(text)
	if err != nil || tau < 0 {
		return nil, fmt.Errorf("sim: delay = %q, must be a number of rounds of at least 0, or %q", text, Unlimited{})
	}
	return AtMost(tau), nil
}
