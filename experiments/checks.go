package experiments

import (
	"errors"
	"fmt"

	"proactivedp/dp"
	"proactivedp/plan"
)

// maxSeeds is the largest number of seeds of a figure.
const maxSeeds = 10_000

// CheckSeeds returns an error if n is not in [1, 10000]. Figures are averages over n trainings with the seeds 1 to n.
func CheckSeeds(n int) error {
	return dp.CheckCount("seeds", n, 1, maxSeeds)
}

// CheckPart returns an error if part is not in (0, 1]. Use it for fractions such as MakeOptions.Scale. name is what
// the error calls the number.
func CheckPart(name string, part float64) error {
	if !(part > 0 && part <= 1) {
		return fmt.Errorf("%s = %v, must be in (0, 1]", name, part)
	}
	return nil
}

const maxSweep = 50

// CheckOnce returns an error if a value occurs twice in the list. Use it for lists of settings, because for a
// repeated setting the same training would run twice. name is what the error calls the list.
func CheckOnce[T comparable](name string, list []T) error {
	seen := map[T]bool{}
	for _, v := range list {
		if seen[v] {
			return fmt.Errorf("%s: %v is listed twice", name, v)
		}
		seen[v] = true
	}
	return nil
}

// checkSweep reports too many values, a value that occurs twice, and every value for which the
// function one returns an error.
func checkSweep[T comparable](name string, list []T, one func(T) error) error {
	errs := []error{CheckOnce(name, list)}
	if len(list) > maxSweep {
		errs = append(errs, fmt.Errorf("%s: %d given, must be at most %d", name, len(list), maxSweep))
	}
	for _, v := range list {
		if err := one(v); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// checkSizes reports sample sizes that are impossible for any data.
func checkSizes(sizes []int) error {
	return checkSweep("sizes", sizes, func(size int) error {
		if size < 1 {
			return fmt.Errorf("sample size = %d, must be at least 1", size)
		}
		return nil
	})
}

// CheckEpsilons returns an error if the list of target epsilons is not one that [OwnFigures] accepts: at most 50
// different values in [1e-8, 1e4].
func CheckEpsilons(epsilons []float64) error {
	return checkSweep("epsilons", epsilons, plan.CheckEpsilon)
}
