package sim

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"proactivedp/dp"
)

func TestDelaysReadWhatTheyPrint(t *testing.T) {
	for _, text := range []string{"0", "7", "unlimited", "sqrt", "clients:0,3,1", "list:5", "list:0,2,4"} {
		d, err := ParseDelay(text)
		if err != nil || d.String() != text {
			t.Errorf("%q is read as %v, %v", text, d, err)
		}
	}
	for _, text := range []string{"", "-1", "1,2", "x", "clients:", "clients:1,-1", "list:", "list:1,x", "sqrt:2",
		"unlimited:1", "rounds:1"} {
		if d, err := ParseDelay(text); err == nil {
			t.Errorf("%q is read as %v", text, d)
		}
	}
}

// Every named delay Υ agrees with its definition, and is true for k ≥ i, for a sequence of sizes.
func TestDelaysAreTheirDefinitions(t *testing.T) {
	const rounds = 300
	sched := newSchedule(dp.PolynomialSizes{First: 1, Slope: 0.01, Power: 1}, rounds, StepSize{Eta0: 1, Decay: NoDecay}, true)
	lags := map[int]bool{}
	for client := range 2 {
		for _, c := range []struct {
			d    Delay
			want func(k, i int) bool
		}{
			{ByClient{2, 5}, func(k, i int) bool { return k >= i-[]int{2, 5}[client] }},
			{ByRound{0, 1, 9, 4}, func(k, i int) bool { return k >= i-[]int{0, 1, 9, 4}[min(i, 3)] }},
			{SquareRoot{}, func(k, i int) bool {
				t, lacking := 0, 0
				for j := range i {
					if t += sched.before[j+1] - sched.before[j]; j >= k {
						lacking += sched.before[j+1] - sched.before[j]
					}
				}
				return k >= i || t >= 2 && float64(lacking) <= math.Sqrt(float64(t)/math.Log(float64(t)))
			}},
		} {
			d := permitted(c.d, client, sched.before)
			for i := range rounds {
				for k := range i + 1 {
					if got := d.Permits(k, i); got != c.want(k, i) {
						t.Fatalf("%v, client %d: Υ(%d, %d) = %t", d, client, k, i, got)
					} else if got && c.d == (Delay)(SquareRoot{}) {
						lags[i-k] = true
					}
				}
				if !d.Permits(i, i) || c.d.Permits(0, i) && !d.Permits(0, i) {
					t.Fatalf("%v, client %d, round %d: it may wait for ever, or less is permitted than to all", d,
						client, i)
				}
			}
		}
	}
	if len(lags) < 5 {
		t.Errorf("√(t/ln t) allows only the lags %v", lags)
	}
}

// Each delay is used fully: the measured staleness reaches the allowed one. That it never exceeds it is
// tested in TestRoughRunAppliesEveryUpdateOnce.
func TestNamedDelaysAreUsed(t *testing.T) {
	for _, c := range []struct {
		d    Delay
		want int
	}{{ByClient{0, 0, 6, 0}, 6}, {ByRound{0, 0, 0, 3}, 3}} {
		if r := runVirtual(t, small(t, withDelay(c.d)), Perf{}); r.MaxLag > c.want || r.MaxLag < c.want-1 {
			t.Errorf("Υ %v: largest lag %d, want %d", c.d, r.MaxLag, c.want)
		}
	}
	sizes := func(c *Config) { c.Mechanism.Sizes, c.GradComps = dp.ConstantSizes(1), 400 }
	if r := runVirtual(t, small(t, sizes, withDelay(SquareRoot{})), Perf{}); r.MaxLag < 4 || r.MaxLag > 8 {
		t.Errorf("sqrt: largest lag %d, √(400/ln 400) = 8.2 are allowed", r.MaxLag)
	}
}

// forbidding is a user's Υ under which clients would wait for ever.
type forbidding struct{ AtMost }

func (forbidding) Permits(k, i int) bool { return i < 40 }

func TestDelaysThatStallAreRefused(t *testing.T) {
	for want, d := range map[string]Delay{
		"forbids round 40": forbidding{}, "has values for 2 clients": ByClient{1, 2},
		"delay = [1 -1 1 1]": ByClient{1, -1, 1, 1},
		"delay = []":         ByRound{}, "delay = [-1]": AtMost(-1), "no permissible delay": nil,
	} {
		if err := small(t, withDelay(d)).Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %q", d, err, want)
		}
	}
}

// Any text of a permissible delay that is accepted gives a delay that is true for k ≥ i, is never true
// beyond its stated lag, and can be read back from its own text.
func FuzzParseDelay(f *testing.F) {
	for _, text := range []string{"0", "7", "1e18", "unlimited", "sqrt", "clients:0,3,1", "list:",
		"list:0,2,9223372036854775807", "-1", "1,2"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseDelay(text)
		if err != nil {
			return
		}
		clients := 3
		if list, ok := d.(ByClient); ok {
			clients = len(list)
		}
		if err := checkDelay(d, clients, 100); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if again, err := ParseDelay(d.String()); err != nil || !reflect.DeepEqual(again, d) {
			t.Errorf("%q is written as %q, which gives %v, %v", text, d, again, err)
		}
		before := make([]int, 101)
		for i := range before {
			before[i] = 5 * i
		}
		largest, told := largestLag(d)
		for client := range min(clients, 3) {
			own := permitted(d, client, before)
			for i := range 100 {
				if !own.Permits(i, i) {
					t.Errorf("%q: client %d may not begin round %d with all rounds before it", text, client, i)
				}
				if lag := largest + 1; told && lag > 0 && lag <= i && own.Permits(i-lag, i) {
					t.Errorf("%q: client %d is %d rounds ahead, told were %d", text, client, lag, largest)
				}
			}
		}
	})
}
