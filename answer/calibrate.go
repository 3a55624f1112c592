package answer

import (
	"cmp"
	"context"
	"errors"

	"proactivedp/dp"
	"proactivedp/dp/pld"
	"proactivedp/plan"
)

// CalibrateQuestion asks for one of three numbers: the noise multiplier σ, the sample rate q or the number of rounds
// T. It gives the other two and a privacy budget, in the fields of plan.Target. [Calibrate] answers it.
type CalibrateQuestion struct {
	plan.Target
	Accountant string `json:"accountant,omitempty"` // accountant that computes ε, one of AccountantNames; pld if not given
	// Accuracy is the relative width of the interval in which the accountant pld encloses ε, see MinAccuracy. 0 means
	// pld.DefaultAccuracy.
	Accuracy float64 `json:"accuracy,omitempty"`
}

// Calibration is the answer to a [CalibrateQuestion]: the number that was asked for, and the ε of the training with
// this number. Statement is the privacy statement: ε and all its conditions in words, ready to publish.
type Calibration struct {
	*plan.Calibration
	Statement string `json:"statement"`
}

// Validate returns one error that lists every field outside its range.
func (q CalibrateQuestion) Validate() error {
	_, err := q.accountant()
	return errors.Join(CheckAccuracy(q.Accuracy), err, q.Target.Validate())
}

func (q CalibrateQuestion) accountant() (dp.Accountant, error) {
	return accountant(cmp.Or(q.Accountant, pld.Accountant{}.Name()), q.Accuracy)
}

// Calibrate answers a [CalibrateQuestion] by plan.Calibrate, and adds the privacy statement. If no value of the
// unknown number meets the budget, the error is a *plan.Infeasible.
func Calibrate(ctx context.Context, q CalibrateQuestion) (*Calibration, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	acc, err := q.accountant()
	if err != nil {
		return nil, err
	}
	c, err := plan.Calibrate(ctx, q.Target, acc)
	if err != nil {
		return nil, err
	}
	return &Calibration{c, c.Statement()}, nil
}
