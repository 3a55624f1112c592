package softmax

import (
	"proactivedp/data"
	"proactivedp/internal/f32"
	"proactivedp/models"
)

// example is what the model sees of a record.
type example struct {
	index []int32 // the columns of the values, or nil: from the first on
	value []float32
}

// norm2 returns ‖x‖² + 1, the 1 for the bias.
func (x example) norm2() float64 { return f32.SumSquares(x.value) + 1 }

// dot returns wᵀx. Several sums, as one chain of additions would cost more than the
// rest of the loop.
func (x example) dot(w []float32) float64 {
	if x.index == nil {
		return dotDense(w, x.value)
	}
	var sum, odd float64
	index, value := x.index, x.value[:len(x.index)]
	j := 0
	for ; j < len(index)-1; j += 2 {
		sum += float64(float64(value[j]) * float64(w[index[j]]))
		odd += float64(float64(value[j+1]) * float64(w[index[j+1]]))
	}
	if j < len(index) {
		sum += float64(float64(value[j]) * float64(w[index[j]]))
	}
	return sum + odd
}

func dotDense(w, x []float32) float64 {
	w = w[:len(x)]
	var s0, s1, s2, s3 float64
	j := 0
	for ; j < len(x)-3; j += 4 {
		s0 += float64(float64(w[j]) * float64(x[j]))
		s1 += float64(float64(w[j+1]) * float64(x[j+1]))
		s2 += float64(float64(w[j+2]) * float64(x[j+2]))
		s3 += float64(float64(w[j+3]) * float64(x[j+3]))
	}
	for ; j < len(x); j++ {
		s0 += float64(float64(w[j]) * float64(x[j]))
	}
	return (s0 + s1) + (s2 + s3)
}

// addTo adds step·x to sum, each coordinate rounded to the grid.
func (x example) addTo(sum []float64, step float64, grid models.Grid) {
	if x.index == nil {
		sum = sum[:len(x.value)]
		for j, v := range x.value {
			sum[j] += grid.Round(float64(step * float64(v)))
		}
		return
	}
	value := x.value[:len(x.index)]
	for j, c := range x.index {
		sum[c] += grid.Round(float64(step * float64(value[j])))
	}
}

// examples reads records. Its zero value is ready.
type examples struct {
	images *data.Images   // those that the tables are of, or nil
	tables [][256]float32 // what a model sees of a pixel, by channel
	pixels []float32      // of the image read last
}

// example returns record i of the batch, valid until the next call.
func (e *examples) example(b data.Batch, i int) example {
	if b.Data.Images == nil {
		row, _ := b.Example(i)
		if b.Data.Dense() {
			return example{value: row.Value}
		}
		return example{row.Index, row.Value}
	}
	if e.images != b.Data.Images {
		e.normalise(b.Data.Images)
	}
	image, area := b.Image(i), len(e.pixels)/len(e.tables)
	for c := range e.tables {
		table, to := &e.tables[c], e.pixels[c*area:][:area]
		for j, p := range image[c*area:][:area] {
			to[j] = table[p]
		}
	}
	return example{value: e.pixels}
}

// normalise makes the tables of a set of images, in the arithmetic of package nn.
func (e *examples) normalise(m *data.Images) {
	e.images, e.tables, e.pixels = m, make([][256]float32, m.Channels), make([]float32, m.Size())
	for c := range e.tables {
		mean, std := float64(m.Mean[c]), float64(m.Std[c])
		scale, shift := float32(1/(255*std)), float32(-mean/std)
		for p := range e.tables[c] {
			e.tables[c][p] = float32(scale*float32(p)) + shift
		}
	}
}
