package softmax

import (
	"proactivedp/data"
	"proactivedp/internal/f32"
	"proactivedp/models"
)

// rows gives access to the rows of a data set, one block at a time. Vectors of float64 have as many columns as a
// stored row.
type rows interface {
	columns() int
	load(numbers []int32)
	square(i int) float64                        // ‖x‖² of row i of the block
	dots(z, w []float64)                         // see models.Rows.Dots
	addTo(sum, step []float64, grid models.Grid) // see models.Rows.AddRounded
}

// bySet are the rows of a data set without images.
type bySet struct {
	set     *models.Rows
	numbers []int32
}

func (r *bySet) columns() int         { return r.set.Columns() }
func (r *bySet) load(numbers []int32) { r.numbers = numbers }
func (r *bySet) square(i int) float64 { return r.set.Squares(r.numbers[i]) }
func (r *bySet) dots(z, w []float64)  { r.set.Dots(z, r.numbers, w) }

func (r *bySet) addTo(sum, step []float64, grid models.Grid) {
	r.set.AddRounded(sum, r.numbers, step, grid)
}

// pixels are the rows of a set of images, converted block by block. All of them would take four
// times the memory of the images.
type pixels struct {
	images *data.Images // the images of the last block, or nil
	width  int          // of a row: the number of pixels, rounded up
	x      []float32    // the block, [row][width]
	places [block]int32 // 0, 1, …
	n      int
}

func (p *pixels) of(m *data.Images) {
	if p.images == m {
		return
	}
	p.images = m
	p.width = (m.Size() + f32.WideLanes - 1) / f32.WideLanes * f32.WideLanes
	p.x = make([]float32, rowsAtOnce(p.width)*p.width)
	for i := range p.places {
		p.places[i] = int32(i)
	}
}

func (p *pixels) columns() int { return p.width }

// load converts pixels as the input of a network in package nn does, with the same bits.
func (p *pixels) load(numbers []int32) {
	p.n = len(numbers)
	area := p.images.Height * p.images.Width
	for c := range p.images.Channels {
		scale, shift := p.images.Scaling(c)
		for i, number := range numbers {
			from, to := p.images.Image(int(number))[c*area:][:area], p.x[i*p.width+c*area:][:area]
			f32.FromBytes(to, from, scale, shift)
		}
	}
}

func (p *pixels) square(i int) float64 { return f32.SumSquares(p.x[i*p.width:][:p.width]) }

func (p *pixels) dots(z, w []float64) { f32.RowDots(z, p.x, p.width, p.places[:p.n], w) }

func (p *pixels) addTo(sum, step []float64, grid models.Grid) {
	grid.AddRows(sum, p.x, p.width, p.places[:p.n], step)
}
