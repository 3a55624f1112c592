// Package gdp is Gaussian differential privacy (Dong, Roth, Su, "Gaussian
// Differential Privacy", JRSS-B 2022; numbers of theorems are those of arXiv
// 1905.02383): a release is μ-GDP if telling two neighbours apart is no easier
// than telling N(0,1) from N(μ,1). Here are its (ε, δ), the normal distribution
// with full relative accuracy far into the tails, and an accountant.
//
// To begin: [Epsilon] and [Mu] go from μ to ε at a δ and back, and [Accountant] has
// the μ of rounds. It is exact where rounds use all records and an approximation
// without a guarantee where they sample: use package pld for a bound.
package gdp
