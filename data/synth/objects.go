package synth

import (
	"math"

	"proactivedp/rng"
)

const objectSide = 32

// colour is red, green and blue, from 0 to 255.
type colour [3]float64

func (a colour) mix(b colour, share float64) (c colour) {
	for i := range c {
		c[i] = a[i] + share*(b[i]-a[i])
	}
	return c
}

// contrast returns black for a light colour and white for a dark one.
func (a colour) contrast() colour {
	if a[0]+a[1]+a[2] > 3*128 {
		return colour{}
	}
	return colour{255, 255, 255}
}

func anyColour(s *rng.Stream) colour {
	return colour{255 * s.Float64(), 255 * s.Float64(), 255 * s.Float64()}
}

// tint is the typical colour of a class: five hues around the colour wheel, each light in one
// texture and dark in the other.
func tint(shape, texture int) colour {
	var c colour
	for i := range c {
		c[i] = 128 + 60*math.Cos(2*math.Pi*(float64(shape)/5-float64(i)/3)) + 30*float64(1-2*texture)
	}
	return c
}

// inside reports whether a place is in the shape. Its coordinates are relative to the centre, in
// units of the object's size.
func inside(shape int, x, y float64) bool {
	switch r := x*x + y*y; shape {
	case 0: // disc
		return r < .8
	case 1: // ring
		return r < 1 && r > .3
	case 2: // square
		return max(math.Abs(x), math.Abs(y)) < .8
	case 3: // triangle
		return y < .6 && y > 1.9*math.Abs(x)-1
	default: // cross
		return min(math.Abs(x), math.Abs(y)) < .3 && max(math.Abs(x), math.Abs(y)) < 1
	}
}

// wave is a triangle wave from 0 to 1 and back with period 1.
func wave(x float64) float64 { return 2 * math.Abs(x-math.Floor(x)-.5) }

// texture returns the share of the second colour at a place, for stripes or dots.
func texture(kind int, x, y float64) float64 {
	if kind == 0 {
		return wave(x)
	}
	return wave(x) * wave(y)
}

// drawObject draws the shape class mod 5 in the texture class / 5.
func drawObject(pixels []byte, class int, s *rng.Stream) {
	const side = objectSide
	shape, kind := class%5, class/5
	tint := tint(shape, kind)
	one := anyColour(s).mix(tint, .45)
	two := one.mix(one.contrast(), between(s, .4, .7))
	top, bottom := anyColour(s), anyColour(s)
	size := between(s, 8, 14)
	x0 := side/2 + between(s, -4, 4)
	y0 := side/2 + between(s, -4, 4)
	sin, cos := math.Sincos(between(s, -.5, .5))
	wide := between(s, .8, 1.2)
	// The texture has a random rotation, period in pixels, and phase.
	waveSin, waveCos := math.Sincos(between(s, 0, 2*math.Pi))
	period := between(s, 4, 7)
	phase := 2 * s.Float64()

	const area = side * side
	for i := range area {
		x, y := float64(i%side)+.5-x0, float64(i/side)+.5-y0
		ground := (float64(i/side) + .5) / side
		c := top.mix(bottom, ground)
		if inside(shape, (x*cos-y*sin)/(size*wide), (x*sin+y*cos)*wide/size) {
			c = one.mix(two, texture(kind, (x*waveCos-y*waveSin)/period+phase, (x*waveSin+y*waveCos)/period))
		}
		for j, v := range c {
			pixels[j*area+i] = byte(v)
		}
	}
	speckle(pixels, 50, s)
}
