package train

import (
	"fmt"
	"slices"
	"strings"

	"proactivedp/internal/f32"
	"proactivedp/models"
	"proactivedp/nn"
)

// Precisions returns the values that Spec.Precision can have in addition to the default "" (float32): bf16 and
// bf16x3. With them, large networks multiply numbers faster and less exactly. bf16 rounds both factors of a product to
// bfloat16 (8 significant bits). bf16x3 is more exact: it represents each factor as the sum of two bfloat16, and computes
// three of the four products of these parts. See nn.BF16 and nn.BF16x3.
func Precisions() []string { return []string{string(nn.BF16), string(nn.BF16x3)} }

// checkPrecision returns an error if the precision does not exist or is not for the model.
func (s Spec) checkPrecision() error {
	if s.Precision == "" {
		return nil
	}
	if !slices.Contains(Precisions(), s.Precision) {
		return fmt.Errorf("precision = %q, must be %s, or not given for float32", s.Precision,
			strings.Join(Precisions(), " or "))
	}
	var tiled []string
	for _, k := range modelKinds {
		if k.tiled {
			tiled = append(tiled, k.name)
		}
	}
	if k, err := kindOf(s.Model); err == nil && !k.tiled {
		return fmt.Errorf("precision = %q with model = %q, must not be given: it is only for %s", s.Precision,
			s.Model, strings.Join(tiled, ", "))
	}
	return nil
}

// precise returns the network m with products of precision p, which is not that of float32. It
// returns an error if this machine has no instructions to compute them.
func precise(m models.Model, p nn.Precision) (models.Model, error) {
	if p == nn.BF16 && !f32.BF16() {
		return nil, fmt.Errorf("precision = %q needs the instructions AVX512-BF16, which this machine or its kernels of "+
			"class %v do not have", p, f32.Kernels())
	}
	if p == nn.BF16x3 && !f32.Tiled() {
		return nil, fmt.Errorf("precision = %q needs matrix tiles, which are kernels of class amx, but this machine uses "+
			"those of class %v", p, f32.Kernels())
	}
	return m.(*models.Network).WithPrecision(p)
}
