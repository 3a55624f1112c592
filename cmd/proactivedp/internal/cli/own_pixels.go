package cli

import (
	"fmt"
	"math"

	"proactivedp/data"
	"proactivedp/data/table"
	"proactivedp/internal/memory"
	"proactivedp/internal/numpy"
	"proactivedp/train"
)

// PixelRangeOf returns the range of the pixels that form gives, or a zero range if it gives none. Numbers
// beyond the range are clamped, unless outside says that they are errors. The file at path must be of the
// kind form.PixelKind, such as NumPy with whole numbers. Any other kind is an error, because its numbers
// may have another range, and clamping would hide that.
func PixelRangeOf(form train.FileForm, outside Outside, path string) (data.PixelRange, error) {
	if form.Pixels == "" {
		return data.PixelRange{}, nil
	}
	low, high, err := data.ParseBounds(form.Pixels)
	if err != nil {
		return data.PixelRange{}, err
	}
	r := data.PixelRange{Low: low, High: high, Clamp: outside != refuse}
	kind, err := pixelKind(path, form)
	if err == nil && form.PixelKind != kind {
		err = fmt.Errorf("the model was trained on pixels in [%v, %v] in a file of kind %s: the records to label must be in "+
			"such a file, not in one of kind %s", r.Low, r.High, form.PixelKind, kind)
	}
	return r, err
}

// pixelKind returns the kind of a file, with the kind of its numbers if the file states it.
func pixelKind(path string, form train.FileForm) (string, error) {
	kind := KindOf(path)
	if kind != NumPyFile && kind != ImageFile {
		return string(kind), nil
	}
	arrays, err := ArraysOf(form)
	if err != nil {
		return "", err
	}
	floats, err := numpy.Floats(path, arrays.Training())
	if floats {
		return string(kind) + " with floating-point numbers", err
	}
	return string(kind) + " with whole numbers", err
}

// Pictures returns d with its rows turned into images of the shape in form. If r is zero, the pixels must be whole
// numbers in [0, 255]. It is an error if the images need more than limit bytes of memory.
func Pictures(d *data.Dataset, form train.FileForm, r data.PixelRange, limit int64) (*data.Dataset, error) {
	if d.Images != nil {
		return nil, fmt.Errorf("--%s is for a file of rows, and %s has images", imageFlag, d.Name)
	}
	grid, err := data.ParsePixelGrid(form.Image)
	if err != nil {
		return nil, fmt.Errorf("--%s = %w", imageFlag, err)
	}
	if err := memory.Given(limit).Check(int64(d.Len()) * int64(grid.Size())); err != nil {
		return nil, fmt.Errorf("--%s: %w", imageFlag, err)
	}
	if r == (data.PixelRange{}) {
		r.High, r.Whole = 255, true
	}
	return d.Pictures(grid, r)
}

// normalisePixels normalises images by the mean and the deviation of each channel, which
// --normalise gives for p/255, where p is a pixel. Bounds were already applied when the images were
// read.
func (o *OwnFlags) normalisePixels(d *data.Dataset) error {
	switch {
	case o.private.BoundsEpsilon > 0:
		return Usage(fmt.Errorf("--bounds is for columns, and %s has images: --normalise %sLOW,HIGH gives the public bounds "+
			"of pixels", d.Name, boundsPrefix))
	case o.normalise == "":
		return nil
	case o.Form.Pixels != "":
		d.Note = normalisedNote
		if o.outside != refuse {
			d.Note = notes(d.Note, clampedNote)
		}
		return nil
	}
	m := d.Images
	c, err := table.ReadConstants(o.normalise, &data.Dataset{Name: d.Name, Features: m.Channels}, nil)
	if err != nil {
		return fmt.Errorf("--normalise: %w", err)
	}
	for j := range m.Channels {
		if c.Low[j] > -math.MaxFloat32 {
			return fmt.Errorf("--normalise: %s has bounds, must have the header column,mean,deviation: %s has images, "+
				"whose pixels p are p/255", o.normalise, d.Name)
		}
		m.Mean[j], m.Std[j] = float32(c.Shift[j]), float32(1/c.Scale[j])
	}
	if err := d.Validate(); err != nil {
		return fmt.Errorf("--normalise: %s: %w", o.normalise, err)
	}
	d.Note = normalisedNote
	return nil
}
