package synth

import (
	"math"

	"proactivedp/rng"
)

const digitSide = 28

// point is a place on a sheet with the corners (0, 0), top left, and (1, 1).
type point struct{ x, y float64 }

type line []point

// arc is a part of an ellipse around (x, y) with the radii rx and ry, from one angle to another, in
// degrees, clockwise from the right.
func arc(x, y, rx, ry, from, to float64) line {
	const parts = 10
	l := make(line, 0, parts+1)
	for i := range parts + 1 {
		sin, cos := math.Sincos((from + (to-from)*float64(i)/parts) * math.Pi / 180)
		l = append(l, point{x + rx*cos, y + ry*sin})
	}
	return l
}

func skeleton(digit int) []line {
	switch digit {
	case 0:
		return []line{arc(.5, .5, .32, .44, 0, 360)}
	case 1:
		return []line{{{.36, .24}, {.54, .06}, {.52, .94}}}
	case 2:
		return []line{append(arc(.48, .31, .3, .25, 190, 390), point{.2, .93}, point{.82, .93})}
	case 3:
		return []line{arc(.44, .29, .29, .22, 200, 450), arc(.44, .71, .34, .22, 270, 520)}
	case 4:
		return []line{{{.52, .06}, {.16, .62}, {.86, .62}}, {{.66, .36}, {.62, .95}}}
	case 5:
		return []line{append(line{{.8, .08}, {.3, .08}, {.26, .46}}, arc(.46, .66, .32, .27, 235, 505)...)}
	case 6:
		return []line{{{.68, .05}, {.4, .3}, {.24, .62}}, arc(.5, .69, .27, .24, 0, 360)}
	case 7:
		return []line{{{.16, .1}, {.82, .1}, {.42, .94}}}
	case 8:
		return []line{arc(.5, .28, .24, .21, 0, 360), arc(.5, .72, .3, .23, 0, 360)}
	default:
		return []line{arc(.48, .31, .26, .24, 0, 360), {{.74, .3}, {.68, .6}, {.56, .95}}}
	}
}

var skeletons = func() (all [classes][]line) {
	for digit := range all {
		all[digit] = skeleton(digit)
	}
	return all
}()

// drawDigit draws a digit in random handwriting: with random size, slant, rotation and place, a
// bend of the whole sheet, and a random width and darkness of the pen. Then it adds stray strokes,
// a gap and noise.
func drawDigit(pixels []byte, digit int, s *rng.Stream) {
	const side = digitSide
	size := side * between(s, .52, .78)
	narrow := between(s, .65, 1.05)
	slant := .22 * s.Normal()
	sin, cos := math.Sincos(.16 * s.Normal())
	x0, y0 := side/2+1.3*s.Normal(), side/2+1.3*s.Normal()
	var bend [6]float64
	for i := range bend {
		bend[i] = .28 * s.Normal()
	}
	onPaper := func(p point) point {
		x, y := p.x-.5, p.y-.5
		x, y = x+bend[0]*x*x+bend[1]*x*y+bend[2]*y*y, y+bend[3]*x*x+bend[4]*x*y+bend[5]*y*y
		x = narrow*x - slant*y
		return point{x0 + size*(x*cos-y*sin), y0 + size*(x*sin+y*cos)}
	}
	pen := between(s, .45, 1.35)
	ink := between(s, 150, 255)
	for _, l := range skeletons[digit] {
		from := onPaper(l[0])
		for _, p := range l[1:] {
			to := onPaper(p)
			stroke(pixels, side, from, to, pen, ink)
			from = to
		}
	}
	anywhere := func() point { return point{between(s, 2, side-2), between(s, 2, side-2)} }
	for range s.IntN(3) {
		from := anywhere()
		stroke(pixels, side, from, point{from.x + 3.5*s.Normal(), from.y + 3.5*s.Normal()}, .6*pen, ink)
	}
	gap(pixels, side, anywhere(), between(s, 0, 3.2))
	speckle(pixels, 60, s)
}

// stroke darkens the pixels within the pen's width, in pixels, of the line between two places. Its
// edge is one pixel soft.
func stroke(pixels []byte, side int, from, to point, pen, ink float64) {
	dx, dy := to.x-from.x, to.y-from.y
	length2 := dx*dx + dy*dy
	reach := pen + 1
	x0, x1 := span(from.x, to.x, reach, side)
	y0, y1 := span(from.y, to.y, reach, side)
	for y := y0; y < y1; y++ {
		for x := x0; x < x1; x++ {
			px, py := float64(x)+.5-from.x, float64(y)+.5-from.y
			along := 0.0
			if length2 > 0 {
				along = min(max((px*dx+py*dy)/length2, 0), 1)
			}
			px, py = px-along*dx, py-along*dy
			far := px*px + py*py
			if far >= reach*reach {
				continue
			}
			v := byte(ink * min(reach-math.Sqrt(far), 1))
			pixels[y*side+x] = max(pixels[y*side+x], v)
		}
	}
}

// span returns the range of pixels 0 to side that are within reach of a and b.
func span(a, b, reach float64, side int) (from, to int) {
	from = max(int(min(a, b)-reach), 0)
	to = min(int(max(a, b)+reach)+1, side)
	return from, to
}

// gap erases a disc.
func gap(pixels []byte, side int, at point, radius float64) {
	x0, x1 := span(at.x, at.x, radius, side)
	y0, y1 := span(at.y, at.y, radius, side)
	for y := y0; y < y1; y++ {
		for x := x0; x < x1; x++ {
			if dx, dy := float64(x)+.5-at.x, float64(y)+.5-at.y; dx*dx+dy*dy < radius*radius {
				pixels[y*side+x] = 0
			}
		}
	}
}
