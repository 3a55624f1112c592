package logreg_test

import (
	"math"
	"slices"
	"testing"

	"proactivedp/data"
	"proactivedp/models"
	"proactivedp/models/logreg"
	"proactivedp/rng"
)

// attackRows are n records of one column whose gradients at 0 would move a sum in
// float32 by far more than the clipping norm: m = 2^k that each add 1024, which come to
// 2^(k+10); one that adds a little; and the rest that each take away a bit less than half
// the last place of what the sum is now. In float32 they are lost; but not after one of
// the first has left, since the sum's last place is half as large then.
func attackRows(n, m int) *data.Dataset {
	d := &data.Dataset{Name: "attack", Features: 1, Classes: 2, Start: []int{0}}
	add := func(g float64) {
		label := int32(0)
		if g < 0 {
			label = 1
		}
		d.Index, d.Value, d.Label = append(d.Index, 0), append(d.Value, float32(2*math.Abs(g))), append(d.Label, label)
		d.Start = append(d.Start, len(d.Index))
	}
	last := 1024 * float64(m) * 0x1p-23
	for range m {
		add(1024)
	}
	add(4 * last)
	for d.Len() < n {
		add(-last / 2 * (1 - 0x1p-20))
	}
	return d
}

// sumOf is the wide sum over all records of d but for one, -1 for none.
func sumOf(t *testing.T, m *logreg.Model, w []float32, d *data.Dataset, clip float64, without int) []float64 {
	t.Helper()
	b, sum := data.Batch{Data: d}, make([]float64, m.NumParams())
	for i := range d.Len() {
		if i != without {
			b.Rows = append(b.Rows, int32(i))
		}
	}
	if err := m.WideGradSum(sum, w, b, clip, m.NewScratch()); err != nil {
		t.Fatal(err)
	}
	return sum
}

// moved is ‖x − y‖.
func moved(x, y []float64) float64 {
	d := slices.Clone(x)
	for i := range d {
		d[i] -= y[i]
	}
	return length(d)
}

func length(x []float64) float64 {
	squares := 0.0
	for _, v := range x {
		squares += v * v
	}
	return math.Sqrt(squares)
}

// Sums in float32 move by 2.09, 5.3 and 43 times C when the first record leaves: the
// attack does so to one kept beside. The model's sum does not move by more than C.
func TestCraftedRecordsMoveTheSumByC(t *testing.T) {
	for _, c := range []struct {
		n, m  int
		naive float64
	}{{8570, 4096, 2.09}, {16992, 8192, 5.29}, {54289, 32768, 43}} {
		d := attackRows(c.n, c.m)
		if err := d.Validate(); err != nil {
			t.Fatal(err)
		}
		clip := math.Hypot(1024, 0.5) * (1 + 0x1p-12) // nothing is clipped, the shade included
		var sums [2]float32
		for first := range sums {
			for i := first; i < d.Len(); i++ {
				row, label := data.Batch{Data: d, Rows: []int32{int32(i)}}.Example(0)
				sums[first] += (0.5 - float32(label)) * row.Value[0]
			}
		}
		if by := float64(sums[0]-sums[1]) / clip; by < c.naive {
			t.Errorf("%d records: a sum in float32 moves by %.4g·C, want %v: the attack is blunt", c.n, by, c.naive)
		}
		plain, err := logreg.NewPlain(1)
		if err != nil {
			t.Fatal(err)
		}
		ridge, err := logreg.NewRidge(1, 1/float64(c.n))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []*logreg.Model{plain, ridge} {
			for _, clip := range []float64{clip, 100, 1e-3} {
				w := []float32{0, 0}
				all := sumOf(t, m, w, d, clip, -1)
				for _, without := range []int{0, c.m, c.n - 1} {
					if by := moved(all, sumOf(t, m, w, d, clip, without)) / clip; by > 1 {
						t.Errorf("%s, %d records, C = %.4g: without record %d the sum moves by %.9g·C", m.Name(), c.n,
							clip, without, by)
					}
				}
			}
		}
	}
}

// cancelling is a ridge model with parameters and a row whose gradient a·x̄ + λw̄ is 0
// but for the rounding of x to float32: x̄ = w̄/β for the bias β, so that z = ‖w̄‖²/β,
// and λ = −a/β. ‖λw̄‖ is size at about the given a = σ(z), β < 0.
func cancelling(t *testing.T, s *rng.Stream, features int, size float64) (*logreg.Model, []float32, data.Row) {
	t.Helper()
	const z = -0.7
	a := 1 / (1 + math.Exp(-z))
	// ‖λw̄‖ = a·‖w̄‖/|β| and ‖w̄‖² = z·β: so |β| = |z|·(a/size)², at which ‖w̄‖ ≥ |β|
	// needs size ≥ a.
	beta := z * (a / size) * (a / size)
	w := make([]float32, features+1)
	direction, norm2 := make([]float64, features), 0.0
	for i := range direction {
		direction[i] = s.Normal()
		norm2 += direction[i] * direction[i]
	}
	scale := math.Sqrt((z*beta - beta*beta) / norm2)
	row := data.Row{}
	for i, v := range direction {
		w[i] = float32(scale * v)
		row.Index, row.Value = append(row.Index, int32(i)), append(row.Value, float32(scale*v/beta))
	}
	w[features] = float32(beta)
	m, err := logreg.NewRidge(features, a/-beta)
	if err != nil {
		t.Fatal(err)
	}
	return m, w, row
}

// With a ridge penalty an example's parts a·x̄ and λw̄ may cancel and each be much longer
// than what is left. No record moves the sum by more than C, for penalties from far below
// to far above C, where they are added once and one by one (8·C is the limit between).
func TestRidgeThatCancelsMovesTheSumByC(t *testing.T) {
	s := rng.New(5).Stream(rng.Synthetic, 0, 0)
	worst := 0.0
	for _, features := range []int{1, 7, 68} {
		for _, size := range []float64{0.5, 1, 30, 1e4} {
			m, w, zero := cancelling(t, s, features, size)
			d := &data.Dataset{Features: features, Classes: 2, Start: []int{0}}
			add := func(label int32, off, by float64) {
				d.Index = append(d.Index, zero.Index...)
				for _, v := range zero.Value {
					d.Value = append(d.Value, float32(float64(v)*(1+off*s.Normal())*by))
				}
				d.Label, d.Start = append(d.Label, label), append(d.Start, len(d.Index))
			}
			for i := range 400 { // at first near the zero, then near its other label's, then anywhere
				switch {
				case i < 300:
					add(0, math.Ldexp(1, -i%40), 1)
				case i < 350:
					add(1, 1e-3, 1)
				default:
					add(int32(i%2), 1, math.Ldexp(1, s.IntN(60)-30))
				}
			}
			if err := d.Validate(); err != nil {
				t.Fatal(err)
			}
			penalty := m.Lambda() * lengthOf(w)
			if math.Abs(penalty/size-1) > 1e-5 {
				t.Fatalf("‖λw̄‖ = %v, want %v", penalty, size)
			}
			if left := length(sumOf(t, m, w, one(zero, features), math.Inf(1), -1)); left > 1e-5*penalty {
				t.Fatalf("a gradient of norm %v is left of parts of %v", left, penalty)
			}
			for _, times := range []float64{1e-3, 0.5, 1, 7.99, 8.01, 100, 1e6, 1e9} { // ‖λw̄‖/C
				clip := penalty / times
				all := sumOf(t, m, w, d, clip, -1)
				for range 12 {
					without := s.IntN(d.Len())
					by := moved(all, sumOf(t, m, w, d, clip, without)) / clip
					if worst = max(worst, by); by > 1 {
						t.Errorf("%d features, ‖λw̄‖ = %.3g·C = %.3g: without record %d the sum moves by %.9g·C",
							features, times, penalty, without, by)
					}
				}
			}
		}
	}
	t.Logf("at most %.9f·C", worst)
	if worst < 0.999 {
		t.Errorf("no record moves the sum by more than %.4g·C: the attack is blunt", worst)
	}
}

func lengthOf(w []float32) float64 {
	wide := make([]float64, len(w))
	for i, v := range w {
		wide[i] = float64(v)
	}
	return length(wide)
}

// one is a data set of one row, of label 0.
func one(r data.Row, features int) *data.Dataset {
	return &data.Dataset{Features: features, Classes: 2, Label: []int32{0}, Start: []int{0, len(r.Index)},
		Index: r.Index,
		Value: r.Value}
}

// Values and clipping norms at the ends of their ranges: the sum moves by C at most, or
// the model says that it has diverged.
func TestExtremesMoveTheSumByC(t *testing.T) {
	s := rng.New(6).Stream(rng.Synthetic, 0, 0)
	for _, exponent := range []int{-140, -60, 0, 60, 99, 127} {
		d := rows(300, 23)
		for i := range d.Value {
			d.Value[i] = float32(math.Ldexp(math.Tanh(float64(d.Value[i])), exponent))
		}
		for _, size := range []float64{0, 1e-20, 1, 1e10} {
			for _, m := range both(t, d.Features) {
				w := make([]float32, m.NumParams())
				for i := range w {
					w[i] = float32(size * s.Normal())
				}
				for _, clip := range []float64{1e-30, 1e-9, 1, 1e30} {
					all := sumOf(t, m, w, d, clip, -1)
					for range 4 {
						without := s.IntN(d.Len())
						if by := moved(all, sumOf(t, m, w, d, clip, without)) / clip; !(by <= 1) {
							t.Errorf("%s, values of 2^%d, parameters of %v, C = %v: without record %d the sum moves "+
								"by %.9g·C", m.Name(), exponent, size, clip, without, by)
						}
					}
				}
			}
		}
	}
}

// A sum has the same bits whatever else is in it: that of two samples without a common
// record is the sum of theirs, since all is added exactly. The penalty, in one product
// for the whole sample, is exact to what Shade says.
func TestSumsAddUpExactly(t *testing.T) {
	d := rows(500, 23)
	for _, m := range both(t, d.Features) {
		w := make([]float32, m.NumParams())
		for i := range w {
			w[i] = float32(i%5) - 2
		}
		for _, clip := range []float64{1e-6, 0.3, 20} {
			half := func(from, to int) []float64 {
				b, sum := data.Batch{Data: d}, make([]float64, m.NumParams())
				for i := from; i < to; i++ {
					b.Rows = append(b.Rows, int32(i))
				}
				if err := m.WideGradSum(sum, w, b, clip, nil); err != nil {
					t.Fatal(err)
				}
				return sum
			}
			x, y, all := half(0, 217), half(217, 500), half(0, 500)
			for i := range x {
				x[i] += y[i]
			}
			tolerance := 0.0
			if m.Lambda() > 0 {
				tolerance = 0x1p-23 * clip
			}
			if off := moved(x, all); off > tolerance {
				t.Errorf("%s, C = %v: the parts' sums are off by %v", m.Name(), clip, off)
			}
		}
	}
}

// A larger sample than models.MaxSample is refused.
func TestSampleIsBounded(t *testing.T) {
	m := both(t, 23)[0]
	b := data.Batch{Data: rows(1, 23), Rows: make([]int32, models.MaxSample+1)}
	if err := m.WideGradSum(make([]float64, 24), make([]float32, 24), b, 1, nil); err == nil {
		t.Error("no error")
	}
}
