//go:build !invariants

package sim

// invariants leaves the assertions of invariants.go out of the program.
const invariants = false
