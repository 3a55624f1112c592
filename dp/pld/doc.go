// Package pld computes the ε of many rounds of DP-SGD at a given δ, or their δ at a given ε, by privacy loss
// distributions. Each answer is a narrow interval that is proved to contain the true value, also with the rounding
// errors of float64. Ask the zero [Accountant] for the cost of rounds, and claim the upper end.
//
// # What is accounted
//
// The accountant covers rounds of Poisson sampling at rate q with noise multiplier σ, in any number
// and mixture of q and σ,
//
//   - under add-or-remove adjacency, by the pairs (1-q)N(0, σ²) + qN(1, σ²)
//     against N(0, σ²) and the reverse, each of which dominates its direction
//     (Zhu, Dong, Wang, "Optimal accounting of differential privacy via
//     characteristic function", AISTATS 2022). Each pair is composed separately, and
//     the larger ε is taken after composition;
//   - under replace-one adjacency, by (1-q)N(0, σ²) + qN(1, σ²) against
//     (1-q)N(0, σ²) + qN(-1, σ²), which dominates all other pairs of replaced
//     records at every order; the proof is in the source of rdp.Divergence. (Lebeda,
//     Regehr, Kamath, Steinke, "Avoiding pitfalls for privacy accounting of
//     subsampled mechanisms under composition", 2024, treat the same pair.) The
//     release that has these distributions exists, so the bound is tight.
//
// Rounds of fixed-size sampling without replacement under replace-one adjacency have an upper bound:
// the composition of the trade-off functions C_q(G_{2/σ}) (Dong, Roth, Su, "Gaussian differential
// privacy", JRSS B 2022, Theorem 4.2). The sum of clipped gradients changes by up to 2C there. The
// lower bound is an attack, the pair of Poisson sampling at σ/2. Fixed-size sampling under
// add-or-remove adjacency is not covered.
//
// The accountant covers epochs of random allocation under add-or-remove adjacency: each record is
// in one of the t rounds of an epoch, drawn at random and independently of the others. The pair
// (1/t)·ΣN(e_i, σ²I) against N(0, σ²I) and the reverse dominate one epoch, and are attained;
// adaptive rounds are covered (Chua et al., "Balls-and-Bins Sampling for DP-SGD", AISTATS 2025,
// arXiv 2412.16802; Feldman, Shenfeld, "Privacy amplification by random allocation", arXiv
// 2502.08202, and "Efficient privacy loss accounting for subsampling and random allocation", ICML
// 2026, arXiv 2602.17284). One draw that is kept for E epochs is one epoch at σ/√E.
//
// The accountant covers Poisson rounds for persons with up to k records under add-or-remove
// adjacency: see crowd. It covers Poisson samples that are cut to a largest batch (dp.Event.Truncated) by an
// addition to δ: see uncut.
//
// Shuffled batches have an upper bound without amplification, under zero-out and replace-one
// adjacency: see [dp.Unamplified]. The lower bound is the larger one of the attacks in ends.go.
//
// Releases that are not rounds of training compose with all of these: Gaussian and Laplace noise and
// randomized response by their own losses, and others by an (ε, δ) that is known of them (see [dp.Other]
// and other.go).
//
// # How
//
// With Y the privacy loss of the whole release under P, and M(z) = E[e^(zY)],
//
//	δ(ε) = E[(1 - e^(ε-Y))₊] = (1/2πi) ∫ M(z)·e^(-zε)/(z(z+1)) dz                              (1)
//
// along Re z = λ for any λ > 0 (Zhu, Dong, Wang 2022; Alghamdi, Gomez, Asoodeh, Calmon, Kosut,
// Sankar, "The saddle-point method in differential privacy", ICML 2023). M is the product of the
// rounds' transforms, each a quadrature over the noise. Near the saddle the integrand is so close
// to δ in size that float64 suffices for the smallest δ. A transform on the real line would lose
// such a δ in rounding errors. Every error is bounded from both sides:
//
//   - truncation: the noise is restricted to a range that a release leaves with a probability of at most
//     1e-7·δ;
//   - smoothing, where the integrand does not decay fast enough by itself: a Gaussian mechanism with a
//     small μ, composed with the release, makes it decay. It adds about μ²/2 times the density of the
//     loss to δ, and this lies between two integrals over the same contour (see gap.go);
//   - the step: by Poisson's summation formula, the trapezoidal sum with step h is
//     Σ_m e^(λ·m·period)·δ(ε + m·period) over all integers m, with period = 2π/h. The terms m ≠ 0
//     are positive, and bounded by Chernoff bounds;
//   - the cut: the integral beyond the last point is bounded by the Gaussian, or by a proved decay of
//     M (see decay.go). With enough rounds, the latter ends the sum after about a hundred points;
//   - quadrature: bounded by the integrand's size in the complex plane (see round.logError);
//   - rounding: counted with every sum.
//
// The tilt, the step and the other parameters are chosen for the requested accuracy. A bad choice makes
// the interval wide, never wrong.
//
// A contour gives bounds of δ at every ε. They are sharp near the ε for which it was made. So a
// profile, δ at many ε, needs only a few contours (see profile.go).
//
// If there are more than 1536 different rounds, the logarithms of their transforms are interpolated between
// a few nodes, with a proved error (cell.go). So an interval is narrow for any number of them. From 129 on, parameters
// are chosen from a sketch, which has few rounds.
//
// One epoch of allocation and one round of a group have losses without a closed form. Two discrete
// losses bound them from both sides at every order (law.go, measure.go, crowd.go). A discrete loss
// enters the contour as nodes that are given; its δ for a single epoch is a sum.
//
// # The letters and names of the code
//
// One round (loss.go). Lengths are in units of the clipping norm C:
//
//	q, σ         sample rate and noise multiplier; for fixed, σ is half the round's σ
//	T            number of equal rounds: round.count
//	φ            density of N(0, σ²)
//	g, L         g(x) = 1 - q + q·e^((2x-1)/(2σ²)), the likelihood ratio; L = log g
//	P, Q         a dominating pair of distributions; a direction names the pair
//	Y            the loss log dP/dQ: Y(x) = up·L(x) + down·L(-x) on each branch
//	branch       an interval of x on which Y is monotone, and P(dx) = φ(x)·g(x)^weight dx
//	atom         the probability of Y = 0 (only for fixed)
//	share        q·e^((2x-1)/(2σ²))/g(x), the probability that the record was used, given x
//	out          the probability outside the branches: truncation
//	threshold    losses above it are jumps, the others are the bulk
//	cell         many different rounds, and the nodes between which their transforms are interpolated
//	a, b, v, w   a = log q, b = log v, v = 1/σ², w = (2x-1)/(2σ²): the coordinates of cells
//	F, ϱ         a bound in a Bernstein ellipse of a or b, and the ellipse's parameter
//	D, θ         how far |B| is below its value at t = 0, in its logarithm, and the part of D that is used
//	sketch       about the same release with few different rounds
//	peeled       means that (1) is integrated only over releases with at least one jump. That is
//	             Π(B+J)^T - ΠB^T, with the transforms B of the bulk and J of the jumps
//	rest         Chernoff bounds of the δ of ΠB^T, which is not integrated if the release is peeled
//
// The transform (rule.go, release.go):
//
//	z = λ + it   the variable of (1). λ is the tilt; E[e^(λY)] is a moment of order λ
//	M, K         K = log M. tilted has K(λ), K′(λ) (mean), K″(λ) (variance), and a bound of the error
//	rule         nodes y with probabilities e^logP: Gauss–Legendre rules on panels of x
//	ρ            parameter of the Bernstein ellipse around a panel (Trefethen, Approximation Theory
//	             and Approximation Practice, Theorem 8.1); τ is any number in [-t, t] there
//	unit         2^-53, the unit roundoff. weighed bounds the rounding of a node's probability, and
//	             moved that of its loss, both in units
//	top          the largest λy + logP of a rule, taken out so that nothing overflows
//	gauss        μ² of all rounds with q = 1, which together are one Gaussian mechanism (Dong, Roth,
//	             Su 2022, Corollary 3.3): ΣT/σ², four times that if a record is replaced
//	logChernoff  log(λ^λ/(1+λ)^(1+λ)): δ(ε) ≤ e^(K(λ) - λε + logChernoff(λ)) for every λ ≥ 0
//
// The contour (shape.go, contour.go, gap.go):
//
//	saddle       the λ where the integrand of (1) is least on the real line:
//	             K′(λ) = ε + 1/λ + 1/(1+λ). spread is the root of the second derivative of its logarithm
//	contour      the integrand at z = λ + i·n·h, n = 0, 1, …; shape is its λ, h, μ² and cut
//	h            the step in t
//	period       2π/h, the distance of the copies of δ(ε) in the sum. An alias bounds copies
//	cut          the largest t; τ = cut·√decay in shape.go
//	fallen       |M| is so small at the cut that no smoothing is needed; see decay.go
//	α, G         decay.go: a path in the complex plane, and how far the integrand falls on it
//	μ²           smooth: the variance of the added Gaussian loss, whose mean is μ²/2
//	decay        gauss + μ²: |M| falls as e^(-decay·t²/2)
//	gap          gap.go: what the smoothing adds to δ. most and least are integrals that bound it
//	center       ΣT·(mean of a round's tilted loss); the phase t·center is taken out of the points
//	turn         center - ε: a point's phase at ε is t·turn
//	shift        how far rounding moves the losses, in ε. So bounds hold at ε ± shift (certified)
//	relative     how far rounding moves the probabilities, relative to them. Without smoothing, shift and
//	             relative of a round also count as errors of its transform at each point
//	excess       log of the integrand's size over δ. Cancellation makes rounding larger by e^excess
//	slope, fall  -δ′(ε), and the density of the loss over it. The smoothing adds about μ²·fall/2 to ε
//	l, w         logarithms of a product at one point: e^l is the bulk, e^l·(e^w - 1) the peeled part
//	β, η         a factor of such a product, a cell or a round to the power T: the bulk, and what its jumps add
//	L, W         bounds of a factor: |β| ≤ e^L and |η| ≤ e^L·(e^W - 1)
//	chunk        the number of steps after which phases are computed anew, so that errors do not add up
//	fast         fourier.go: the transform of many nodes at many points, by a fast Fourier transform
//
// Discrete losses (law.go, measure.go, crowd.go, ends.go):
//
//	t, E         the rounds of an epoch, and the epochs
//	W            the likelihood ratio e^(x/σ² - 1/(2σ²)) of one round; L = (1/t)·ΣW_i
//	law          the distribution of a sum of W, or of another statistic, on the points e^(h·i)
//	usual        the law without the record. special has those with it, in one round at a random place
//	measure      a discrete pair (P, Q) that bounds an epoch or a round from one side
//	crowd        a Poisson round for a person with up to k records
//	tau          the probability that a truncated batch is cut (cut.go)
//	attack       a pair of distributions that occur: their ε is a lower bound
//	present      the probability that a shuffled record is in some batch of an epoch
package pld
