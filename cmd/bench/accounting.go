//go:build unix

package main

import (
	"fmt"
	"io"
	"os"
	"strconv"

	"proactivedp/dp/pld"
)

// writeAccounting measures the accounting in a new process, which has one processor and does not
// share this process's memory.
func writeAccounting(w io.Writer, runs int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	rows, memory, err := run(1, self, "-accounting", "-runs", strconv.Itoa(runs))
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\n## Accounting\n\nOne processor, one process, accountant `pld` at its default accuracy. A time "+
		"is the median of %d runs of one setting; median, 90 %%, 99 %% and longest are over the settings. ε and σ "+
		"are for add-or-remove adjacency, a plan's comparison and frontier for replace-one as well; sampling is "+
		"Poisson. The width of an interval is relative to its upper end: %v %% is asked for, and at ε < %v, where a "+
		"relative width means less, %v %%. Reference settings and budgets are those that public libraries have "+
		"answered; random settings are log-uniform, q in [%g, %g], σ in [%g, %g], T in [%g, %g], δ in [%g, %g]. "+
		"Random plans: N in [10⁴, 10⁷], k in [2, 200], ε in [0.01, 5], log-uniform; δ = 1/N, and the σ and T that "+
		"Theorem simpleF just allows.\n\n",
		runs, 100*pld.DefaultAccuracy, smallEpsilon, 100*smallAccuracy,
		minRate, float64(maxRate), minSigma, maxSigma, float64(minRounds), maxRounds, minDelta, maxDelta)
	fmt.Fprint(w, figureHeader)
	w.Write(rows)
	fmt.Fprint(w, figure{"all of the above", "peak memory", memory, 0, " MiB", atMost, 50})
	return nil
}

// randoms is how many random settings are accounted for. seed draws them.
const randoms, seed = 1000, 1

// accounting writes the rows that are measured in this process.
func accounting(w io.Writer, runs int) error {
	settings, err := oracleSettings()
	if err != nil {
		return err
	}
	targets, least, err := oracleTargets()
	if err != nil {
		return err
	}
	plans, err := plannedSettings(randoms, seed)
	if err != nil {
		return err
	}
	for _, measure := range []func() ([]figure, error){
		func() ([]figure, error) { return measureOracle(settings, runs) },
		func() ([]figure, error) { return measureRandom(randomSettings(randoms, seed), runs) },
		func() ([]figure, error) { return measureCalibration(targets, least, runs) },
		func() ([]figure, error) { return measurePlans(paperSettings(), runs) },
		func() ([]figure, error) { return measureLooseness(plans) },
	} {
		figures, err := measure()
		if err != nil {
			return err
		}
		for _, f := range figures {
			if _, err := fmt.Fprint(w, f); err != nil {
				return err
			}
		}
	}
	return nil
}
