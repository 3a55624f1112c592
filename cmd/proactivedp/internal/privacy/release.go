package privacy

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/dp"
	"proactivedp/plan"
)

// releaseFlags are the flags that describe a release of equal rounds.
type releaseFlags struct {
	sigma, rate        float64
	size, n, steps     int
	batches            int     // batches of an epoch, for shuffled batches or allocation, instead of a rate
	epochs             float64 // instead of steps
	group              int     // largest number of records of one person
	sampling, adjacent string
	redraw             string
}

func (r *releaseFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Float64Var(&r.sigma, "noise-multiplier", 0, "noise multiplier σ, at least 0: the noise is N(0, C²σ²) per coordinate")
	f.Float64Var(&r.rate, "sample-rate", 0, "sample rate q, in (0, 1]")
	cli.CountVar(f, &r.size, "batch-size", 0,
		"batch size s, in [1, N], expected under Poisson sampling; with --n, instead of --sample-rate")
	cli.CountVar(f, &r.n, "n", 0, "size N of the data set, at least 1")
	cli.CountVar(f, &r.steps, "steps", 0, "steps (rounds) T, at least 1, of all clients that hold the record; with "+
		"--sampling shuffle or allocation, of one client")
	cli.CountVar(f, &r.batches, "batches", 0, "batches of an epoch, at least 1; only with --sampling shuffle or "+
		"allocation, instead of --sample-rate")
	f.StringVar(&r.redraw, "redraw", "", "with --sampling allocation or shuffle: epoch (each epoch draws anew) or once (one "+
		"draw is kept for all epochs); no default")
	cli.CountVar(f, &r.group, "group", 1, "a person has up to so many records, in [1, 1000]; only with Poisson sampling "+
		"under add-or-remove adjacency")
	f.Float64Var(&r.epochs, "epochs", 0, "passes over the data, in [1e-6, 1e9], instead of --steps: T = epochs/q "+
		"rounds, rounded up")
	f.StringVar(&r.adjacent, "adjacency", "", "add-or-remove, replace-one or zero-out (default: add-or-remove with "+
		"Poisson sampling and allocation, replace-one with fixed, zero-out with shuffle)")
	f.StringVar(&r.sampling, "sampling", string(dp.Poisson), "poisson, fixed (exactly s of N, without replacement), "+
		"shuffle (a permutation in each epoch, cut into batches), or allocation (each record chooses one batch of an "+
		"epoch, on its own)")
}

// pair returns the sampling and the adjacency of the flags. If they are invalid, it also returns an
// error, and valid values, so that the caller can check the rest.
func (r *releaseFlags) pair(cmd *cobra.Command) (dp.Sampling, dp.Adjacency, error) {
	sampling, err := dp.ParseSampling(r.sampling)
	if err != nil {
		sampling = dp.Poisson
	}
	adjacency := dp.NaturalAdjacency(sampling)
	if cmd.Flags().Changed("adjacency") {
		given, bad := dp.ParseAdjacency(r.adjacent)
		if bad == nil {
			adjacency = given
		}
		err = errors.Join(err, bad)
	}
	return sampling, adjacency, err
}

// rateFlags are the flags that say how many records a round uses.
var rateFlags = []string{"sample-rate", "batch-size", "n", "batches"}

// givesRate are flags that fix the sample rate: calibrate does not solve for it if one is given.
var givesRate = []string{"sample-rate", "batch-size", "batches"}

// pairs refuses a batch size without a number of records, a number of records without a batch size,
// and both together with a sample rate.
func pairs(cmd *cobra.Command) error {
	size, n := cli.AnyChanged(cmd, "batch-size"), cli.AnyChanged(cmd, "n")
	switch {
	case cli.AnyChanged(cmd, "batches"):
		return cli.RefuseWith(cmd, "batches", "sample-rate", "batch-size", "n")
	case cli.AnyChanged(cmd, "sample-rate"):
		return cli.RefuseWith(cmd, "sample-rate", "batch-size", "n")
	case size && !n:
		return errors.New("--n is missing: it says how many records --batch-size is drawn from")
	case n && !size:
		return errors.New("--batch-size is missing: --n says how many records it is drawn from")
	}
	return nil
}

// stepsFlags are the flags that say how many rounds there are.
var stepsFlags = []string{"steps", "epochs"}

// rounds converts the epochs of the flags to rounds at the sample rate of e.
func (r *releaseFlags) rounds(cmd *cobra.Command, e dp.Event, free string) (int, error) {
	err := cli.RefuseWith(cmd, "epochs", "steps")
	if !(r.epochs >= 1e-6 && r.epochs <= 1e9) {
		err = errors.Join(err, fmt.Errorf("--epochs = %v, must be in [1e-6, 1e9]", r.epochs))
	}
	if free == "sample-rate" {
		err = errors.Join(err, errors.New("--epochs are of a sample rate, which is solved for: give --steps"))
	}
	if err != nil {
		return 1, err
	}
	e.Count = 1
	if e.Validate() != nil {
		return 1, nil // the caller reports what is wrong with e
	}
	if rounds, ok := plan.Rounds(r.epochs, e); ok && rounds >= 1 && float64(rounds) <= dp.MaxRounds {
		return rounds, nil
	}
	return 1, fmt.Errorf("--epochs = %v at sample rate %.3g, must be at most %d rounds", r.epochs, e.SampleRate(),
		int(dp.MaxRounds))
}

var errNoRedraw = errors.New("--redraw is missing with --sampling allocation: epoch if each epoch draws anew, once if one draw is " +
	"kept for all epochs, which costs far more")

// event returns the event of the flags, or an error. The quantity with the name free must not be
// given. A quantity that is free or missing has some valid value, so that the rest is checked.
func (r *releaseFlags) event(cmd *cobra.Command, free string) (dp.Event, error) {
	e := dp.Event{NoiseMultiplier: r.sigma, SampleSize: r.size, DatasetSize: r.n, Rate: r.rate, Count: r.steps}
	var err error
	e.Sampling, e.Adjacency, err = r.pair(cmd)
	errs := []error{err}
	if cmd.Flags().Changed("batches") {
		if e.Rate = 1 / float64(r.batches); r.batches < 1 { // RefuseZeros reports a 0
			errs = append(errs, fmt.Errorf("--batches = %d, must be at least 1", r.batches))
			e.Rate = 1
		}
		if !e.Sampling.HasEpochs() {
			errs = append(errs, fmt.Errorf("--batches must not be given with --sampling %s: give --sample-rate, or "+
				"--batch-size with --n", e.Sampling))
		}
	}
	noRate := "--sample-rate is missing, or --batch-size with --n"
	switch e.Sampling {
	case dp.Shuffle:
		noRate = "--batches is missing, the batches of an epoch, or --batch-size with --n"
	case dp.Allocation:
		noRate = "--batches is missing, the batches of an epoch"
		if free == "sample-rate" {
			errs = append(errs, errors.New("--batches cannot be solved for with --sampling allocation, must be given"))
		}
		if cli.AnyChanged(cmd, "batch-size", "n") {
			errs = append(errs, errors.New("--batch-size and --n must not be given with --sampling allocation: a batch has "+
				"no fixed size, give --batches"))
			e.Rate, e.SampleSize, e.DatasetSize = cmp.Or(e.Rate, 1), 0, 0
		}
		if !cmd.Flags().Changed("redraw") {
			errs = append(errs, errNoRedraw)
		}
		e.Redraw = dp.EachEpoch // a valid value if it is not given, so that the rest is checked
	}
	if cmd.Flags().Changed("redraw") {
		given, bad := dp.ParseRedraw(r.redraw)
		switch errs = append(errs, bad); {
		case bad != nil:
		case !e.Sampling.HasEpochs():
			errs = append(errs, fmt.Errorf("--redraw must not be given with --sampling %s: each round draws anew", e.Sampling))
		default:
			e.Redraw = given
		}
	}
	if r.group != 1 { // RefuseZeros reports a 0
		e.Group = r.group
	}
	for _, q := range []struct {
		name, missing string
		flags         []string
		allow         func()
	}{
		{"noise-multiplier", "--noise-multiplier is missing", []string{"noise-multiplier"}, func() { e.NoiseMultiplier = 1 }},
		{"sample-rate", noRate, rateFlags, func() {
			e.Rate, e.SampleSize, e.DatasetSize = 1, 0, 0
		}},
		{"steps", "--steps is missing, or --epochs", stepsFlags, func() { e.Count = 1 }},
	} {
		isFree := q.name == free
		if isFree && q.name == "sample-rate" {
			q.flags = givesRate
		}
		isGiven := cli.AnyChanged(cmd, q.flags...)
		switch {
		case isGiven && isFree:
			errs = append(errs, fmt.Errorf("--%s is given, must not be: %s is what is solved for",
				cli.FlagGiven(cmd, q.flags...), q.name))
		case !isGiven && !isFree:
			errs = append(errs, errors.New(q.missing))
		}
		if isFree || !isGiven {
			q.allow()
		}
	}
	errs = append(errs, cli.RefuseZeros(cmd, "group"))
	if err := cli.RefuseZeros(cmd, rateFlags...); err != nil {
		errs = append(errs, err)
		e.Rate, e.SampleSize, e.DatasetSize = 1, 0, 0
	}
	if err := pairs(cmd); err != nil && free != "sample-rate" {
		errs = append(errs, err)
		e.Rate, e.SampleSize, e.DatasetSize = cmp.Or(e.Rate, 1), 0, 0
	}
	if cmd.Flags().Changed("epochs") && free != "steps" {
		e.Count, err = r.rounds(cmd, e, free)
		errs = append(errs, err)
	}
	return e, errors.Join(append(errs, e.Validate())...)
}
