package pool

import "testing"

// Of two releases the one with the larger ε costs more, and one without any ε most.
func TestWhichReleaseIsWorse(t *testing.T) {
	of := func(epsilon float64) *Paid {
		var p Paid
		if epsilon > 0 {
			p.Privacy.Certified.PerRecord.EpsilonUpper = &epsilon
		}
		return &p
	}
	const none = 0
	for _, c := range []struct {
		p, o float64
		want bool
	}{
		{1, 2, false}, {2, 1, true}, {1, 1, false}, {none, 1, true}, {1, none, false}, {none, none, false},
	} {
		if got := of(c.p).Worse(of(c.o)); got != c.want {
			t.Errorf("ε = %v worse than %v: %v", c.p, c.o, got)
		}
	}
}
