package plan

import (
	"fmt"
	"math"
	"strings"

	"proactivedp/internal/message"
)

// Infeasible is the error if no value of the number to be found meets the budget: even the safest value in its range,
// for example the largest σ or a single round, costs more than ε. The error gives the cost of the safest value, and
// changes of the other numbers that would meet the budget.
type Infeasible struct {
	SolvedFor string   // which number had to be found, as its JSON key, such as "sigma"
	Cost      string   // text about the ε of the safest value, or why no ε could be computed
	Remedies  Remedies // changes of the other numbers; each one by itself is enough to meet the budget; may be empty

	why error // why the safest value has no cost; nil if it has one
}

// Unwrap returns the error of the accountant if it could not compute the ε of the safest value (see [Infeasible]).
// Otherwise it returns nil.
func (e *Infeasible) Unwrap() error { return e.why }

// Error returns one sentence with the ε of the safest value (see [Infeasible]) and the changes that would meet the
// budget.
func (e *Infeasible) Error() string {
	return "no " + e.SolvedFor + " meets the budget: " + e.Reason()
}

// Reason returns the text of Error without its beginning, "no … meets the budget". Use it after a sentence of your
// own. The rest gives the ε of the safest value (see [Infeasible]) and the changes that would meet the budget.
func (e *Infeasible) Reason() string {
	if len(e.Remedies) == 0 {
		return e.Cost
	}
	texts := make([]string, len(e.Remedies))
	for i, r := range e.Remedies {
		texts[i] = r.Text
	}
	return e.Cost + ": " + strings.Join(texts, ", or ")
}

// Remedy is one change to a [Request], or to a [Target], with which the budget can be met. An [Infeasible] and an
// infeasible [Plan] list some.
type Remedy struct {
	// Change is the JSON key of the field to change ("method" for the accountant). It is empty if more than one field
	// has to change; then only Text describes the change.
	Change string `json:"change,omitempty"`
	// To is the new value of the field that Change names, rounded to the side that costs less ε.
	To     float64 `json:"to,omitempty"`
	Method Method  `json:"method,omitempty"` // accountant by which the changed request is feasible
	Text   string  `json:"text"`             // description of the change in words
}

// Remedies lists changes that make a request feasible. Any one of them is enough.
type Remedies []Remedy

func (rs *Remedies) add(change string, to float64, method Method, text string) {
	if change == "" {
		to = 0
	}
	*rs = append(*rs, Remedy{change, to, method, text})
}

// cost describes the cost of s, the safest setting, compared with the target. what is a description
// of that setting.
func (s stop) cost(what string, target float64) string {
	if s.err != nil {
		return fmt.Sprintf("%s has no ε: %s", what, message.Of(s.err))
	}
	if math.IsInf(s.bound.EpsilonUpper, 1) {
		return what + " has no finite upper bound on ε"
	}
	return fmt.Sprintf("%s costs ε = %s, above %s", what, up(s.bound.EpsilonUpper, 5), down(target, 6))
}
