package train

import (
	"fmt"
	"slices"
	"strings"

	"proactivedp/internal/f32"
	"proactivedp/models"
	"proactivedp/nn"
)

// Precisions lists what a Spec's Precision can be, other than not given.
func Precisions() []string { return []string{string(nn.BF16x3)} }

// checkPrecision reports a precision that is none, or none of the model's.
func (s Spec) checkPrecision() error {
	if s.Precision == "" {
		return nil
	}
	if !slices.Contains(Precisions(), s.Precision) {
		return fmt.Errorf("precision = %q, must be %s, or not given for that of float32", s.Precision,
			strings.Join(Precisions(), ", "))
	}
	var tiled []string
	for _, k := range modelKinds {
		if k.tiled {
			tiled = append(tiled, k.name)
		}
	}
	if k, err := kindOf(s.Model); err == nil && !k.tiled {
		return fmt.Errorf("precision = %q with model = %q, must be not given: it is for %s", s.Precision,
			s.Model, strings.Join(tiled, ", "))
	}
	return nil
}

// precise returns a network with products of other numbers than float32: an error where
// there are no matrix tiles to make them.
func precise(m models.Model, p nn.Precision) (models.Model, error) {
	if !f32.Tiled() {
		return nil, fmt.Errorf("precision = %q needs matrix tiles, which are kernels of class amx: in use are "+
			"those of class %v", p, f32.Kernels())
	}
	return m.(*models.Network).WithPrecision(p)
}
