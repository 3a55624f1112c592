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
	rows, memory, _, err := run(1, self, "-accounting", "-runs", strconv.Itoa(runs))
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\n## Accounting\n\nThis section has times of the accountant `pld` at its default accuracy, on one processor in one process. "+
		"A time is processor time, the median of %d runs of one setting; median, 90 %%, 99 %% and longest are over the settings. ε and the noise "+
		"multiplier σ are for Poisson sampling and add-or-remove adjacency; the comparison and the frontier of a plan also have "+
		"replace-one.\n\nThe width of an interval is relative to its upper end. The target is %v %%, and %[4]v %% for ε below "+
		"%[3]v, where a relative width means less.\n\nThe rows of the table are for these settings:\n\n"+
		"- *Reference settings* and *reference budgets* are those for which public libraries have computed ε, or σ.\n"+
		"- *Random settings* have a sample rate q in [%[5]g, %[6]g], σ in [%[7]g, %[8]g], T steps in [%[9]g, %[10]g] and δ in "+
		"[%[11]g, %[12]g].\n- *Different rounds* have σ in [%[13]v, %[14]v] and q in [%[15]v, %[16]v], and δ = %[17]v.\n"+
		"- *Random plans* have N records in [10⁴, 10⁷], k epochs in [2, 200], ε in [0.01, 5] and δ = 1/N. Their σ and T are the least that "+
		"the paper's Theorem simpleF allows.\n\nRandom numbers are drawn uniformly on a logarithmic scale.\n\n",
		runs, 100*pld.DefaultAccuracy, smallEpsilon, 100*smallAccuracy,
		minRate, float64(maxRate), minSigma, maxSigma, float64(minRounds), maxRounds, minDelta, maxDelta,
		mixedMinSigma, float64(mixedMaxSigma), mixedMinRate, mixedMaxRate, mixedDelta)
	fmt.Fprint(w, figureHeader)
	w.Write(rows)
	fmt.Fprint(w, figure{"all of the above", "peak memory", memory, 0, " MiB", atMost, 256})
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
		func() ([]figure, error) { return measureMixed(mixedEvents(1000, seed), runs, 500) },
		func() ([]figure, error) { return measureMixed(mixedEvents(100_000, seed), runs, 3000) },
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
