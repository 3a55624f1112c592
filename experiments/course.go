// This file describes a run of package auto's loop, stage by stage and client by client: held-out
// accuracy, noise and spent budget.

package experiments

import (
	"fmt"

	"proactivedp/dp"
)

// CourseClient says what one client asks of a [Loop], which trains until all clients have their target accuracy or
// have spent their budget: a privacy budget and a target accuracy.
type CourseClient struct {
	// Epsilon is the target epsilon: the most that a record of the client may pay for everything that is released.
	Epsilon float64 `json:"epsilon"`
	// Accuracy is the target accuracy on the client's held-out records; once a model has it, the client is satisfied.
	Accuracy float64 `json:"target_accuracy"`
}

// Course is the history of one run of a [Loop], which plans and runs private trainings (stages) until every client has
// its target accuracy or has spent its budget. It lists the stages, and the result for each client. After each stage,
// each client decides by its held-out accuracy whether it takes part in the next stage.
type Course struct {
	Clients []CourseEnd   `json:"clients"`
	Stages  []CourseStage `json:"stages"`
	// Probe describes the public records on which accuracies were estimated before the first private
	// training.
	Probe      string       `json:"probe"`
	Accountant string       `json:"accountant"`
	Adjacency  dp.Adjacency `json:"adjacency"`
	Sampling   dp.Sampling  `json:"sampling"`
}

// CourseEnd is the result of a [Course] (a series of private trainings) for one client: what its records paid, and
// whether the client has its target accuracy. Refused says why a client without its target no longer took part.
type CourseEnd struct {
	// EpsilonUpper is the guaranteed upper bound on the ε of a record, for everything that was released.
	EpsilonUpper float64 `json:"epsilon_upper"`
	Delta        float64 `json:"delta"`
	Satisfied    bool    `json:"satisfied"`
	TestAccuracy float64 `json:"test_accuracy"` // accuracy of the last model on test records, which decide nothing
	Refused      string  `json:"refused,omitempty"`
}

// CourseStage is one stage of a [Course]: one of several private trainings, in which some or all clients took part.
// Each of its lists has one element for each client.
type CourseStage struct {
	SampleSize int `json:"sample_size"` // the smallest batch size of a client
	// Rounds is the number of rounds of the clients with the batch size SampleSize. Clients with larger batches have
	// fewer rounds.
	Rounds int `json:"rounds"`
	// Sizes is the batch size of each client, or 0 if the client did not take part. If it is nil, all clients have
	// SampleSize.
	Sizes []int     `json:"sizes,omitempty"`
	Clip  float64   `json:"clip"`  // clipping norm
	Eta0  float64   `json:"eta0"`  // initial step size
	Sigma []float64 `json:"sigma"` // noise multiplier of each client; 0 if the client did not take part
	// HeldOut is the accuracy of the model after the stage, on each client's held-out records.
	HeldOut []float64 `json:"held_out_accuracy"`
	// Used is the fraction of its privacy budget that each client has spent after the stage.
	Used []float64 `json:"used"`
}

// Validate returns an error if the course (one run of a [Loop]) is not complete: it must have results for n clients
// and at least one stage (private training), and each stage must have at least one round and n elements in each of
// its lists. Make calls it for what a Loop returns.
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
		if s.Sizes != nil && len(s.Sizes) != n {
			return fmt.Errorf("stage %d: %d sample sizes, must be of %d clients, or none", i, len(s.Sizes), n)
		}
		for client, size := range s.Sizes {
			if size < 0 || s.Sigma[client] > 0 && size < s.SampleSize {
				return fmt.Errorf("stage %d: client %d: sample size = %d, must be at least %d", i, client, size, s.SampleSize)
			}
		}
	}
	return nil
}

// run returns the batch size and the number of rounds of a client, or those of the stage if the client did not take part.
func (s *CourseStage) run(client int) (size, rounds int) {
	if s.Sizes == nil || s.Sigma[client] == 0 {
		return s.SampleSize, s.Rounds
	}
	return s.Sizes[client], s.SampleSize * s.Rounds / s.Sizes[client]
}

// satisfied reports whether the client has its target accuracy after a stage.
func (c CourseClient) satisfied(s CourseStage, client int) bool {
	return s.HeldOut[client] >= c.Accuracy
}

// returns counts how often a client took part again after it had stopped.
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
