//go:build !invariants

package sim

// invariants is false, so the compiler leaves the assertions of invariants.go out.
const invariants = false
