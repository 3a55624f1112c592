package clock

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// Churn says how often simulated clients leave a run and return: Present and Away are the mean times for which a
// client is present and absent. Each time is exponentially distributed. All clients are present at the start. With
// the zero value no client leaves; otherwise both times must be above 0 and at most MaxDuration.
//
// A client that leaves gives up its current round. Nothing of that round was released. The client begins it again
// when it returns, with the same sample and noise, so this costs no privacy. The messages that it has sent still
// arrive. Broadcasts that would arrive while it is away are lost. When it returns, the server sends it the newest
// broadcast, unless the client already has it. A client that has finished its last round no longer leaves.
type Churn struct{ Present, Away time.Duration }

// ParseChurn reads a [Churn] from text: the mean times of presence and absence, written PRESENT,AWAY, such as
// 1s,100ms. "" means that no client leaves.
func ParseChurn(text string) (Churn, error) {
	if text == "" {
		return Churn{}, nil
	}
	present, away, _ := strings.Cut(text, ",")
	p, err := time.ParseDuration(present)
	a, err2 := time.ParseDuration(away)
	c := Churn{p, a}
	if errors.Join(err, err2, c.Validate()) != nil || c == (Churn{}) {
		return Churn{}, fmt.Errorf("churn = %q, must be the mean times of presence and absence PRESENT,AWAY "+
			"such as 1s,100ms, above 0 and at most %v", text, MaxDuration)
	}
	return c, nil
}

func (c Churn) String() string {
	if c == (Churn{}) {
		return ""
	}
	return c.Present.String() + "," + c.Away.String()
}

// Validate returns an error that lists every field of c outside its range.
func (c Churn) Validate() error {
	if c == (Churn{}) {
		return nil
	}
	var errs []error
	for _, part := range []struct {
		name string
		mean time.Duration
	}{{"presence", c.Present}, {"absence", c.Away}} {
		if part.mean <= 0 || part.mean > MaxDuration {
			errs = append(errs, fmt.Errorf("mean %s = %v, must be above 0, at most %v", part.name, part.mean,
				MaxDuration))
		}
	}
	return errors.Join(errs...)
}

// Tries returns an upper bound on how often, on average, a client must begin a task, such as a round, until it
// finishes the task, because a client that leaves gives up its task. Use it to estimate the length of a run. length
// is the task's mean duration in nanoseconds. If the task takes the random time X, one try succeeds with probability
// E[exp(−X/Present)], which is at least exp(−E[X]/Present) by Jensen's inequality. So Tries returns
// exp(length/Present), or 1 for the zero Churn.
func (c Churn) Tries(length float64) float64 {
	if c == (Churn{}) {
		return 1
	}
	return math.Exp(length / float64(c.Present))
}

// Stretch returns the factor by which the absences of clients lengthen a run on average, for estimates: 1 +
// Away/Present.
func (c Churn) Stretch() float64 {
	if c == (Churn{}) {
		return 1
	}
	return 1 + float64(c.Away)/float64(c.Present)
}
