package rdp

import (
	"math"
	"slices"
	"strings"
	"testing"

	"proactivedp/dp"
	"proactivedp/internal/testkit"
)

// The orders of other accountants: Opacus 1.5.4, dp_accounting 0.6.0 and, for
// its rows with "orders to 16384", all integers to 63 and 64·2^(k/4).
func peerOrders() (opacus, google, wide []float64) {
	for x := 1.0; x < 100; x++ {
		opacus = append(opacus, 1+x/10)
	}
	for x := 11.0; x < 64; x++ {
		opacus = append(opacus, x)
	}
	google = append(slices.Clone(opacus), 128, 256, 512, 1024)
	for x := 2.0; x < 64; x++ {
		wide = append(wide, x)
	}
	for k := range 33 {
		wide = append(wide, math.Round(64*math.Exp2(float64(k)/4)))
	}
	return opacus, google, wide
}

func integers(orders []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(orders), func(x float64) bool { return x != math.Floor(x) })
}

func eventOf(r testkit.Row) dp.Event {
	e := dp.Event{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: r.Sigma, Count: r.T}
	if r.N > 0 {
		e.SampleSize, e.DatasetSize = r.S, r.N
	} else {
		e.Rate = r.Q
	}
	return e
}

// deltaOf is the δ of a row before it was rounded to ten digits.
func deltaOf(r testkit.Row) float64 {
	if r.N > 0 {
		return 1 / float64(r.N)
	}
	return r.Delta
}

func epsilonOf(t *testing.T, a Accountant, e dp.Event, delta float64) float64 {
	t.Helper()
	b, err := a.Epsilon(t.Context(), []dp.Event{e}, delta)
	if err != nil {
		t.Fatal(err)
	}
	return b.Epsilon
}

// With the orders of another accountant, ε is the same as there. With all orders it is never larger, and
// never below what is proved to be necessary.
//
// At fractional orders, dp_accounting 0.6.0 adds up the absolute values of an alternating series. So its
// result is between that of all orders here and that of whole orders.
func TestPoissonAgainstPeers(t *testing.T) {
	rows, err := testkit.Accountants()
	if err != nil {
		t.Fatal(err)
	}
	opacus, google, wide := peerOrders()
	compared := map[string]int{}
	for _, r := range rows {
		if r.Adjacency != "add-or-remove" {
			continue
		}
		e, delta := eventOf(r), deltaOf(r)
		list := func(orders []float64) float64 { return epsilonOf(t, Accountant{Orders: orders}, e, delta) }
		same := func(got float64) {
			t.Helper()
			if !(relative(got, r.Epsilon) <= 1e-6) {
				t.Errorf("%+v: %v", r, got)
			}
		}
		switch name, _, _ := strings.Cut(r.Accountant, "("); {
		case r.Accountant == "opacus-RDP":
			same(list(opacus))
		case r.Accountant == "dp_accounting-RDP(orders to 16384)":
			same(list(wide))
		case r.Accountant == "dp_accounting-RDP(default orders)":
			if low, high := list(google), list(integers(google)); !(r.Epsilon >= low*(1-1e-6) &&
				r.Epsilon <= high*(1+1e-6)) {
				t.Errorf("%+v: not in [%v, %v]", r, low, high)
			}
		case name == "prv_accountant-lower":
			if all := epsilonOf(t, Accountant{}, e, delta); !(all >= r.Epsilon) {
				t.Errorf("%+v: %v", r, all)
			}
			compared[name]++
			continue
		default:
			continue
		}
		compared[r.Accountant]++
		if all := epsilonOf(t, Accountant{}, e, delta); !(all <= r.Epsilon*(1+1e-9)) {
			t.Errorf("%+v: %v with all orders", r, all)
		}
	}
	if len(compared) != 4 {
		t.Errorf("compared %v", compared)
	}
	t.Log(compared)
}

// If a record of a Poisson sample is replaced, the cost is above that of the PLD of the same pair, but by
// no more than the conversion from RDP loses.
func TestReplaceOneAgainstPLD(t *testing.T) {
	rows, err := testkit.Accountants()
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, r := range rows {
		if r.Adjacency != "replace-one" || r.Sampling != "poisson" {
			continue
		}
		e := eventOf(r)
		e.Adjacency = dp.ReplaceOne
		if got := epsilonOf(t, Accountant{}, e, deltaOf(r)); !(got >= r.Epsilon && got <= 1.3*r.Epsilon) {
			t.Errorf("%+v: %v", r, got)
		}
		compared++
	}
	if compared == 0 {
		t.Error("no rows")
	}
}

// differences returns log B(ε, j) for even j to 256, at index j/2: the finite
// differences log E[(e^w - 1)^j] of Theorem 27 below.
func differences(sigma float64) []float64 {
	p := pair{mixture, 1, sigma} // only for its exponent
	width := min(sigma, sigma*sigma)
	var even []float64
	for j := 0.0; j <= 256; j += 2 {
		var s logSum
		for x := -14 * sigma; x < j+14*sigma; x += width {
			s.panel(func(x float64) float64 {
				z := x / sigma
				return -z*z/2 - math.Log(sigma*math.Sqrt(2*math.Pi)) + j*math.Log(math.Abs(math.Expm1(p.exponent(x))))
			}, x, x+width)
		}
		even = append(even, s.log())
	}
	return even
}

// withoutReplacement is the bound of Wang, Balle, Kasiviswanathan 2019 (arXiv
// 1808.00087), Theorem 27, for the Gaussian mechanism with sensitivity 1: log
// of the moment of integer order n. Like dp_accounting, it takes the second,
// simpler bound of its terms alone from 257 on.
func withoutReplacement(q, sigma float64, n int, even []float64) float64 {
	variance := sigma * sigma
	var s logSum
	s.add(0)
	logBinomial := math.Log(float64(n)) // of n over j
	for j := 2; j <= n; j++ {
		logBinomial += math.Log(float64(n-j+1) / float64(j))
		term := math.Ln2 + float64(j)*float64(j-1)/(2*variance)
		if j == 2 {
			term = min(term, math.Log(4*math.Expm1(1/variance)))
		} else if n <= 256 {
			term = min(term, math.Log(4)+(even[j/2]+even[(j+1)/2])/2)
		}
		s.add(float64(j)*math.Log(q) + logBinomial + term)
	}
	return s.log()
}

// The bound of Wang, Balle and Kasiviswanathan as dp_accounting has it, with its
// interpolation at other orders (their Corollary 10), and the pair used here,
// which is never worse. Their sensitivity is 1: half of ours, with half of the
// noise.
func TestFixedSizeAgainstPeers(t *testing.T) {
	rows, err := testkit.Accountants()
	if err != nil {
		t.Fatal(err)
	}
	_, google, _ := peerOrders()
	compared := 0
	for _, r := range rows {
		if r.Accountant != "dp_accounting-RDP-WOR(default orders)" {
			continue
		}
		e, delta := eventOf(r), deltaOf(r)
		q := e.SampleRate()
		even := differences(r.Sigma)
		e.Sampling, e.Adjacency, e.NoiseMultiplier = dp.FixedSize, dp.ReplaceOne, 2*r.Sigma
		least := math.Inf(1)
		for _, alpha := range google {
			n := math.Floor(alpha)
			m := withoutReplacement(q, r.Sigma, int(n), even)
			if alpha > n {
				m += (alpha - n) * (withoutReplacement(q, r.Sigma, int(n)+1, even) - m)
			}
			tau := float64(r.T) * m / (alpha - 1)
			least = min(least, epsilon(alpha, tau, delta))
			ours := float64(r.T) * (pair{symmetric, q, r.Sigma}).divergence(alpha-1)
			if !(ours <= tau) {
				t.Errorf("%+v: τ(%v) = %v, bound %v", r, alpha, ours, tau)
			}
		}
		if !(relative(least, r.Epsilon) <= 1e-6) {
			t.Errorf("%+v: %v", r, least)
		}
		if got := epsilonOf(t, Accountant{}, e, delta); !(got <= r.Epsilon) {
			t.Errorf("%+v: %v", r, got)
		}
		compared++
	}
	if compared == 0 {
		t.Error("no rows")
	}
}
