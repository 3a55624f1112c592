package plan

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"
	"text/tabwriter"
)

// WriteText writes the plan for people to read: the budget, the noise, the
// rounds and sizes, every condition, and the sentence that the ε stands for.
// ε and σ are shown rounded up.
func (p *Plan) WriteText(w io.Writer) error {
	var buf bytes.Buffer
	tw := tabwriter.NewWriter(&buf, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(tw, name+"\t"+format+"\n", args...) }

	fmt.Fprintln(tw, "Plan by the closed form: Theorem simpleF, γ corrected")
	fmt.Fprintln(tw)
	row("data", "N = %d, k = %g epochs, θ = %g", p.N, p.Epochs, p.Theta)
	row("budget", "ε = %s, δ = %s", up(p.Epsilon, 5), up(p.Delta, 5))
	row("noise", "σ = %s", up(p.Sigma, 7))
	row("γ", "%.6g (as the paper prints it %.6g)", p.Gamma, p.GammaPrinted)
	mean := ""
	if p.Theta > 1 {
		mean = ", mean"
	}
	if p.TMinReal > maxCount {
		row("rounds", "at least T = %.6g, set by (%s)", p.TMinReal, p.Binding)
	} else {
		row("rounds", "at least T = %d (%.6g), set by (%s)", p.TMin, p.TMinReal, p.Binding)
	}
	row("sample size", "at most s = %d (%.6g)%s", p.SMax, p.SMaxReal, mean)
	asym := fmt.Sprintf("T = %d", p.TMinAsym)
	if p.TMinAsym == maxCount {
		asym = "T ≥ 2^53"
	}
	row("as the paper prints", "%s, s = %d at θ²k²/(2ε): not a bound, no guarantee", asym, p.SMaxAsym)
	if r := p.Run; r != nil {
		row("run", "%d rounds of s = %d%s, rate %.6g: %d gradient computations, %d left over", r.Rounds, r.SampleSize, mean, r.SampleRate, r.Computations, r.Remainder)
		if p.Theta > 1 {
			row("", "a round may sample up to θs = %d", r.MaxSampleSize)
		}
	} else {
		row("run", "none: %s", p.Reason)
	}
	fmt.Fprintln(tw)
	fmt.Fprintln(tw, "theorem\tcondition\tstatus\tmargin")
	for _, c := range p.Conditions {
		met := "met"
		if !c.Met {
			met = "not met"
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%+.2f %%\n", c.Theorem, c.Name, met, 100*c.Margin)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(&buf, "\n%s\n", p.Statement())
	_, err := w.Write(buf.Bytes())
	return err
}

// Statement returns the sentence that the plan's ε stands for, or that there is
// no guarantee.
func (p *Plan) Statement() string {
	if !p.Feasible {
		return fmt.Sprintf("No guarantee: the plan is not feasible (%s).", p.Reason)
	}
	sizes := ""
	if p.Theta > 1 {
		sizes = fmt.Sprintf(", its sizes having that mean and no size being above %g times it,", p.Theta)
	}
	return fmt.Sprintf("Privacy, for a record that one client holds: the run%s is (ε, δ)-differentially private with ε ≤ %s (an upper bound) at δ = %s, "+
		"under %s adjacency with Poisson sampling, by the %s accountant (Theorem simpleF).",
		sizes, up(p.Epsilon, 5), up(p.Delta, 5), p.Adjacency, p.Accountant)
}

// up formats v > 0 with the given number of significant digits, rounded up, so
// that the ε and δ on paper are not below those proved, nor σ below the one needed.
func up(v float64, digits int) string {
	text := func(v float64) (string, float64) {
		s := strconv.FormatFloat(v, 'g', digits, 64)
		back, _ := strconv.ParseFloat(s, 64)
		return s, back
	}
	s, back := text(v)
	if back < v {
		step := math.Pow(10, math.Floor(math.Log10(v))-float64(digits-1))
		s, _ = text(back + step)
	}
	return s
}
