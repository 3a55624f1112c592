package nn

import (
	"slices"

	"proactivedp/internal/f32"
)

// tiledGhost computes the clipped sums of ghostGradients by matrix tiles. Their terms are 16
// positions of one example, each in two of its parts, as f32.WindowTile reads them. The windows of
// the input's tiles are the taps above each other. So a line of the map is stored once, and the
// lines above and below the map are zeros.
type tiledGhost struct {
	c        *conv
	deltas   int    // slot: [out/16][example][16 positions], tiles
	inputs   int    // slot: [channel/16][tap in x][example][high and middle, low and high][line]
	channels []part // groups of 16 whose inputs are split together
	nothing  int    // slot: zeros, as far apart as channels
	blocks   int    // number of blocks processed at a time
	room     int    // capacity for examples: those of the blocks, and before them those of the previous block, see cut
	bin      int    // slot: the sums of a bin that continues in the next blocks, in the order of WindowTile.Sum
	heldX    int    // slot: the input of the previous block …
	heldD    int    // … and its derivative times the clip factor
	steps    int    // number of groups of 16 positions of an example
	line     int    // pairs in a line of the map, in two parts, for 16 channels
	lines    int    // lines of the input, including the lines of zeros
	exampleA int    // pairs from one example to the next
	exampleB int
	groupB   int     // pairs from one group of 16 channels to the next
	extra    float64 // error bound relative to Σ_p ‖δ_p‖‖(x_p, 1)‖, see newTiledGhost
}

// windowBytes is how much of the input is split before it is multiplied. It then stays in the
// second-level cache together with the derivatives of some rows, which are then read less often
// from memory beyond it.
const windowBytes = 5 << 18

// stretched limits the sum of the lengths of an example's terms, relative to the length of its
// gradient. If the sum is larger, the sum is clipped instead of the gradient. This is needed
// because several multiplications of tiles may add an example, and each of them rounds to the size
// of the sum so far.
const stretched = 24

// newTiledGhost returns the sums by matrix tiles, or nil if the maps do not fit them.
//
// Rounding. Let M = Σ_p ‖δ_p‖‖(x_p, 1)‖ and u = 2^-24. The contribution of an example differs from
// its gradient for two reasons. Splitting numbers has an error of at most 2·2^-16 + 2^-32 of M with
// two parts, and 5u with three parts. Sums of 16 terms, of their halves and of a step's tiles have
// an error of at most (18 + parts·steps)·u of their magnitudes, which are at most 1 + 2^-6 of M.
// Both depend only on the example: extra·M is added to its norm.
//
// The rounding of additions depends partly on the sum of the example's bin: at most 4 additions to
// the sum in memory and, if an example is one step, 3·f32.WindowRun = 48 in a tile. The terms of
// these additions are the example's tiles: those of the largest parts, and others that together are
// at most 2·2^-8·1.01·M long. The first may be longer than the gradient by the same length.
// M/stretched is at most the norm, so the terms are at most 1.2 of it, and 52·1.2 < 65. So the
// error is less than what Rounding allows for n = 64 and n = 65 examples. The same holds for
// examples of more steps, which are added one by one.
func newTiledGhost(n *Net, c *conv) *tiledGhost {
	w, h := c.out.Width, c.out.Height
	if c.bf16 || c.Stride != 1 || c.affine.out%f32.Lanes != 0 || c.in.Channels%f32.Lanes != 0 || w%2 != 0 || f32.Lanes%w != 0 ||
		h*w%f32.Lanes != 0 {
		return nil
	}
	t := &tiledGhost{c: c, steps: h * w / f32.Lanes, line: w * f32.Lanes, lines: h + c.Kernel - 1, blocks: n.group}
	if t.steps > 1 {
		t.blocks = 1
	}
	t.exampleA, t.exampleB = t.steps*n.parts*f32.TilePairs, t.lines*t.line
	if n.parts == f32.ThreeParts {
		t.exampleB *= 2
	}
	t.room = t.blocks * f32.Lanes
	t.channels = split(c.in.Channels/f32.Lanes, max(1, windowBytes/(4*c.Kernel*t.room*t.exampleB)))
	if t.steps == 1 {
		t.room += f32.Lanes
		t.heldX, t.heldD = n.floats.reserve(c.in.size(), 1), n.floats.reserve(c.out.size(), 1)
	}
	t.groupB = c.Kernel * t.room * t.exampleB
	t.deltas = n.pairs.reserve(c.affine.out/f32.Lanes*t.room*t.exampleA, 1)
	most := slices.MaxFunc(t.channels, func(a, b part) int { return a.len - b.len }).len
	t.inputs = n.pairs.reserve(most*t.groupB, 1)
	t.nothing = n.floats.reserve(f32.Lanes*c.in.plane(), 1)
	t.extra = float64(18+n.parts*t.steps) * 0x1p-24 * (1 + 0x1p-6)
	if n.parts == f32.TwoParts {
		t.extra += 2*0x1p-16 + 0x1p-32
	} else {
		t.extra += 5 * 0x1p-24
	}
	return t
}

// norm returns the norm by which an example is clipped. The gradient's norm is at most norm,
// according to the Gram matrices, and bound is M.
func (t *tiledGhost) norm(norm, bound float64) float64 {
	norm += t.extra * bound
	if t.steps == 1 {
		norm = max(norm, bound/stretched)
	}
	return norm
}

// sums adds the blocks' gradients, whose derivatives are already scaled, to the sums; see deposit.
// Examples whose run continues in the next blocks are held and added with those.
func (t *tiledGhost) sums(s *Scratch, wide []float64, from, to int) {
	lead := t.room/f32.Lanes - t.blocks // blocks that there is room for before these
	for ; from < to; from += t.blocks {
		end := min(from+t.blocks, to)
		first, last := s.first+from*f32.Lanes, min(s.first+end*f32.Lanes, len(s.rows))
		parts, begin := t.parts(s, first, last), from
		if t.cut(s, first) < first {
			begin--
		}
		for b := begin; b < end; b++ {
			_, delta := t.operands(s, b, from)
			t.takeDeltas(s, delta, (b-from+lead)*f32.Lanes)
		}
		for _, some := range t.channels {
			for i := range some.len {
				for b := begin; b < end; b++ {
					x, _ := t.operands(s, b, from)
					t.takeInputs(s, x, some.start+i, s.pair(t.inputs)[i*t.groupB:], (b-from+lead)*f32.Lanes)
				}
			}
			for o := 0; o < t.c.affine.out; o += 2 * f32.Lanes {
				for i := range some.len {
					at := (some.start+i)*t.ofChannels() + o/(2*f32.Lanes)*t.ofRows()
					t.multiply(s, wide, at, s.pair(t.inputs)[i*t.groupB:], o, first-lead*f32.Lanes, parts)
				}
			}
		}
		if t.cut(s, last) < last {
			x, delta := t.operands(s, end-1, from)
			copy(s.float(t.heldX, 0), x)
			copy(s.float(t.heldD, 0), delta)
		}
	}
}

// cut returns the place at of the batch, or the start of the run that contains it. The tiles add
// f32.WindowRun examples of a bin to each other, beginning with the bin's first example, wherever
// blocks end. So the sum of a bin depends only on its own records.
func (t *tiledGhost) cut(s *Scratch, at int) int {
	if t.steps > 1 {
		return at
	}
	return at - (at-s.binStart(at))%f32.WindowRun
}

// parts returns which of the examples [first, last) and the held ones are added in float32:
// segments of bins, or, if examples are added one by one, runs of them.
func (t *tiledGhost) parts(s *Scratch, first, last int) []segment {
	if t.steps > 1 {
		return s.runs(first, last, f32.WindowRun)
	}
	return s.segments(t.cut(s, first), t.cut(s, last))
}

// operands returns the input of block b and the derivative by its output. For a block before from,
// it returns those that are held.
func (t *tiledGhost) operands(s *Scratch, b, from int) (x, delta []float32) {
	if b < from {
		return s.float(t.heldX, 0), s.float(t.heldD, 0)
	}
	return s.float(t.c.in.act, b), s.float(t.c.out.delta, b)
}

// takeDeltas splits a block's derivatives into tiles and stores them as examples number example and
// following.
func (t *tiledGhost) takeDeltas(s *Scratch, delta []float32, example int) {
	out, parts, half := t.c.out, s.net.parts, t.c.out.Width/2
	tiles := s.pair(t.deltas)
	var split, terms [(f32.ThreeParts + 1) * f32.TilePairs]f32.Pair
	lines := f32.Lanes / out.Width // lines in a step
	for o := range t.c.affine.out {
		to := tiles[(o/f32.Lanes*t.room+example)*t.exampleA+o%f32.Lanes*f32.Lanes:]
		for step := range t.steps {
			for y := range lines {
				at := delta[out.at(o, step*lines+y, 0):]
				f32.SplitPairs(split[y*half*f32.Lanes:], parts, at, at[f32.Lanes:], 2*f32.Lanes, half)
			}
			for y := range lines {
				n := half * f32.Lanes
				line := y * n
				for part := range parts {
					tile := terms[part*f32.TilePairs+2*line:]
					second := part
					if part == 2 { // the high part, and next to it the low part
						copy(tile[:n], split[line:])
					} else {
						copy(tile[:n], split[part*f32.TilePairs+line:])
					}
					copy(tile[n:2*n], split[second*f32.TilePairs+line:])
				}
			}
			for part := range parts {
				from := terms[part*f32.TilePairs:]
				f32.TransposePairs(to[(step*parts+part)*f32.TilePairs:], t.exampleA, from, f32.Lanes)
			}
		}
	}
}

// takeInputs splits 16 channels of a block's input into tiles and stores them as examples number
// example and following.
func (t *tiledGhost) takeInputs(s *Scratch, x []float32, group int, tiles []f32.Pair, example int) {
	in, parts, half := t.c.in, s.net.parts, t.c.out.Width/2
	nothing := s.float(t.nothing, 0)
	var split [f32.ThreeParts * f32.TilePairs]f32.Pair
	low := t.lines * t.line
	at := func(y, column int) []float32 {
		if column < 0 || column >= in.Width {
			return nothing
		}
		return x[in.at(group*f32.Lanes, y, column):]
	}
	for kx := range t.c.Kernel {
		of := tiles[(kx*t.room+example)*t.exampleB:]
		for y := range in.Height {
			for i := range half {
				column := 2*i + kx - t.c.Pad
				f32.SplitPairs(split[:], parts, at(y, column), at(y, column+1), in.plane(), f32.Lanes)
				first := (y+t.c.Pad)*t.line + i*f32.Lanes
				second := first + half*f32.Lanes
				high, middle := split[:f32.TilePairs], split[f32.TilePairs:2*f32.TilePairs]
				f32.TransposePairs(of[first:], t.exampleB, high, f32.Lanes)
				f32.TransposePairs(of[second:], t.exampleB, middle, f32.Lanes)
				if parts == f32.ThreeParts {
					f32.TransposePairs(of[low+first:], t.exampleB, split[2*f32.TilePairs:], f32.Lanes)
					f32.TransposePairs(of[low+second:], t.exampleB, high, f32.Lanes)
				}
			}
		}
	}
}

// windowRow is the number of floats in a row of a block of sums, windowBlock that in the block.
const (
	windowRow   = f32.Windows * f32.Lanes
	windowBlock = 2 * f32.Lanes * windowRow
)

// ofRows returns how many numbers the sums for 32 rows and 16 channels have.
func (t *tiledGhost) ofRows() int {
	return t.c.Kernel * ((t.c.Kernel + f32.Windows - 1) / f32.Windows) * windowBlock
}

// ofChannels returns how many numbers the sums for all rows and 16 channels have.
func (t *tiledGhost) ofChannels() int { return (t.c.affine.out/f32.Lanes + 1) / 2 * t.ofRows() }

// wides returns how many float64 numbers all sums have.
func (t *tiledGhost) wides() int { return t.c.in.Channels / f32.Lanes * t.ofChannels() }

// narrows returns how many float32 numbers the sums have while a bin is summed.
func (t *tiledGhost) narrows() int { return t.wides() / windowBlock * f32.WindowFloats }

// deposit copies the sums from the order in which multiply adds to them to their places in the
// gradient. It goes row by row, so that each page of memory is visited once.
func (t *tiledGhost) deposit(s *Scratch, wide []float64) {
	c := t.c
	for o := 0; o < c.affine.out; o += 2 * f32.Lanes {
		for channel := 0; channel < c.in.Channels; channel += f32.Lanes {
			at := wide[channel/f32.Lanes*t.ofChannels():]
			for kx := range c.Kernel {
				for ky := 0; ky < c.Kernel; ky += f32.Windows {
					for i := range min(2*f32.Lanes, c.affine.out-o) {
						for j := range min(f32.Windows, c.Kernel-ky) {
							c.deposit(s, c.weight+(o+i)*c.affine.in+c.tap(ky+j, kx, channel),
								at[i*windowRow+j*f32.Lanes:][:f32.Lanes])
						}
					}
					at = at[windowBlock:]
				}
			}
		}
		wide = wide[t.ofRows():]
	}
}

// multiply adds to the sums from at on: the weights of 32 rows and 16 channels. origin is the
// example of the first tiles.
func (t *tiledGhost) multiply(
	s *Scratch, wide []float64, at int, inputs []f32.Pair, o, origin int, parts []segment,
) {
	c, deltas, bin := t.c, s.pair(t.deltas), s.float(t.bin, 0)[at/windowBlock*f32.WindowFloats:]
	wide = wide[at:]
	q := &s.window
	*q = f32.WindowTile{Parts: s.net.parts, Steps: t.steps, LowB: t.lines * t.line, Work: &s.windowWork,
		StepA: s.net.parts * f32.TilePairs, StepB: f32.TilePairs, ExampleA: t.exampleA, ExampleB: t.exampleB}
	rows := min(2, (c.affine.out-o)/f32.Lanes)
	if rows == 2 {
		q.DownA = t.room * t.exampleA
	}
	for kx := range c.Kernel {
		for ky := 0; ky < c.Kernel; ky += f32.Windows {
			for j := range q.Window {
				q.Window[j] = min(ky+j, c.Kernel-1) * t.line
			}
			for _, p := range parts {
				q.Examples = p.to - p.from
				q.A = deltas[(o/f32.Lanes*t.room+p.from-origin)*t.exampleA:]
				q.B = inputs[(kx*t.room+p.from-origin)*t.exampleB:]
				q.Sum = bin
				if p.begins && p.ends {
					q.Sum = s.windowSum[:] // closer memory
				}
				if p.begins {
					clear(q.Sum[:f32.WindowFloats])
				}
				q.Add()
				if p.ends {
					f32.AddWide(wide, windowRow, q.Sum, rows*f32.Lanes, f32.Windows)
				}
			}
			wide, bin = wide[windowBlock:], bin[f32.WindowFloats:]
		}
	}
}
