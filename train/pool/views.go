package pool

import (
	"context"
	"fmt"

	"proactivedp/sim"
	"proactivedp/train"
)

// maxViews bounds how often a training is looked at.
const maxViews = 1 << 20

// checkViews refuses a number of views of a training, by the name that it goes by.
func checkViews(name string, n int) error {
	if n < 1 || n > maxViews {
		return fmt.Errorf("grid: %s = %d, must be in [1, %d]", name, n, maxViews)
	}
	return nil
}

// watched is the cell of a training that is looked at n times, an error where that is no number
// of times to look.
func (c Cell) watched(name string, n int) Cell {
	err := checkViews(name, n)
	if err == nil {
		return c
	}
	c.Cost = func(int) (train.Cost, error) { return train.Cost{}, err }
	c.Run = func(context.Context, sim.Perf, func(float64), train.Keep) (any, error) { return nil, err }
	return c
}
