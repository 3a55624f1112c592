package numpy

import (
	"fmt"
	"slices"

	"proactivedp/data"
	"proactivedp/internal/decimal"
	"proactivedp/internal/message"
)

// form describes the records of an array, which are rows or images.
type form struct {
	features                int
	images                  bool
	channels, height, width int   // for images
	strides                 []int // for each dimension of the array, the distance of neighbours in memory
}

// String describes a record in words.
func (f form) String() string {
	if f.images {
		return fmt.Sprintf("images of %d×%d×%d pixels", f.channels, f.height, f.width)
	}
	return "rows of " + decimal.Many(f.features, "feature")
}

// like reports whether records of the forms f and g have the same kind and size.
func (f form) like(g form) bool {
	return f.images == g.images && f.features == g.features && f.channels == g.channels && f.height == g.height
}

// of returns n images of the form. A model gets p/255 for the pixel p.
func (f form) of(n int) *data.Images {
	return &data.Images{Channels: f.channels, Height: f.height, Width: f.width, Pixels: make([]byte, n*f.features),
		Mean: make([]float32, f.channels), Std: slices.Repeat([]float32{1}, f.channels)}
}

func (a *array) form() (form, error) {
	s := a.shape
	if a.kind.isText() {
		return form{}, a.fault("texts (%s), must be numbers", a.kind.text)
	}
	switch len(s) {
	case 2:
		if s[1] > MaxColumns {
			return form{}, a.fault("%d features, must be at most %d", s[1], MaxColumns)
		}
		return form{features: s[1], strides: []int{s[1], 1}}, nil
	case 3:
		return a.imageForm(form{channels: 1, height: s[1], width: s[2], strides: []int{0, s[2], 1}})
	case 4:
		last, first := s[3] == 1 || s[3] == 3, s[1] == 1 || s[1] == 3
		if last && !first {
			return a.imageForm(form{channels: s[3], height: s[1], width: s[2], strides: []int{0, s[2], 1, s[1] * s[2]}})
		}
		if first && !last {
			return a.imageForm(form{channels: s[1], height: s[2], width: s[3], strides: []int{0, s[2] * s[3], s[3], 1}})
		}
	}
	hint := message.When(len(s) == 4 && (s[2] == 1 || s[2] == 3),
		" (if the images are numbered along the last axis, x.transpose(3, 0, 1, 2) moves it to the front)")
	return form{}, a.fault("shape %s, must be (N, d): N rows of d features, or images: (N, H, W), (N, H, W, C) or "+
		"(N, C, H, W) with C = 1 or 3 channels and H and W that are neither 1 nor 3%s", shapeText(s), hint)
}

func (a *array) imageForm(f form) (form, error) {
	if max(f.height, f.width) > maxSide {
		return f, a.fault("images of %d×%d pixels, each must be in [1, %d]", f.height, f.width, maxSide)
	}
	f.images, f.features = true, f.channels*f.height*f.width
	f.strides[0] = f.features
	return f, nil
}

// walk goes through the elements of an array in the order of the file.
type walk struct {
	dims, strides, at []int // the fastest dimension first
	offset            int
	part              []int // positions of the elements of the fastest dimensions, which dims no longer has
	place             int   // the index in part of the next element
}

// longestPart limits the positions that a walk keeps.
const longestPart = 1 << 16

func newWalk(h header, strides []int) *walk {
	w := &walk{dims: slices.Clone(h.shape), strides: slices.Clone(strides)}
	if !h.fortran {
		slices.Reverse(w.dims)
		slices.Reverse(w.strides)
	}
	w.part = []int{0}
	for len(w.dims) > 0 && w.dims[0]*len(w.part) <= longestPart {
		one := w.part
		for i := 1; i < w.dims[0]; i++ {
			for _, at := range one {
				w.part = append(w.part, at+i*w.strides[0])
			}
		}
		w.dims, w.strides = w.dims[1:], w.strides[1:]
	}
	w.at = make([]int, len(w.dims))
	return w
}

// inOrder reports whether the elements have the same order in memory as in the file.
func (w *walk) inOrder() bool {
	for i, at := range w.part {
		if at != i {
			return false
		}
	}
	step := len(w.part)
	for i, n := range w.dims {
		if w.strides[i] != step && n > 1 {
			return false
		}
		step *= n
	}
	return true
}

// next returns the positions of the next elements in memory, at least 1 and at most n: the sum of at and each of part.
func (w *walk) next(n int) (at int, part []int) {
	at, part = w.offset, w.part[w.place:]
	if len(part) > n {
		part = part[:n]
	}
	if w.place += len(part); w.place == len(w.part) {
		w.place = 0
		w.turn()
	}
	return at, part
}

// turn moves on to the next part.
func (w *walk) turn() {
	for i, n := range w.dims {
		w.at[i]++
		w.offset += w.strides[i]
		if w.at[i] < n {
			break
		}
		w.offset -= n * w.strides[i]
		w.at[i] = 0
	}
}
