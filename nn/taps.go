package nn

import (
	"fmt"
	"slices"

	"proactivedp/internal/f32"
)

// stretch is one or two positions along an axis of a feature map, and the taps through which they read the other map.
type stretch struct {
	at    []int // the positions
	start int   // the place that the first position reads through the first tap
	taps  []tapAt
}

// tapAt is a tap along an axis: its index in the kernel, and how far after the first tap it reads.
type tapAt struct{ kernel, step int }

// reach adds to s the tap with this kernel index, through which the first position reads the place
// to.
func (s *stretch) reach(kernel, to int) {
	if len(s.taps) == 0 {
		s.start = to
	}
	s.taps = append(s.taps, tapAt{kernel, to - s.start})
}

// small reports whether so much of the kernel extends beyond the edges that every position should
// have its own list of taps. The columns of a tile are then the same position of several blocks.
func (l Conv) small(in, out Shape) bool {
	const worth = 0.9
	used := 1.0
	for _, axis := range [][2]int{{in.Height, out.Height}, {in.Width, out.Width}} {
		taps := 0
		for _, s := range l.aheadAxis(axis[0], axis[1], true) {
			taps += len(s.taps)
		}
		used *= float64(taps) / float64(l.Kernel*axis[1])
	}
	return used < worth
}

// aheadAxis lists the output positions along an axis with their taps: those that fall on the input
// if exact, otherwise all of them.
func (l Conv) aheadAxis(in, out int, exact bool) []stretch {
	all := make([]stretch, out)
	for i := range all {
		all[i].at = []int{i}
		for k := range l.Kernel {
			if to := i*l.Stride - l.Pad + k; !exact || to >= 0 && to < in {
				all[i].reach(k, to)
			}
		}
	}
	return all
}

// backAxis lists the input positions along an axis with the taps that lead from them to the output.
// If exact, a stretch is one position with exactly its taps. Otherwise it is two positions, a
// stride apart, with the taps that either has; each then reads at most one place beyond the output.
func (c *conv) backAxis(in, out int, exact bool) []stretch {
	width := 2
	if exact {
		width = 1
	}
	var all []stretch
	for residue := range c.Stride {
		for i := 0; residue+i*c.Stride < in; i += width {
			var s stretch
			for j := i; j < i+width && residue+j*c.Stride < in; j++ {
				s.at = append(s.at, residue+j*c.Stride)
			}
			for k := c.Kernel - 1; k >= 0; k-- {
				distance := residue + c.Pad - k
				if distance%c.Stride != 0 {
					continue
				}
				if to := i + distance/c.Stride; to+len(s.at) > 0 && to < out {
					s.reach(k, to)
				}
			}
			all = append(all, s)
		}
	}
	return all
}

// grid has the distances for reading a map: the number of floats from one channel, row and column
// to the next, and the offset of the first position's first channel.
type grid struct{ channels, channel, row, column, start int }

// grid returns how to read a map of layout l.
func (l layout) grid() grid { return grid{l.Channels, l.plane(), l.row(), f32.Lanes, l.at(0, 0, 0)} }

// patches covers a map with the rectangles of stretches. Their positions are the columns of tiles.
// Rectangles with the same taps share tiles, unless the columns are blocks. weight returns the
// offset of the weight of a tap and a channel of from.
func patches(ys, xs []stretch, from grid, to layout, weight func(ky, kx, channel int) int, single bool) []f32.Patch {
	made := map[string]*f32.Terms{}
	latest := map[*f32.Terms]int{} // the patch with these terms that may have free columns
	var out []f32.Patch
	for _, y := range ys {
		for _, x := range xs {
			key := fmt.Sprint(y.taps, x.taps)
			if made[key] == nil {
				made[key] = from.terms(y.taps, x.taps, weight)
			}
			terms := made[key]
			last, ok := latest[terms]
			if !ok || single || out[last].Cols+len(y.at)*len(x.at) > f32.TileCols {
				last = len(out)
				latest[terms] = last
				out = append(out, f32.Patch{Terms: terms})
			}
			p := &out[last]
			for i, py := range y.at {
				for j, px := range x.at {
					p.ColB[p.Cols] = from.start + (y.start+i)*from.row + (x.start+j)*from.column
					p.ColC[p.Cols] = to.at(0, py, px)
					p.Cols++
				}
			}
		}
	}
	return out
}

// terms returns the products of weights with the inputs that the taps ys and xs read, as offsets
// relative to the first input, in the order of the weights.
func (g grid) terms(ys, xs []tapAt, weight func(ky, kx, channel int) int) *f32.Terms {
	var list []f32.Term
	for _, y := range ys {
		for _, x := range xs {
			for c := range g.channels {
				list = append(list, f32.Term{
					A: int32(weight(y.kernel, x.kernel, c)),
					B: int32(c*g.channel + y.step*g.row + x.step*g.column),
				})
			}
		}
	}
	slices.SortFunc(list, func(a, b f32.Term) int { return int(a.A - b.A) })
	return f32.NewTerms(list)
}
