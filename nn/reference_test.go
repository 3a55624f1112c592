package nn_test

import (
	"math"

	"proactivedp/data"
	"proactivedp/nn"
)

// reference is a network in float64, one example at a time, as the definitions
// have it: what every path through nn is compared with.
type reference struct {
	input  nn.Shape
	layers []nn.Layer
	params []float32
}

// field is an activation or a derivative, [channel][y][x].
type field struct {
	nn.Shape
	v []float64
}

func newField(s nn.Shape) field { return field{s, make([]float64, s.Size())} }

func (f field) at(c, y, x int) *float64 { return &f.v[(c*f.Height+y)*f.Width+x] }

// step is one layer's way back: from the derivative by its output to that by its
// input, adding the gradient of its parameters.
type step func(d field, grad []float64) field

// example returns the loss, the gradient and the logits for image i.
func (r reference) example(set *data.Dataset, i int) (loss float64, grad, logits []float64) {
	x := newField(r.input)
	images := set.Images
	for j, p := range images.Image(i) {
		c := j / (images.Height * images.Width)
		x.v[j] = (float64(p)/255 - float64(images.Mean[c])) / float64(images.Std[c])
	}
	var steps []step
	used := 0
	for _, l := range r.layers {
		var s step
		var params int
		x, params, s = layer(l, x, r.params[used:], used)
		used += params
		steps = append(steps, s)
	}
	logits = x.v
	largest, sum := logits[0], 0.0
	for _, z := range logits {
		largest = max(largest, z)
	}
	for _, z := range logits {
		sum += math.Exp(z - largest)
	}
	y := set.Label[i]
	loss = math.Log(sum) + largest - logits[y]
	d := newField(x.Shape)
	for c, z := range logits {
		d.v[c] = math.Exp(z-largest) / sum
	}
	d.v[y]--
	grad = make([]float64, used)
	for j := len(steps) - 1; j >= 0; j-- {
		d = steps[j](d, grad)
	}
	return loss, grad, logits
}

// layer evaluates one layer; its parameters are the first of w and stand at
// start in the gradient.
func layer(l nn.Layer, x field, w []float32, start int) (field, int, step) {
	switch l := l.(type) {
	case nn.Conv:
		return convolution(l, x, w, start)
	case nn.Dense:
		return affine(l, x, w, start)
	case nn.ReLU:
		return elementwise(x, func(z float64) float64 { return max(z, 0) }, func(y float64) float64 {
			if y > 0 {
				return 1
			}
			return 0
		})
	case nn.Tanh:
		return elementwise(x, math.Tanh, func(y float64) float64 { return 1 - y*y })
	case nn.MaxPool:
		return pooling(x, func(window []float64) []float64 {
			best := 0
			for i, v := range window {
				if v > window[best] {
					best = i
				}
			}
			weights := make([]float64, len(window))
			weights[best] = 1
			return weights
		})
	case nn.AvgPool:
		return pooling(x, func([]float64) []float64 { return []float64{0.25, 0.25, 0.25, 0.25} })
	}
	panic("no reference for this layer")
}

func convolution(l nn.Conv, x field, w []float32, start int) (field, int, step) {
	y := newField(nn.Shape{Channels: l.Out, Height: (x.Height+2*l.Pad-l.Kernel)/l.Stride + 1,
		Width: (x.Width+2*l.Pad-l.Kernel)/l.Stride + 1})
	fan := l.Kernel * l.Kernel * x.Channels
	bias := l.Out * fan
	// each calls f for every output, weight and input that belong together.
	each := func(f func(o, oy, ox, weight, i, iy, ix int)) {
		for o := range l.Out {
			for oy := range y.Height {
				for ox := range y.Width {
					for ky := range l.Kernel {
						for kx := range l.Kernel {
							iy, ix := oy*l.Stride+ky-l.Pad, ox*l.Stride+kx-l.Pad
							if iy < 0 || iy >= x.Height || ix < 0 || ix >= x.Width {
								continue
							}
							for i := range x.Channels {
								f(o, oy, ox, o*fan+(ky*l.Kernel+kx)*x.Channels+i, i, iy, ix)
							}
						}
					}
				}
			}
		}
	}
	for o := range l.Out {
		for p := range y.Height * y.Width {
			y.v[o*y.Height*y.Width+p] = float64(w[bias+o])
		}
	}
	each(func(o, oy, ox, weight, i, iy, ix int) { *y.at(o, oy, ox) += float64(w[weight]) * *x.at(i, iy, ix) })
	return y, bias + l.Out, func(d field, grad []float64) field {
		dx := newField(x.Shape)
		each(func(o, oy, ox, weight, i, iy, ix int) {
			grad[start+weight] += *d.at(o, oy, ox) * *x.at(i, iy, ix)
			*dx.at(i, iy, ix) += *d.at(o, oy, ox) * float64(w[weight])
		})
		for o := range l.Out {
			for _, v := range d.v[o*y.Height*y.Width : (o+1)*y.Height*y.Width] {
				grad[start+bias+o] += v
			}
		}
		return dx
	}
}

func affine(l nn.Dense, x field, w []float32, start int) (field, int, step) {
	y := newField(nn.Shape{Channels: l.Out, Height: 1, Width: 1})
	in := x.Size()
	for o := range y.v {
		y.v[o] = float64(w[l.Out*in+o])
		for i, v := range x.v {
			y.v[o] += float64(w[o*in+i]) * v
		}
	}
	return y, l.Out * (in + 1), func(d field, grad []float64) field {
		dx := newField(x.Shape)
		for o, dy := range d.v {
			for i, v := range x.v {
				grad[start+o*in+i] += dy * v
				dx.v[i] += dy * float64(w[o*in+i])
			}
			grad[start+l.Out*in+o] += dy
		}
		return dx
	}
}

func elementwise(x field, f, slope func(float64) float64) (field, int, step) {
	y := newField(x.Shape)
	for i, v := range x.v {
		y.v[i] = f(v)
	}
	return y, 0, func(d field, _ []float64) field {
		dx := newField(x.Shape)
		for i, v := range d.v {
			dx.v[i] = v * slope(y.v[i])
		}
		return dx
	}
}

// pooling sums the places of each window with the weights they get.
func pooling(x field, weigh func(window []float64) []float64) (field, int, step) {
	y := newField(nn.Shape{Channels: x.Channels, Height: x.Height / 2, Width: x.Width / 2})
	window := func(f field, c, py, px int) [4]*float64 {
		return [4]*float64{f.at(c, 2*py, 2*px), f.at(c, 2*py, 2*px+1), f.at(c, 2*py+1, 2*px), f.at(c, 2*py+1, 2*px+1)}
	}
	weights := make([][]float64, y.Size())
	each := func(f func(at int, c, py, px int)) {
		for c := range y.Channels {
			for py := range y.Height {
				for px := range y.Width {
					f((c*y.Height+py)*y.Width+px, c, py, px)
				}
			}
		}
	}
	each(func(at, c, py, px int) {
		var values []float64
		for _, p := range window(x, c, py, px) {
			values = append(values, *p)
		}
		weights[at] = weigh(values)
		for i, v := range values {
			y.v[at] += weights[at][i] * v
		}
	})
	return y, 0, func(d field, _ []float64) field {
		dx := newField(x.Shape)
		each(func(at, c, py, px int) {
			for i, p := range window(dx, c, py, px) {
				*p = weights[at][i] * d.v[at]
			}
		})
		return dx
	}
}
