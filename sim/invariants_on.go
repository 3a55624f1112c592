//go:build invariants

package sim

// invariants turns the assertions of invariants.go on.
const invariants = true
