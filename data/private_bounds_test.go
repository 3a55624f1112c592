package data

import (
	"math"
	"strings"
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

// This test attacks the whole mechanism on two neighbouring data sets: k and k−1 of their records are in
// the bin of 1024. The probability that the largest bound is that of this bin may differ by a factor of at
// most exp(ε). For this, the scale of the noise must be 2. With a scale of 1 the threshold would be 11, so
// the noise would decide at k = 9, and the factor would be e. Each comparison is wrong with probability
// below 1e-5 (4.3 standard deviations of a - exp(ε)·b).
func TestPrivateBoundsOfNeighbours(t *testing.T) {
	const epsilon, draws, k = 0.5, 8_000, 9
	share := func(k int) (n float64) {
		rows, labels := [][]float32{{1}}, []int32{0}
		for range k {
			rows, labels = append(rows, []float32{1024}), append(labels, 1)
		}
		d, err := FromRows("own", rows, labels)
		if err != nil {
			t.Fatal(err)
		}
		for i := range draws {
			m, _, err := d.PrivateBounds(epsilon, func(int) bool { return false }, rng.New(uint64(k)).Stream(rng.Bounds, 0, i))
			if err != nil {
				t.Fatal(err)
			}
			if m.High[0] == 2048 {
				n++
			}
		}
		return n
	}
	a, b := share(k), share(k-1)
	for _, pair := range [][2]float64{{a, b}, {draws - b, draws - a}, {b, a}, {draws - a, draws - b}} {
		x, y := pair[0], pair[1]*math.Exp(epsilon)
		if x > y+4.3*math.Sqrt(x+math.Exp(epsilon)*y) {
			t.Errorf("%v of %v draws, and %v of its neighbour", pair[0], draws, pair[1])
		}
	}
}

// With few rows, noisy bounds may make all records equal. If this leaves the test set empty, the error
// says so.
func TestSplitOfRecordsThatNoiseMadeEqual(t *testing.T) {
	const note = "the noise hid the numbers of 1 column"
	d := &Dataset{Name: "few", Features: 1, Classes: 2, Label: make([]int32, 9), Note: note, Index: []int32{0}, Value: make([]float32, 9)}
	_, _, err := SplitByRecord(d, rng.New(1))
	if err == nil || !strings.Contains(err.Error(), "equal records are on one side; "+note) {
		t.Errorf("%v, must have %q", err, note)
	}
}
