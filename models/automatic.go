package models

import (
	"fmt"

	"proactivedp/internal/decimal"
)

// AutomaticClipper is a Model that can clip its gradients automatically: it multiplies every gradient g by C/(‖g‖ +
// γ), also if its norm is below C (Z. Bu, Y.-X. Wang, S. Zha, G. Karypis, "Automatic Clipping: Differentially Private
// Deep Learning Made Easier and Stronger", NeurIPS 2023, with γ = [AutomaticGamma]). Use it if you do not want to
// tune C, which then only scales the steps. The product is shorter than C, so the noise is the same as with usual
// clipping.
type AutomaticClipper interface {
	Model
	// WithAutomaticClipping returns the same model with automatic clipping. Its methods that sum clipped gradients,
	// such as [Model.ClippedGradSum], then clip automatically, unless the clipping norm is +Inf.
	WithAutomaticClipping() Model
	// ClipsAutomatically reports whether the model came from WithAutomaticClipping.
	ClipsAutomatically() bool
}

// AutomaticGamma is the constant γ in the factor C/(‖g‖ + γ) by which automatic clipping multiplies a gradient g: see
// [AutomaticClipper]. It keeps the factor finite for g = 0.
const AutomaticGamma = 0.01

// AutomaticFactor returns the factor C/(‖g‖ + γ) by which automatic clipping multiplies a gradient g (see
// [AutomaticClipper]), where C is clip, ‖g‖ is norm and γ is AutomaticGamma. A model that clips automatically calls
// it instead of [ClipFactor]. The factor may be above 1. It is slightly smaller than the formula says, so that
// rounding cannot make the product longer than C. ok is false if norm is NaN or above MaxNorm, which means that the
// training has diverged, or if clip is not above 0.
//
// Proof that the product is not longer than C. Let u = 2^-53 be the rounding error of one operation in float64, n the
// computed norm of the vector, and n(1 + 2^-22) + e a bound on its true norm. The part 2^-22 is for relative errors,
// which [ClipMargin] makes up for; e is for numbers that are too small for the computer to hold. The factor takes
// three operations: the sum, the product with ClipMargin, and the quotient. Each is wrong by at most u, so the
// product with the vector has at most the norm
//
//	C·(n(1 + 2^-22) + e)(1 + 4u)/(n(1 + 2^-21) + γ) ≤ C   if e ≤ γ/2,
//
// because (1 + 2^-22)(1 + 4u) < 1 + 2^-21 and e(1 + 4u) < γ. In this program e is below 1e-12, far below γ/2 = 0.005:
// otherwise models could not clip to norms as small as 1e-13 (nn.LeastTiledNorm), as they do even with matrix tiles
// (AMX instructions, which lose more small numbers).
func AutomaticFactor(norm, clip float64) (factor float64, ok bool) {
	if !(norm <= MaxNorm && clip > 0) {
		return 0, false
	}
	return clip / (float64(norm*ClipMargin) + AutomaticGamma), true
}

// ClipsAutomatically reports whether m clips its gradients automatically: whether it came from
// [AutomaticClipper].WithAutomaticClipping. It is false for models that cannot do so.
func ClipsAutomatically(m Model) bool {
	a, ok := m.(AutomaticClipper)
	return ok && a.ClipsAutomatically()
}

// clippedTo describes how gradients are clipped, for a model that reserves a share of C for rounding.
func clippedTo(m Bounded) string {
	if ClipsAutomatically(m) {
		return fmt.Sprintf("gradients g are multiplied by C/(1 + %s)/(‖g‖ + %v)", decimal.Up(m.Shade(), 2), AutomaticGamma)
	}
	return fmt.Sprintf("gradients are clipped to C/(1 + %s)", decimal.Up(m.Shade(), 2))
}
