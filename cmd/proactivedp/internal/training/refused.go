package training

import (
	"errors"

	"proactivedp/auto"
	"proactivedp/internal/message"
	"proactivedp/propose"
)

// refused is the JSON for a request that was refused before any record was trained on.
type refused struct {
	Satisfied bool     `json:"satisfied"` // always false
	Refused   string   `json:"refused"`   // the reason, and what would be feasible
	Accuracy  *float64 `json:"feasible_accuracy,omitempty"`
	Epsilon   *float64 `json:"feasible_epsilon,omitempty"`
}

// refusedOf returns the JSON answer to a request that err refuses.
func refusedOf(err error) refused {
	r := refused{Refused: message.Of(err)}
	if target, ok := errors.AsType[*auto.Refusal](err); ok {
		r.Accuracy = &target.Feasible
	}
	if target, ok := errors.AsType[*propose.Infeasible](err); ok {
		r.Accuracy, r.Epsilon = known(target.Accuracy), known(target.Epsilon)
	}
	return r
}

// known returns a pointer to x, or nil for 0, which means unknown.
func known(x float64) *float64 {
	if x == 0 {
		return nil
	}
	return &x
}
