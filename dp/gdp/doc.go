// Package gdp implements Gaussian differential privacy, or μ-GDP (Dong, Roth, Su, "Gaussian Differential Privacy",
// JRSS-B 2022; theorem numbers are those of arXiv 1905.02383). A release is μ-GDP if telling two neighbours apart is
// no easier than telling N(0,1) from N(μ,1), so a smaller μ is more private. The package converts between μ and (ε,
// δ), and has an accountant that computes the μ of rounds of DP-SGD. It also computes the tails of the normal
// distribution with full relative accuracy.
//
// To begin: [Epsilon] and [Mu] convert μ to ε at a given δ, and back. [Accountant] computes the μ
// of rounds. It is exact if the rounds use all records. If they sample, it is an approximation
// without a guarantee; use package pld for a bound.
package gdp
