//go:build invariants

package sim

// invariants is true, so the assertions of invariants.go are checked.
const invariants = true
