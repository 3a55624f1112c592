package plan

import (
	"fmt"
	"math"
	"strings"
)

// Infeasible is the error of a budget that no value of what is solved for
// meets. It says what the safest value costs, and what would make it feasible.
type Infeasible struct {
	SolvedFor string   // the unknown, by its JSON key
	Cost      string   // what its safest value costs, or why it has no cost
	Remedies  []string // each makes the budget feasible by itself; may be empty
}

// Error returns the cost and the remedies in one sentence.
func (e *Infeasible) Error() string {
	return "plan: no " + e.SolvedFor + " meets the budget: " + e.Reason()
}

// Reason is Error without its first words.
func (e *Infeasible) Reason() string {
	if len(e.Remedies) == 0 {
		return e.Cost
	}
	return e.Cost + ": " + strings.Join(e.Remedies, ", or ")
}

// cost says what the safest setting, described by what, costs.
func (s stop) cost(what string, target float64) string {
	if s.err != nil {
		return fmt.Sprintf("%s has no ε: %v", what, s.err)
	}
	if math.IsInf(s.bound.EpsilonUpper, 1) {
		return what + " has no ε that is certain"
	}
	return fmt.Sprintf("%s costs ε = %s, above %s", what, up(s.bound.EpsilonUpper, 5), down(target, 6))
}
