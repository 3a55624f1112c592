package plan

import (
	"fmt"
	"math"
	"strings"

	"proactivedp/internal/message"
)

// Infeasible is the error of a budget that no value of what is solved for
// meets. It says what the safest value costs, and what would make it feasible.
type Infeasible struct {
	SolvedFor string   // the unknown, by its JSON key
	Cost      string   // what its safest value costs, or why it has no cost
	Remedies  Remedies // each makes the budget feasible by itself; may be empty

	why error // why the safest value has no cost, which Cost says; nil if it has one
}

// Unwrap returns why the safest value has no cost, nil if it has one.
func (e *Infeasible) Unwrap() error { return e.why }

// Error returns the cost and the remedies in one sentence.
func (e *Infeasible) Error() string {
	return "no " + e.SolvedFor + " meets the budget: " + e.Reason()
}

// Reason is Error without its first words.
func (e *Infeasible) Reason() string {
	if len(e.Remedies) == 0 {
		return e.Cost
	}
	return e.Cost + ": " + strings.Join(e.Remedies.texts(), ", or ")
}

// Remedy is one change to what was asked that makes it feasible, found by Method.
type Remedy struct {
	// Change is the JSON key of the field that is changed, "method" for another method.
	// It is empty where more than one field would have to be, which Text says alone.
	Change string  `json:"change,omitempty"`
	To     float64 `json:"to,omitempty"`     // the field's new value, rounded to the side of privacy
	Method Method  `json:"method,omitempty"` // by which the changed question is feasible
	Text   string  `json:"text"`             // the same for people
}

// Remedies are several, each for itself.
type Remedies []Remedy

func (rs Remedies) texts() []string {
	texts := make([]string, len(rs))
	for i, r := range rs {
		texts[i] = r.Text
	}
	return texts
}

// add adds a remedy.
func (rs *Remedies) add(change string, to float64, method Method, text string) {
	if change == "" {
		to = 0
	}
	*rs = append(*rs, Remedy{change, to, method, text})
}

// cost says what the safest setting, described by what, costs.
func (s stop) cost(what string, target float64) string {
	if s.err != nil {
		return fmt.Sprintf("%s has no ε: %s", what, message.Of(s.err))
	}
	if math.IsInf(s.bound.EpsilonUpper, 1) {
		return what + " has no ε that is certain"
	}
	return fmt.Sprintf("%s costs ε = %s, above %s", what, up(s.bound.EpsilonUpper, 5), down(target, 6))
}
