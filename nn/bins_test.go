package nn_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"proactivedp/data"
	"proactivedp/internal/cpu"
	"proactivedp/internal/f32"
	"proactivedp/internal/testkit"
	"proactivedp/models/modeltest"
	"proactivedp/nn"
)

// numbers draws n different record numbers in order: anywhere, clustered, or around
// powers of two.
func numbers(r *rand.Rand, n int) []int32 {
	seen := map[int32]bool{}
	span, start := 2*n+1+r.IntN(1<<(8+r.IntN(15))), 0
	if r.IntN(2) == 0 {
		start = max(0, 1<<(6+r.IntN(24))-r.IntN(span))
	}
	clusters := []int{start}
	for range r.IntN(4) {
		clusters = append(clusters, r.IntN(math.MaxInt32-span))
	}
	for len(seen) < n {
		at := clusters[r.IntN(len(clusters))]
		seen[int32(min(at+r.IntN(span), math.MaxInt32))] = true
	}
	rows := make([]int32, 0, n)
	for v := range seen {
		rows = append(rows, v)
	}
	slices.Sort(rows)
	return rows
}

// bins returns the records of each bin.
func bins(rows []int32) [][]int32 {
	var out [][]int32
	begin := 0
	for _, end := range nn.Bins(rows) {
		out = append(out, rows[begin:end])
		begin = end
	}
	return out
}

// Bins are of at most 64 records, and each is the part of the batch in an interval
// [i·2^j, (i+1)·2^j), the largest with so few: twice as long, it would have more.
func TestBinsAreLargestIntervals(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 1500 * testkit.Sweeps(t) {
		rows := numbers(r, 1+r.IntN(300))
		var together []int32
		for _, bin := range bins(rows) {
			together = append(together, bin...)
			if len(bin) == 0 || len(bin) > nn.BinSize {
				t.Fatalf("a bin of %d records", len(bin))
			}
			if len(rows) <= nn.BinSize {
				continue
			}
			within := func(bits int) (n int) { // in the interval of 2^bits around the bin
				for _, v := range rows {
					if v>>bits == bin[0]>>bits {
						n++
					}
				}
				return n
			}
			bits := 0
			for bin[0]>>bits != bin[len(bin)-1]>>bits {
				bits++
			}
			for within(bits+1) == len(bin) { // as long as it can be
				bits++
			}
			if within(bits) != len(bin) || within(bits+1) <= nn.BinSize {
				t.Fatalf("a bin of %d records in an interval of 2^%d with %d, of %d in one twice as long", len(bin),
					bits, within(bits), within(bits+1))
			}
		}
		if !slices.Equal(together, rows) {
			t.Fatalf("the bins have %v of %v", together, rows)
		}
	}
}

// Removing a record changes only its own bins: at most one bin of the batch with it and one of the batch
// without it differ, or two bins of 65 records together become one bin of 64.
func TestRecordChangesItsBinAlone(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	split, emptied, shortened := 0, 0, 0
	for i := range 4000 * testkit.Sweeps(t) {
		n := 1 + r.IntN(260)
		if i%4 == 0 {
			n = []int{64, 65, 66, 128, 129, 130}[r.IntN(6)]
		}
		rows := numbers(r, n)
		if i%4 == 1 { // side by side, so that intervals are full
			for j := range rows {
				rows[j] = rows[0]&^127 + int32(j)
			}
		}
		at := r.IntN(len(rows))
		if i%16 == 2 { // a record far from more than a bin's
			rows = numbers(r, 65+r.IntN(40))
			rows[len(rows)-1], at = math.MaxInt32, len(rows)-1
		}
		gone := rows[at]
		before, after := bins(rows), bins(slices.Delete(slices.Clone(rows), at, at+1))
		var had, has [][]int32 // that the other has not
		for _, b := range before {
			if !contains(after, b) {
				had = append(had, b)
			}
		}
		for _, b := range after {
			if !contains(before, b) {
				has = append(has, b)
			}
		}
		var changed, left []int32
		for _, b := range had {
			changed = append(changed, b...)
		}
		for _, b := range has {
			left = append(left, b...)
		}
		if !slices.Contains(changed, gone) || len(has) > 1 || len(left)+1 != len(changed) {
			t.Fatalf("without record %d, bins %v become %v", gone, had, has)
		}
		switch {
		case len(had) == 1 && len(has) == 0:
			emptied++
		case len(had) == 1:
			shortened++
		case len(changed) == nn.BinSize+1:
			split++
		default:
			t.Fatalf("without record %d, %d bins of %d records become %d", gone, len(had), len(changed), len(has))
		}
	}
	t.Logf("%d bins became shorter, %d were one record, %d joined", shortened, emptied, split)
	if min(shortened, emptied, split) < 100 {
		t.Error("some kind of change was hardly met")
	}
}

func contains(bins [][]int32, bin []int32) bool {
	return slices.ContainsFunc(bins, func(b []int32) bool { return slices.Equal(b, bin) })
}

// If a batch has one record many times, which no sample does, it is still summed in bins of 64.
func TestBinsOfOneRecord(t *testing.T) {
	for _, n := range []int{1, 64, 65, 128, 129, 1000} {
		ends := nn.Bins(slices.Repeat([]int32{77}, n))
		for i, end := range ends {
			if want := min((i+1)*nn.BinSize, n); end != want {
				t.Fatalf("%d times: bins end at %v", n, ends)
			}
		}
	}
	if len(nn.Bins(nil)) != 0 {
		t.Error("a bin of nothing")
	}
}

// clipTo is a factor that brings norms to at most c.
func clipTo(c float64) nn.Factor {
	return func(norm float64) (float64, bool) { return min(1, c/norm), norm-norm == 0 }
}

// fast runs a test in the classes of kernels with vector instructions, which are those that fuse, and in the
// portable one for small networks. AVX2 is left out where there is AVX-512, which gives the
// same bits: modeltest.Golden compares them for whole networks.
func fast(t *testing.T, net *nn.Net, test func(class cpu.Class)) {
	t.Helper()
	for _, class := range f32.Classes() {
		if class == cpu.AVX2 && slices.Contains(f32.Classes(), cpu.AVX512) {
			continue
		}
		restore, err := f32.Use(class)
		if err != nil {
			t.Fatal(err)
		}
		if slow := class == cpu.Portable || net.InBF16() && !f32.BF16(); !slow || net.FLOPs() <= 300_000 {
			test(class)
		}
		restore()
	}
}

// gradSum returns the sum of some rows.
func gradSum(t *testing.T, net *nn.Net, params []float32, b data.Batch, f nn.Factor, s *nn.Scratch) []float64 {
	t.Helper()
	sum := make([]float64, net.NumParams())
	if err := net.GradSum(sum, params, b, f, nil, s); err != nil {
		t.Fatal(err)
	}
	return sum
}

func minus(x, y []float64) []float64 {
	z := slices.Clone(x)
	for i, v := range y {
		z[i] -= v
	}
	return z
}

// A sum by bins moves by at most 1 + Rounding of C when a record goes, at the batches
// where bins are joined, for examples that are all clipped: all the same but for a pixel,
// so that every sum in float32 is as large as it can be, or of two kinds that cancel.
func TestRecordMovesTheSumByRounding(t *testing.T) {
	worst := 0.0
	for _, c := range samples() {
		net := c.compile(t)
		params := initial(net)
		d := modeltest.Images(320, c.input.Channels, c.input.Height, c.input.Width, c.classes)
		for i := range d.Len() {
			copy(d.Images.Image(i), d.Images.Image(0))
			d.Images.Image(i)[i%d.Features] ^= byte(1 + i%3)
			d.Label[i] = d.Label[0]
			if i >= 160 && i%2 == 1 {
				d.Label[i] = (d.Label[0] + 1) % int32(c.classes)
			}
		}
		r := rand.New(rand.NewPCG(3, uint64(len(c.name))))
		fast(t, net, func(class cpu.Class) {
			scratch := net.NewScratch()
			for i, clip := range []float64{1e-6, 0.01 * (1 + 0x1p-18)} {
				for j, n := range []int{64, 65, 129, 130} {
					for k, span := range [][2]int{{0, 160}, {160, 320}, {192, 256}, {0, 320}} {
						if testkit.Sweeps(t) == 1 && (i+j+k)%2 == 1 {
							continue // every two of these values still meet
						}
						rows := within(r, n, span[0], span[1])
						b := data.Batch{Data: d, Rows: rows}
						all := gradSum(t, net, params, b, clipTo(clip), scratch)
						at := r.IntN(len(rows))
						b.Rows = slices.Delete(slices.Clone(rows), at, at+1)
						moved := norm(minus(all, gradSum(t, net, params, b, clipTo(clip), scratch))) / clip
						if worst = max(worst, moved); moved > 1+nn.Rounding {
							t.Errorf("%s, %v, C = %v, %d records of [%d, %d): without record %d the sum moves by "+
								"%.9g·C", c.name, class, clip, len(rows), span[0], span[1], rows[at], moved)
						}
					}
				}
			}
		})
	}
	t.Logf("at most (1 + %.3g)·C, of the bound 1 + %.3g", worst-1, nn.Rounding)
}

// What 64 records of one bin can be made to do: 32 whose gradients come to a power of two,
// one that adds a little, and 31 that each take away a bit less than half the last place
// of it: they are lost, but not after one of the first has left. Then the sum moves by
// (1 + 32·31·2^-24)·C, which is what Rounding is for, and is below its bound.
func TestCraftedBinMovesTheSumByRounding(t *testing.T) {
	net, err := nn.New(nn.Shape{Channels: 1, Height: 1, Width: 1}, nn.Dense{Out: 2})
	if err != nil {
		t.Fatal(err)
	}
	d := &data.Dataset{Name: "attack", Features: 1, Classes: 2, Start: []int{0}}
	add := func(label int32, gradient float64) { // at 0 all derivatives are ½ or −½
		d.Index, d.Value, d.Label = append(d.Index, 0), append(d.Value, float32(2*gradient)), append(d.Label, label)
		d.Start = append(d.Start, len(d.Index))
	}
	const last = 32 * 1024 * 0x1p-23
	for range 32 {
		add(0, 1024)
	}
	add(0, 4*last)
	for range 31 {
		add(1, last/2*(1-0x1p-20))
	}
	if err := d.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, class := range f32.Classes() {
		restore, err := f32.Use(class)
		if err != nil {
			t.Fatal(err)
		}
		scratch, params := net.NewScratch(), make([]float32, net.NumParams())
		b := data.Batch{Data: d, Rows: within(rand.New(rand.NewPCG(5, 1)), 64, 0, 64)}
		clip := 0.0
		longest := func(norm float64) (float64, bool) { clip = max(clip, norm); return 1, true }
		all := gradSum(t, net, params, b, longest, scratch)
		b.Rows = b.Rows[1:]
		moved := norm(minus(all, gradSum(t, net, params, b, longest, scratch)))/clip - 1
		restore()
		if moved > nn.Rounding || moved < 0.99*32*31*0x1p-24 {
			t.Errorf("%v: the sum moves by (1 + %.4g)·C, want %.4g, of at most %.4g", class, moved, 32*31*0x1p-24,
				nn.Rounding)
		}
	}
}

// within draws n different numbers of [from, to), or all of them if there are fewer.
func within(r *rand.Rand, n, from, to int) []int32 {
	var rows []int32
	for _, i := range r.Perm(to - from)[:min(n, to-from)] {
		rows = append(rows, int32(from+i))
	}
	slices.Sort(rows)
	return rows
}

// An example adds the same bits wherever it stands in a batch: with a bin of its own,
// which the others are far away from, it adds what it is alone. Bins are added in
// float64, so the difference shows its last place and no more.
func TestExampleIsTheSameAnywhere(t *testing.T) {
	const far = 4096
	for _, c := range samples() {
		net := c.compile(t)
		w := c.drawn(net, 40)
		d := &data.Dataset{Name: "apart", Features: w.set.Features, Classes: c.classes, Label: make([]int32, 2*far)}
		images := *w.set.Images
		images.Pixels = make([]byte, 2*far*images.Size())
		d.Images = &images
		for i := range d.Len() {
			if i < 256 || i >= far && i < far+8 || i >= 2*far-8 {
				copy(d.Images.Image(i), w.set.Images.Image(i%40))
				d.Label[i] = w.set.Label[i%40]
			}
		}
		fast(t, net, func(class cpu.Class) {
			scratch := net.NewScratch()
			const clip = 0.01
			for _, n := range []int{64, 65, 79, 80, 130, 256} {
				before := within(rand.New(rand.NewPCG(4, uint64(n))), n, 0, 256)
				for _, record := range []int32{far + 3, 2*far - 1} {
					one := gradSum(t, net, w.params, data.Batch{Data: d, Rows: []int32{record}}, clipTo(clip), scratch)
					others := gradSum(t, net, w.params, data.Batch{Data: d, Rows: before}, clipTo(clip), scratch)
					b := data.Batch{Data: d, Rows: append(slices.Clone(before), record)}
					all := gradSum(t, net, w.params, b, clipTo(clip), scratch)
					if off := norm(minus(minus(all, others), one)); off > 1e-12*float64(n)*clip {
						t.Errorf("%s, %v: behind %d others an example adds what it adds alone ± %.3g·C", c.name, class,
							n, off/clip)
					}
				}
			}
		})
	}
}

// AddGradSum adds the bits of GradSum's sum, rounded once, for batches of one chunk and of
// more, with norms and without; and if the last norm of many is refused it adds nothing.
func TestAddGradSum(t *testing.T) {
	for _, c := range samples() {
		net := c.compile(t)
		w := c.drawn(net, 40)
		fast(t, net, func(class cpu.Class) {
			scratch := net.NewScratch()
			noise := make([]float32, net.NumParams())
			for i := range noise {
				noise[i] = float32(math.Sin(float64(i)))
			}
			for _, size := range []int{0, 1, 16, 63, 64, 65, 130, 300} {
				for _, factor := range []nn.Factor{clipTo(0.01), nil} {
					b := w.batch(size)
					sum := gradSum(t, net, w.params, b, factor, scratch)
					got := slices.Clone(noise)
					if err := net.AddGradSum(got, w.params, b, factor, nil, scratch); err != nil {
						t.Fatal(err)
					}
					for i, v := range noise {
						if want := float32(float64(v) + sum[i]); got[i] != want {
							t.Fatalf("%s, %v, %d examples: number %d is %v, want %v", c.name, class, size, i, got[i],
								want)
						}
					}
				}
				seen := 0
				refuse := func(norm float64) (float64, bool) { seen++; return 1, seen < size }
				got := slices.Clone(noise)
				err := net.AddGradSum(got, w.params, w.batch(size), refuse, nil, scratch)
				if size > 0 && (!errors.Is(err, nn.ErrNotFinite) || !slices.Equal(got, noise)) {
					t.Errorf("%s, %v: the last of %d norms is refused (%v), and what it adds to has changed", c.name,
						class, size, err)
				}
			}
		})
	}
}

// What a sum over one bin of n equal examples is off by, of what the examples are, stays
// below what Rounding says of it.
func TestBinIsOffByLessThanSaid(t *testing.T) {
	for _, c := range samples() {
		net := c.compile(t)
		w := c.truth(net, 3)
		fast(t, net, func(class cpu.Class) {
			scratch := net.NewScratch()
			clip := 0.3 * slices.Min(w.norms)
			one := gradSum(t, net, w.params, data.Batch{Data: w.set, Rows: []int32{1}}, clipTo(clip), scratch)
			for _, n := range []int{2, 33, 63, 64} {
				rows := slices.Repeat([]int32{1}, n)
				all := gradSum(t, net, w.params, data.Batch{Data: w.set, Rows: rows}, clipTo(clip), scratch)
				for i, v := range one {
					all[i] -= float64(n) * v
				}
				// 2 for the product of one, which is rounded too.
				if off, bound := norm(all)/clip, float64((n+1)*n)*0x1p-24+float64(2*n)*0x1p-24; off > bound {
					t.Errorf("%s, %v: %d of one example are off by %.3g·C, more than %.3g·C", c.name, class, n, off,
						bound)
				}
			}
		})
	}
}

// What a bin sums to depends on its own records alone, wherever it lies in the batch and is
// cut by the blocks and chunks that are worked on together: a batch's sum is that of its
// bins, each of them a batch by itself, but for what adding them in float64 rounds. Else one
// record more would move the rounding of all bins behind it, and of many alike a sum by
// more than Rounding.
func TestBatchIsTheSumOfItsBins(t *testing.T) {
	for _, c := range samples() {
		d := modeltest.Images(700, c.input.Channels, c.input.Height, c.input.Width, c.classes)
		r := rand.New(rand.NewPCG(6, uint64(len(c.name))))
		net := c.compile(t)
		fast(t, net, func(class cpu.Class) {
			sumOfBins(t, c.name, net, d, r)
			if class != cpu.AMX || !net.Tiled() {
				return
			}
			two, err := net.WithPrecision(nn.BF16x3)
			if err != nil {
				t.Fatal(err)
			}
			sumOfBins(t, c.name+" in bf16x3", two, d, r)
		})
	}
}

func sumOfBins(t *testing.T, name string, net *nn.Net, d *data.Dataset, r *rand.Rand) {
	t.Helper()
	params, scratch := initial(net), net.NewScratch()
	const clip = 0.01
	for _, n := range []int{65, 150, 330} {
		rows := within(r, n, 0, d.Len())
		all := gradSum(t, net, params, data.Batch{Data: d, Rows: rows}, clipTo(clip), scratch)
		for _, bin := range bins(rows) {
			all = minus(all, gradSum(t, net, params, data.Batch{Data: d, Rows: bin}, clipTo(clip), scratch))
		}
		if off := norm(all); off > 1e-13*float64(n)*clip {
			t.Errorf("%s, %v: %d records are off the sum of their bins by %.3g·C", name, f32.Kernels(), n, off/clip)
		}
	}
}

// The vector that is added for an example in bfloat16 is at most C long: for networks of many shapes, and for weights
// so large or so small that numbers underflow. Some factors are above 1.
func TestExampleInBF16IsAtMostC(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	worst, sums := 0.0, 0
	for nets := 0; nets < 60; {
		in := nn.Shape{Channels: []int{1, 3, 16}[r.IntN(3)], Height: 1 + r.IntN(6), Width: 1 + r.IntN(7)}
		var layers []nn.Layer
		for range r.IntN(3) {
			k := 1 + r.IntN(3)
			layers = append(layers, nn.Conv{Out: 16 * (1 + r.IntN(2)), Kernel: k, Stride: 1, Pad: r.IntN(k)})
			layers = append(layers, [][]nn.Layer{nil, {nn.ReLU{}}, {nn.Tanh{}}, {nn.MaxPool{}}}[r.IntN(4)]...)
		}
		net, err := nn.New(in, append(layers, nn.Dense{Out: 1 + r.IntN(30)}, nn.Tanh{}, nn.Dense{Out: 3})...)
		if err == nil {
			net, err = net.WithPrecision(nn.BF16)
		}
		if err != nil || net.FLOPs() > 300_000 {
			continue
		}
		nets++
		params, at := initial(net), 0
		for _, l := range net.Layers() {
			if r.IntN(3) == 0 {
				f := float32(math.Exp2(160*r.Float64() - 80))
				for i := range l.Params {
					params[at+i] *= f
				}
			}
			at += l.Params
		}
		b := data.Batch{Data: modeltest.Images(3, in.Channels, in.Height, in.Width, 3), Rows: []int32{int32(r.IntN(3))}}
		sum, scratch := make([]float64, net.NumParams()), net.NewScratch()
		for _, clip := range []float64{nn.LeastNorm, 1, 1e10} {
			for _, f := range []nn.Factor{clipTo(clip), func(n float64) (float64, bool) { return clip / (n + 0.01), n-n == 0 }} {
				if net.GradSum(sum, params, b, f, nil, scratch) == nil {
					worst, sums = max(worst, norm(sum)/clip), sums+1
				}
			}
		}
	}
	if !(worst <= 1+1e-6) || sums < 300 {
		t.Errorf("%d sums of an example, the longest of %.9g·C", sums, worst)
	}
}
