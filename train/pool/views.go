package pool

import (
	"context"
	"fmt"

	"proactivedp/sim"
	"proactivedp/train"
)

// maxViews bounds the number of measurements of a training.
const maxViews = 1 << 20

// checkViews returns an error if a number of measurements is out of range. name is its name in the
// error.
func checkViews(name string, n int) error {
	if n < 1 || n > maxViews {
		return fmt.Errorf("%s = %d, must be in [1, %d]", name, n, maxViews)
	}
	return nil
}

// watched returns the cell of a training with n measurements. If n is out of range, the cell fails.
func (c Cell) watched(name string, n int) Cell {
	err := checkViews(name, n)
	if err == nil {
		return c
	}
	c.Cost = func(int) (train.Cost, error) { return train.Cost{}, err }
	c.Run = func(context.Context, sim.Perf, func(float64), train.Keep) (any, error) { return nil, err }
	return c
}
