package modeltest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"proactivedp/data"
	"proactivedp/internal/f32"
	"proactivedp/models"
	"proactivedp/rng"
)

// sensitivity attacks the promise of a models.Bounded about the computed sum: removing a record
// moves it by at most C, and replacing one by at most 2C.
func (c Case) sensitivity(t *testing.T) {
	m, ok := c.Model.(models.Bounded)
	if !ok {
		t.Skip("the model bounds no rounding: it is not a models.Bounded")
	}
	if s := m.Shade(); !(s >= 0 && s <= models.MaxShade) {
		t.Errorf("shade %v, must be in [0, %v]", s, models.MaxShade)
	}
	for _, class := range f32.Classes() {
		if c.passing = class != f32.Kernels(); c.passing && c.oneClass {
			continue
		}
		restore, err := f32.Use(class)
		if err != nil {
			t.Fatal(err)
		}
		worst, err := c.worstChange(m)
		restore()
		if err != nil {
			t.Fatalf("%v: %v", class, err)
		}
		t.Logf("%v: the sum moves by at most %.7f·C for a removed record, %.7f·C for a replaced one", class, worst.removed.by,
			worst.replaced.by)
		if w := worst.removed; w.by > 1 {
			t.Errorf("%v: without a record the sum moves by %.9g·C, must be at most C: %s", class, w.by, w.where)
		}
		if w := worst.replaced; w.by > 2 {
			t.Errorf("%v: with a record replaced the sum moves by %.9g·C, must be at most 2C: %s", class, w.by, w.where)
		}
	}
}

// change is by how much a sum has moved, relative to C, and in which attack.
type change struct {
	by    float64
	where string
}

func (w *change) see(by float64, where string) {
	if !(by <= w.by) { // a NaN counts as a move
		*w = change{by, where}
	}
}

// changes has the largest changes that were found.
type changes struct{ removed, replaced change }

// fewParams is the largest number of parameters with which a model is tested at every combination of clipping norm,
// parameters and example, and attacked with larger batches.
const fewParams = 10_000

// worstChange runs the attacks. A large model is attacked at some combinations only, and at one in
// each class of kernels that is not the machine's default.
func (c Case) worstChange(m models.Bounded) (changes, error) {
	var worst changes
	n, all := 128, m.NumParams() <= fewParams
	if all {
		n = 320
	}
	// The last one clips a gradient along one coordinate to just above a power of two. Then the sum
	// of 2^k such gradients is also just above a power of two.
	clips := []float64{0.1, 1e-6, 10, 1e-3, (1 + m.Shade()) * (1 + 0x1p-18) / 8}
	points := c.points()
	for i, a := range c.attacks(n) {
		for j, p := range points {
			for k, clip := range clips {
				if some := (i+j+k)%len(clips) == 0 && i%len(points) != j; !all && !some || c.passing && !all && i != 1 {
					continue
				}
				where := fmt.Sprintf("%s, point %d, clip %.4g", a.name, j, clip)
				err := c.attack(&worst, m, a, p, clip, where)
				if a.mayDiverge && errors.Is(err, models.ErrDiverged) {
					continue
				}
				if err != nil {
					return worst, fmt.Errorf("%s: %w", where, err)
				}
				if c.passing && !all {
					return worst, nil
				}
			}
		}
	}
	return worst, nil
}

// attack removes a record and replaces one, and measures by how much the sum changes: first in a
// round with all records, then in a sample of one more than half of them, at which the bins of 64
// records (see package nn) change their boundaries.
func (c Case) attack(worst *changes, m models.Bounded, a attack, params []float32, clip float64, where string) error {
	n := len(a.records)
	d, s := c.dataset(a.records), rng.New(7).Stream(rng.Sampling, 0, n)
	all := make([]int32, n)
	for i := range all {
		all[i] = int32(i)
	}
	sampled := slices.Clone(all)
	for i := range sampled {
		j := i + s.IntN(n-i)
		sampled[i], sampled[j] = sampled[j], sampled[i]
	}
	sampled = sampled[:n/2+1]
	slices.Sort(sampled)
	for _, rows := range [][]int32{sampled, all} {
		if c.passing && len(rows) == n && m.NumParams() > fewParams {
			break
		}
		sum, err := c.wide(m, params, data.Batch{Data: d, Rows: rows}, clip)
		if err != nil {
			return err
		}
		at := s.IntN(len(rows))
		where := fmt.Sprintf("%s, record %d of %d", where, rows[at], len(rows))
		without, err := c.wide(m, params, data.Batch{Data: d, Rows: slices.Delete(slices.Clone(rows), at, at+1)}, clip)
		if err != nil {
			return err
		}
		worst.removed.see(distance(sum, without)/clip, where)
		others := slices.Clone(a.records)
		others[rows[at]] = a.records[(int(rows[at])+n/2+1)%n]
		instead, err := c.wide(m, params, data.Batch{Data: c.dataset(others), Rows: rows}, clip)
		if err != nil {
			return err
		}
		worst.replaced.see(distance(sum, instead)/clip, where)
	}
	return nil
}

// wide returns the sum of WideGradSum. It first sets the vector to NaN, so that elements that the
// model does not overwrite are noticed.
func (c Case) wide(m models.Bounded, params []float32, b data.Batch, clip float64) ([]float64, error) {
	sum := make([]float64, m.NumParams())
	for i := range sum {
		sum[i] = math.NaN()
	}
	err := m.WideGradSum(sum, params, b, clip, c.scratch)
	return sum, err
}

func distance(x, y []float64) float64 {
	sum := 0.0
	for i, v := range x {
		sum += (v - y[i]) * (v - y[i])
	}
	return math.Sqrt(sum)
}

// record is a record of a data set, a sparse row or an image.
type record struct {
	index  []int32
	value  []float32
	pixels []byte
	label  int32
	target float32 // scaled; only if the data set has targets
}

// opposite gives a record the next of so many classes, or the farthest target.
func (r *record) opposite(classes int) {
	r.label = (r.label + 1) % int32(classes)
	if r.target < 0 {
		r.target = 1
	} else {
		r.target = -1
	}
}

// attack is a data set in which a record can move the sum of a faulty model by more than C.
type attack struct {
	name       string
	records    []record
	mayDiverge bool // a model may refuse such values
}

// attacks makes data sets of n records from those of the case.
func (c Case) attacks(n int) []attack {
	s := rng.New(8).Stream(rng.Synthetic, 0, n)
	made := func(name string, record func(i int) record) attack {
		a := attack{name: name}
		for i := range n {
			a.records = append(a.records, record(i))
		}
		return a
	}
	out := []attack{
		made("the data", func(i int) record { return c.record(i % c.Data.Len()) }),
		made("nearly parallel", func(i int) record {
			r := c.record(1)
			r.scale(float32(1+float64(i%16)*0x1p-12), byte(i%2))
			return r
		}),
		made("opposite labels", func(i int) record {
			r := c.record(2)
			if i%2 == 1 {
				r.opposite(c.Data.Classes)
			}
			return r
		}),
		made("one direction", func(i int) record { return c.record(3).extreme(1e4, 255) }),
		made("extremes that cancel", func(i int) record {
			r := c.record(s.IntN(c.Data.Len()))
			if i%3 > 0 {
				r = c.record(4).extreme(1e3, byte(255*(i%2)))
			}
			if i%5 > 2 {
				r.opposite(c.Data.Classes)
			}
			return r
		}),
	}
	if c.Data.Images == nil {
		huge := made("huge values", func(i int) record {
			r := c.record(i % c.Data.Len())
			r.scale(float32(math.Ldexp(1, s.IntN(200)-100)), 0)
			return r
		})
		huge.mayDiverge = true
		out = append(out, huge)
	}
	return out
}

// record returns a copy of record i of the case's data set.
func (c Case) record(i int) record {
	r := record{label: c.Data.Label[i]}
	if c.Data.Targets != nil {
		r.target = c.Data.Targets.Value[i]
	}
	if c.Data.Images != nil {
		r.pixels = slices.Clone(c.Data.Images.Image(i))
		return r
	}
	row := c.Data.Row(i)
	r.index, r.value = slices.Clone(row.Index), slices.Clone(row.Value)
	return r
}

// scale multiplies the values by a factor, and flips bits of the last pixel.
func (r *record) scale(factor float32, bits byte) {
	for i := range r.value {
		r.value[i] *= factor
	}
	if len(r.pixels) > 0 {
		r.pixels[len(r.pixels)-1] ^= bits
	}
}

// extreme returns a record with one value, in the first column, or with all pixels equal.
func (r record) extreme(value float32, pixel byte) record {
	if r.pixels == nil {
		return record{index: []int32{0}, value: []float32{value}, label: r.label, target: r.target}
	}
	for i := range r.pixels {
		r.pixels[i] = pixel
	}
	return r
}

func (c Case) dataset(records []record) *data.Dataset {
	d := &data.Dataset{Name: "attack", Features: c.Data.Features, Classes: c.Data.Classes, Synthetic: true}
	if t := c.Data.Targets; t != nil {
		d.Targets = &data.Targets{Bounds: t.Bounds}
	}
	if m := c.Data.Images; m != nil {
		d.Images = &data.Images{Channels: m.Channels, Height: m.Height, Width: m.Width, Mean: m.Mean, Std: m.Std}
	} else {
		d.Start = []int{0}
	}
	for _, r := range records {
		d.Label = append(d.Label, r.label)
		if d.Targets != nil {
			d.Targets.Value = append(d.Targets.Value, r.target)
		}
		if d.Images != nil {
			d.Images.Pixels = append(d.Images.Pixels, r.pixels...)
			continue
		}
		d.Index, d.Value = append(d.Index, r.index...), append(d.Value, r.value...)
		d.Start = append(d.Start, len(d.Index))
	}
	return d
}

// sameBits tests the other promises of a models.Bounded. With a finite clipping norm, a sum has the
// same bits in any order of the batch. ClippedGradSum is that sum, rounded. The sum of an empty
// batch is zero. A models.Adder adds the sum to noise and rounds once.
func (c Case) sameBits(t *testing.T) {
	m, ok := c.Model.(models.Bounded)
	if !ok {
		t.Skip("not a models.Bounded")
	}
	d, p := c.dataset(c.attacks(300)[0].records), c.points()[1]
	u := make([]float32, m.NumParams())
	f32.AddNormal(u, 1, rng.New(9).Stream(rng.Noise, 0, 0))
	most := 300
	if m.NumParams() > fewParams {
		most = 130 // three bins, the last of which is not full
	}
	for _, n := range []int{0, 1, 64, 65, most} {
		b := data.Batch{Data: d}
		for i := range n {
			b.Rows = append(b.Rows, int32(i*7%d.Len())) // each once, in another order
		}
		for _, clip := range []float64{0.5, 1e-6} {
			sum, err := c.wide(m, p, b, clip)
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 && slices.ContainsFunc(sum, func(v float64) bool { return v != 0 }) {
				t.Error("the sum of an empty batch is not zero")
			}
			slices.Reverse(b.Rows)
			if turned, err := c.wide(m, p, b, clip); err != nil || !slices.Equal(turned, sum) {
				t.Errorf("%d records, clip %v: the order of the batch shows (%v)", n, clip, err)
			}
			narrow := make([]float32, len(sum))
			f32.Narrow(narrow, sum)
			if got := c.grad(t, p, b, clip); !slices.Equal(got, narrow) {
				t.Errorf("%d records, clip %v: ClippedGradSum is not WideGradSum, rounded", n, clip)
			}
			a, ok := m.(models.Adder)
			if !ok {
				continue
			}
			got, want := slices.Clone(u), make([]float32, len(u))
			for i, v := range u {
				want[i] = float32(float64(v) + sum[i])
			}
			if err := a.AddGradSum(got, p, b, clip, c.scratch); err != nil || !slices.Equal(got, want) {
				t.Errorf("%d records, clip %v: AddGradSum is not noise and WideGradSum, rounded once (%v)", n, clip,
					err)
			}
		}
	}
	if a, ok := m.(models.Adder); ok {
		got, bad := slices.Clone(u), slices.Clone(p)
		for i := range bad {
			bad[i] = float32(math.NaN())
		}
		if err := a.AddGradSum(got, bad, c.batch(4), 0.5, c.scratch); err == nil || !slices.Equal(got, u) {
			t.Errorf("AddGradSum that fails (%v) has changed what it adds to", err)
		}
	}
}
