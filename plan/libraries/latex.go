package libraries

import (
	"fmt"
	"strings"

	"proactivedp/dp"
	"proactivedp/dp/claim"
	"proactivedp/internal/decimal"
	"proactivedp/internal/message"
)

// writeLaTeX returns LaTeX with everything that a paper must state about the privacy of r, as a paragraph and as a
// table. It needs no LaTeX package.
func writeLaTeX(r Release) Code {
	e, b := r.Event, r.Bound
	var text strings.Builder
	text.WriteString("% What a paper must state about a privacy guarantee, as planned by ProactiveDP. No package " +
		"is needed.\n% " + holdsFor(e) + "\n")
	for _, note := range r.Notes {
		line := strings.Join(strings.Fields(note), " ") // a line break would end the comment
		text.WriteString("% The paper must also repeat this note about the rounds: " + line + "\n")
	}
	text.WriteString("\\paragraph{Privacy.}\n")
	fmt.Fprintf(&text, "We train by DP-SGD in $T = %d$ rounds. Each round %s,\nclips the gradient of each of them to "+
		"norm $C$, and releases their sum with Gaussian noise\nof standard deviation $\\sigma C$, $\\sigma = %s$.\n",
		e.Count, sampledAs(e), mathNumber(decimal.Exactly(e.NoiseMultiplier)))
	fmt.Fprintf(&text, "For one record, in the rounds of %s, the release of every intermediate and the final\nmodel "+
		"is $(\\varepsilon, \\delta)$-differentially private with $\\varepsilon %s %s$ at $\\delta = %s$,\nunder %s "+
		"adjacency (%s, by the %s accountant).\n",
		holdersOf(r), relation(b.Kind), mathNumber(decimal.Up(b.EpsilonUpper, 5)),
		mathNumber(decimal.Up(b.DeltaUpper, 5)), b.Adjacency, kindOf(b.Kind), b.Accountant)
	if e.Sampling == dp.Shuffle {
		text.WriteString(strings.ReplaceAll(claim.Shuffled, "ε", "$\\varepsilon$") + "\n")
	}
	text.WriteString("Rates, noise and the number of rounds were fixed before the first release; choices made by\n" +
		"looking at the data are not covered.\n")
	if e.DatasetSize != 0 {
		text.WriteString("The number of records $N$ is public.\n")
	}
	if claim.WeakDelta(b, e) {
		text.WriteString("The $\\delta$ is not below $1/N$, which is weak: a mechanism that publishes one random\n" +
			"record unchanged satisfies this $\\delta$, too.\n")
	}
	if e.Noise.Simulated() {
		text.WriteString("The noise comes from a numbered seed: this is a simulation, and anybody who knows the " +
			"seed\ncan remove the noise.\n")
	}
	text.WriteString("\n")
	text.WriteString("\\begin{tabular}{lll}\n\\hline\n")
	rows := [][3]string{
		{"epsilon", "$\\varepsilon$", relation(b.Kind) + " " + mathNumber(decimal.Up(b.EpsilonUpper, 5))},
		{"delta", "$\\delta$", mathNumber(decimal.Up(b.DeltaUpper, 5))},
		{"noise multiplier", "$\\sigma$", mathNumber(decimal.Exactly(e.NoiseMultiplier))},
		{"sample rate", "$q$", mathNumber(claim.Rate(e))},
		{"rounds", "$T$", fmt.Sprint(e.Count)},
	}
	switch {
	case e.Sampling == dp.Allocation:
		rows = append(rows, [3]string{"batches of an epoch", "$t$", fmt.Sprint(e.Batches())})
	case e.DatasetSize != 0:
		rows = append(rows, [3]string{"sample size", "$s$", fmt.Sprint(e.SampleSize)})
	}
	if e.DatasetSize != 0 {
		rows = append(rows, [3]string{"records", "$N$", fmt.Sprint(e.DatasetSize)})
	}
	if r.Holders > 1 {
		rows = append(rows, [3]string{"clients that hold a record", "", fmt.Sprint(r.Holders)})
	}
	for _, row := range rows {
		fmt.Fprintf(&text, "%s & %s & $%s$ \\\\\n", row[0], row[1], row[2])
	}
	fmt.Fprintf(&text, "adjacency & & %s \\\\\nsampling & & %s \\\\\naccountant & & %s (%s) \\\\\n",
		b.Adjacency, e.Sampling, b.Accountant, kindOf(b.Kind))
	text.WriteString("\\hline\n\\end{tabular}\n")
	return Code{Format: LaTeX, Library: "LaTeX", Tried: "no LaTeX compiled it: tests count its braces and dollar " +
		"signs",
		Text: text.String()}
}

func sampledAs(e dp.Event) string {
	if e.Sampling == dp.Allocation {
		drawn := "anew in each epoch"
		if e.Redraw == dp.Once {
			drawn = "once for all epochs"
		}
		return fmt.Sprintf("uses the records of one of the $t = %d$ batches of an epoch (each record\nchooses its batch on its "+
			"own, uniformly at random and %s)", e.Batches(), drawn)
	}
	rate := mathNumber(claim.Rate(e))
	sizes := message.When(e.DatasetSize != 0, " ($s = %d$ of $N = %d$)", e.SampleSize, e.DatasetSize)
	switch e.Sampling {
	case dp.FixedSize:
		return fmt.Sprintf("draws a share $q = %s$ of the records%s,\nas many each time and without replacement", rate,
			sizes)
	case dp.Shuffle:
		drawnIn := map[dp.Redraw]string{dp.EachEpoch: " in each epoch", dp.Once: " in the first epoch"}[e.Redraw]
		return fmt.Sprintf("uses one of %d whole batches, into which\nthe records are cut after they are shuffled"+
			"%s%s", e.Batches(), drawnIn, sizes)
	case dp.Poisson:
	default: // OfEvents refuses any other
		return fmt.Sprintf("draws its records by the unknown sampling %q", e.Sampling)
	}
	if sizes != "" {
		sizes = strings.TrimSuffix(sizes, ")") + " on average)"
	}
	return fmt.Sprintf("samples each record independently with\nprobability $q = %s$%s", rate, sizes)
}

func holdersOf(r Release) string {
	if r.Holders > 1 {
		return fmt.Sprintf("all %d clients that hold it", r.Holders)
	}
	return "all clients that hold it"
}

func relation(k dp.Kind) string {
	if k == dp.Exact {
		return "="
	}
	return "\\le"
}

func kindOf(k dp.Kind) string {
	switch k {
	case dp.Exact:
		return "exact"
	case dp.Interval:
		return "a certified upper bound"
	}
	return "an upper bound"
}

// mathNumber writes the exponent of a number as a power of ten.
func mathNumber(text string) string {
	mantissa, exponent, found := strings.Cut(text, "e")
	if !found {
		return text
	}
	exponent = strings.TrimPrefix(exponent, "+")
	sign := ""
	if rest, negative := strings.CutPrefix(exponent, "-"); negative {
		sign, exponent = "-", rest
	}
	power := "10^{" + sign + strings.TrimLeft(exponent, "0") + "}"
	if mantissa == "1" {
		return power
	}
	return mantissa + " \\cdot " + power
}
