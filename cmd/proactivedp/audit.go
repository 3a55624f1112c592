package main

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"proactivedp/audit"
)

// An audit that did not go as it should ends with one of these: it has printed what
// it found, and the status says the rest.
var (
	errViolated = errors.New("audit: the claimed guarantee is violated")
	errNotFound = errors.New("audit: the planted fault was not found")
)

func newAudit() *cobra.Command {
	o := audit.DefaultOptions()
	o.Workers = runtime.GOMAXPROCS(0)
	var fault, runner = string(o.Fault), string(o.Runner)
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "A lower bound on ε by experiment, of the mechanism as it really runs",
		Long: `Bound ε from below by experiment: small asynchronous trainings are run many times
with a canary record and without, by the same clients and server as train, and told
apart by all that the clients send. Where that works better than the certified upper
bound of the accountant pld allows, the guarantee is violated.

All lower bounds of all probes hold together with --confidence. A violation is proof,
up to that; that none was found proves nothing.

--fault breaks the mechanism on purpose, to see that the audit finds it:

  half-noise          the noise has half its standard deviation
  no-clip             gradients are not clipped
  fixed-sample        the same records in every round, no randomness
  reused-noise        the noise of round 0 in every round
  silent-empty-batch  an empty sample sends zero, without noise
  batch-clip          the sum of the batch is clipped, not each gradient

The exit status is 3 if the whole mechanism is found to violate its guarantee, or a
planted fault is not found.`,
		Example: `  proactivedp audit
  proactivedp audit --fault batch-clip --json
  proactivedp audit --runner hogwild --seed 7`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Fault, o.Runner = audit.Fault(fault), audit.Runner(runner)
			if err := o.Validate(); err != nil {
				return usage(err)
			}
			r, err := audit.Run(cmd.Context(), o)
			if err != nil {
				return err
			}
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), r)
			} else {
				err = r.WriteText(cmd.OutOrStdout())
			}
			switch whole := o.Fault == audit.NoFault; {
			case err != nil:
				return err
			case whole && r.Violated:
				return errViolated
			case !whole && !r.Violated:
				return errNotFound
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&fault, "fault", fault, "one of "+strings.Join(faultNames(), ", "))
	f.StringVar(&runner, "runner", runner, "virtual (repeatable) or hogwild (free-running goroutines)")
	f.Uint64Var(&o.Seed, "seed", o.Seed, "seed of all randomness, a whole number of at least 0")
	countVar(f, &o.Runs, "runs", o.Runs,
		fmt.Sprintf("runs of the largest probe in each world, in [%d, %d]; the others make a part of it",
			audit.MinRuns, audit.MaxRuns))
	f.Float64Var(&o.Delta, "delta", o.Delta,
		"δ of the claims, in [1e-15, 0.5]; the one-run probe takes its own, smaller")
	f.Float64Var(&o.Confidence, "confidence", o.Confidence, "of all lower bounds together, in [0.5, 1 - 1e-9]")
	countVar(f, &o.Workers, "workers", o.Workers,
		"runs at the same time, at least 1; never changes the result of virtual")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
