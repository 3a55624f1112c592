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
// rounding cannot make the product longer than C. ok is false if norm is NaN or above MaxNorm = 1.3e154, which means
// that the training has diverged, or if clip is not above 0.
//
// Proof that the product is not longer than C. Let u = 2^-53 be the rounding error of one operation in float64, n the
// computed norm of g, and f the factor. The product, as the model computes it, is at most f·n·(1 + r) + ℓ·C long. Here
// r is for relative errors, and ℓ for parts that are lost because they are too small for float32. The models keep
//
//	r + ℓ(1 + 2^-21) + 8u ≤ 2^-21
//
// for the clipping norms that they allow, because ClipFactor needs the same. (Networks lose most if matrix tiles, AMX
// instructions, compute the sums: a length of 2^-65, which is ℓ = 2.8e-7 for nn.LeastTiledNorm, the least C allowed
// with tiles.) The factor takes three operations: the product of n and ClipMargin = 1 + 2^-21, the sum with γ, and the
// quotient. Each has a relative error of at most u. So
//
//	f·n·(1 + r) + ℓ·C ≤ C·(n(1 + r)(1 + 4u)/(n(1 + 2^-21) + γ) + ℓ) ≤ C
//
// The last step multiplies by n(1 + 2^-21) + γ and compares the terms with n, which is the condition above, and those
// with γ, which is ℓ ≤ 1.
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
