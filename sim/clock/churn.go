package clock

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// Churn says how clients leave and come back. Each is there at the start and then
// in turn present and away, for exponential times of these means. With the zero
// value all stay.
//
// A client that leaves gives up the round under way: nothing of it was released,
// and it begins it again when it is back, with the same sample and noise. What it
// has sent is on its way all the same. Broadcasts that would arrive while it is
// away are lost; when it is back, the server sends it the newest one, unless it has
// that already. A client that has done its T rounds leaves no more.
type Churn struct{ Present, Away time.Duration }

// ParseChurn reads the means "PRESENT,AWAY", such as "1s,100ms", or "" for none.
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

// Validate reports every field outside its range.
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

// Tries bounds the mean number of times that something of this mean length, in
// nanoseconds, is begun until the client stays for it: by Jensen's inequality it
// succeeds with probability E[exp(−X/present)] ≥ exp(−E[X]/present).
func (c Churn) Tries(length float64) float64 {
	if c == (Churn{}) {
		return 1
	}
	return math.Exp(length / float64(c.Present))
}

// Stretch returns the factor by which everything takes longer on average, because
// clients are away: 1 + Away/Present.
func (c Churn) Stretch() float64 {
	if c == (Churn{}) {
		return 1
	}
	return 1 + float64(c.Away)/float64(c.Present)
}
