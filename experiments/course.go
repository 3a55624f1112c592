// This file holds how a proactive loop went, stage by stage and client by client, as
// data and in words: held-out accuracy, noise and spent budget.

package experiments

import (
	"fmt"

	"proactivedp/dp"
)

// CourseClient is what a client wants.
type CourseClient struct {
	Epsilon  float64 `json:"epsilon"`         // target epsilon of all that is released of its records
	Accuracy float64 `json:"target_accuracy"` // with which it is satisfied, on its held-out records
}

// Course is how a loop went.
type Course struct {
	Clients    []CourseEnd   `json:"clients"`
	Stages     []CourseStage `json:"stages"`
	Probe      string        `json:"probe"` // what its utility graph looked at, in words
	Accountant string        `json:"accountant"`
	Adjacency  dp.Adjacency  `json:"adjacency"`
	Sampling   dp.Sampling   `json:"sampling"`
}

// CourseEnd is what became of a client.
type CourseEnd struct {
	EpsilonUpper float64 `json:"epsilon_upper"` // guaranteed of all releases, per record
	Delta        float64 `json:"delta"`
	Satisfied    bool    `json:"satisfied"`
	TestAccuracy float64 `json:"test_accuracy"` // on test records, which decided nothing
	Refused      string  `json:"refused,omitempty"`
}

// CourseStage is a stage of the loop. Lists are by client.
type CourseStage struct {
	SampleSize int       `json:"sample_size"`
	Rounds     int       `json:"rounds"`
	Clip       float64   `json:"clip"`
	Eta0       float64   `json:"eta0"`
	Sigma      []float64 `json:"sigma"`             // 0: the client took no part
	HeldOut    []float64 `json:"held_out_accuracy"` // of the model at its end
	Used       []float64 `json:"used"`              // the part of the budget that is spent at its end
}

// Validate reports a course without stages, or with lists that are not of n clients.
func (c *Course) Validate(n int) error {
	if len(c.Clients) != n || len(c.Stages) == 0 {
		return fmt.Errorf("%d clients and %d stages, must be of %d, at least one", len(c.Clients),
			len(c.Stages), n)
	}
	for i, s := range c.Stages {
		if len(s.Sigma) != n || len(s.HeldOut) != n || len(s.Used) != n || s.Rounds < 1 {
			return fmt.Errorf("stage %d: %d σ, %d accuracies, %d parts of budgets in %d rounds, must be of %d "+
				"clients, in at least one", i, len(s.Sigma), len(s.HeldOut), len(s.Used), s.Rounds, n)
		}
	}
	return nil
}

// satisfied reports whether the client with this number has its target accuracy at a stage's end.
func (c CourseClient) satisfied(s CourseStage, client int) bool {
	return s.HeldOut[client] >= c.Accuracy
}

// returns is how often a client took part again after it had stopped.
func (c *Course) returns(client int) int {
	n, taken, stopped := 0, false, false
	for _, s := range c.Stages {
		switch in := s.Sigma[client] > 0; {
		case in && stopped:
			n, stopped = n+1, false
		case in:
			taken = true
		case taken:
			stopped = true
		}
	}
	return n
}
