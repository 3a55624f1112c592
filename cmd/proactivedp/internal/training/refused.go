package training

import (
	"errors"

	"github.com/spf13/cobra"

	"proactivedp/auto"
	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/internal/message"
	"proactivedp/propose"
	"proactivedp/trainer"
)

// refused is the JSON for a request that was refused before any record was trained on.
type refused struct {
	Satisfied bool     `json:"satisfied"` // always false
	Refused   string   `json:"refused"`   // the reason, and what would be feasible
	Accuracy  *float64 `json:"feasible_accuracy,omitempty"`
	Epsilon   *float64 `json:"feasible_epsilon,omitempty"`
}

// refuse returns err. If it refuses a request and the answer is to be JSON, refuse also prints that answer.
func refuse(cmd *cobra.Command, err error) error {
	target, infeasible := errors.AsType[*propose.Infeasible](err)
	_, spent := errors.AsType[*trainer.SpentError](err)
	if !cli.AsJSON(cmd) || !infeasible && !spent && !errors.Is(err, auto.ErrRefused) {
		return err
	}
	r := refused{Refused: message.Of(err)}
	if infeasible {
		r.Accuracy, r.Epsilon = known(target.Accuracy), known(target.Epsilon)
	} else if target, ok := errors.AsType[*auto.Refusal](err); ok {
		r.Accuracy = &target.Feasible
	}
	return errors.Join(err, cli.PrintJSON(cmd, r))
}

// known returns a pointer to x, or nil for 0, which means unknown.
func known(x float64) *float64 {
	if x == 0 {
		return nil
	}
	return &x
}
