package cli

import (
	"fmt"
	"math"
	"strings"

	"proactivedp/data"
	"proactivedp/data/table"
)

// normalisePixels normalises images by the mean and the deviation of each channel that
// --normalise names, which are of p/255 for the pixel p.
func (o *OwnFlags) normalisePixels(d *data.Dataset) error {
	if strings.HasPrefix(o.normalise, boundsPrefix) {
		return Usage(fmt.Errorf("--normalise = %q is for rows, and %s has images, whose pixels p are p/255: must be a "+
			"file with the header column,mean,deviation, of each channel by its number", o.normalise, d.Name))
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
