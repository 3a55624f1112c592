package data

import (
	"math"
	"testing"

	"proactivedp/rng"
)

func TestBins(t *testing.T) {
	for x, want := range map[float32]int{0: 0, 1: 41, 1.5: 41, 2: 42, 0.5: 40, -1: -41, 1e-30: 0, -1e-30: 0, 1e38: mostBin,
		-math.MaxFloat32: -mostBin, math.SmallestNonzeroFloat32: 0} {
		got := bin(x)
		low, high := ends(got)
		if got != want || math.Abs(float64(x)) < 1e18 && math.Abs(float64(x)) > 1e-12 &&
			!(float64(x) >= low && float64(x) <= high) {
			t.Errorf("%v is in bin %d, [%v, %v], want %d", x, got, low, high, want)
		}
	}
}

// bounded returns rows of four columns: from 0 to 100, from −3 to 3, from 1900 to 2000, and 0 or 1, with
// one record that is far outside.
func bounded(t *testing.T, n int) *Dataset {
	t.Helper()
	s := rng.New(1).Stream(rng.Synthetic, 0, 0)
	var rows [][]float32
	var labels []int32
	for i := range n {
		rows = append(rows, []float32{100 * float32(s.Float64()), 6*float32(s.Float64()) - 3, 1900 + 100*float32(s.Float64()),
			float32(i % 2)})
		labels = append(labels, int32(i%2))
	}
	rows[0] = []float32{1e30, -1e30, 1e30, 1}
	d, err := FromRows("own", rows, labels)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestPrivateBounds(t *testing.T) {
	d := bounded(t, 20_000)
	dense := d.WithDense(4, d.Value)
	if len(d.Value) != 4*d.Len() { // zeros are not stored
		value := make([]float32, 0, 4*d.Len())
		for i := range d.Len() {
			value = append(value, wide(d, i)...)
		}
		dense = d.WithDense(4, value)
	}
	known := func(j int) bool { return j == 3 }
	m, hidden, err := dense.PrivateBounds(1, known, rng.New(1).Stream(rng.Bounds, 0, 0))
	if err != nil || hidden != 0 {
		t.Fatal(hidden, err)
	}
	for j, want := range [][2]float64{{0, 128}, {-4, 4}, {1024, 2048}, {0, 1}} {
		if m.High[j] != want[1] || !(m.Low[j] >= want[0] && m.Low[j] < want[0]+1) {
			t.Errorf("column %d: [%v, %v], want %v", j+1, m.Low[j], m.High[j], want)
		}
	}
	if out, err := dense.Mapped(m); err != nil || out.Validate() != nil || wide(out, 0)[0] != 1 {
		t.Errorf("%v", err)
	}
	// Rows whose zeros are not stored stay so.
	if m, _, err = d.PrivateBounds(1, known, rng.New(1).Stream(rng.Bounds, 0, 0)); err != nil || m.Dense() ||
		m.High[2] != 2048 || m.Low[2] != 0 || m.Low[1] != -4 {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := d.Mapped(m); err != nil {
		t.Error(err)
	}
	// Few records are hidden by the noise, and there are bounds all the same.
	few := bounded(t, 20)
	if m, hidden, err = few.PrivateBounds(0.01, known, rng.New(1).Stream(rng.Bounds, 0, 0)); err != nil || hidden == 0 {
		t.Errorf("%d hidden, %v", hidden, err)
	}
	if _, err := few.Mapped(m); err != nil {
		t.Error(err)
	}
	for _, epsilon := range []float64{0, -1, math.NaN(), math.Inf(1), 1e-9} {
		if _, _, err := d.PrivateBounds(epsilon, known, rng.New(1).Stream(rng.Bounds, 0, 0)); err == nil {
			t.Errorf("ε = %v is no error", epsilon)
		}
	}
	if _, _, err := d.PrivateBounds(1, func(int) bool { return true }, rng.New(1).Stream(rng.Bounds, 0, 0)); err == nil {
		t.Error("no columns are no error")
	}
}

// A record is in one bin of each column, so that the L1 sensitivity of all counts is the number of
// columns: the noise that the scale promises has exactly this ratio. With the noise taken out, two
// neighbours differ in one count of each column. Here the whole mechanism is attacked: how often the
// bounds are those of the outlier's bin may differ between neighbours by a factor of exp(ε) at most.
func TestPrivateBoundsOfNeighbours(t *testing.T) {
	const epsilon, draws = 0.7, 4_000
	with, err := FromRows("own", [][]float32{{1024}, {1}}, []int32{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	without, err := FromRows("own", [][]float32{{1}, {0}}, []int32{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	without.Label, without.Start = without.Label[:1], without.Start[:2] // the record {1} alone
	count := func(d *Dataset, seed uint64) (n float64) {
		for i := range draws {
			m, _, err := d.PrivateBounds(epsilon, func(int) bool { return false }, rng.New(seed).Stream(rng.Bounds, 0, i))
			if err != nil {
				t.Fatal(err)
			}
			if m.High[0] == 2048 {
				n++
			}
		}
		return n
	}
	a, b := count(with, 1), count(without, 2)
	if slack := 5 * math.Sqrt(a+b); a > math.Exp(epsilon)*b+slack*math.Exp(epsilon) || b > a*math.Exp(epsilon)+slack {
		t.Errorf("%v of %v draws with the record, %v without it", a, draws, b)
	}
}
