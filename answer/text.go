package answer

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"proactivedp/dp"
	"proactivedp/dp/claim"
	"proactivedp/dp/tradeoff"
	"proactivedp/internal/decimal"
)

// gain formats the largest gain. It rounds up for a lower bound on the trade-off function, and down for
// an upper bound.
func (c CurveSummary) gain() string {
	if c.Side == tradeoff.Upper {
		return decimal.Down(c.MaxGain, 6)
	}
	return shown(c.MaxGain)
}

// WriteText writes the result as text for people: a table of the trade-off curves, the curves that are left out with
// the reasons, and the privacy statement.
func (s *Tradeoff) WriteText(w io.Writer) error {
	if err := s.made(); err != nil {
		return err
	}
	if i := slices.IndexFunc(s.Curves, func(c CurveSummary) bool { return c.Side == tradeoff.Lower }); i >= 0 {
		fmt.Fprintf(w, "A test for %s has a true positive rate at most %s above its false positive rate, at the points "+
			"of the curve %s.\n", claim.Whom(s.events...), s.Curves[i].gain(), s.Curves[i].Name)
	}
	sampling := string(s.Sampling)
	if s.Sampling == dp.Unsampled {
		sampling = "no"
	}
	fmt.Fprintf(w, "%s\n--statement prints the statement in full.\n\nTrade-off curves, %s: %s adjacency, %s "+
		"sampling\n\n", claim.Noted(claim.Line(s.bound, s.events...), s.Notes), claim.For(s.events[0].Group), s.Adjacency, sampling)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "curve\tbound on f\tlargest gain 1-α-f(α) of the points\tat α\n")
	for _, c := range s.Curves {
		fmt.Fprintf(t, "%s\t%s\t%s\t%.4g\n", c.Name, c.Side, c.gain(), c.Alpha)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for i, l := range s.LeftOut {
		if i == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "left out: %s: %s\n", l.Name, l.Reason)
	}
	return nil
}

func (s *Tradeoff) made() error {
	if s == nil || s.Accountant == "" {
		return errors.New("this Tradeoff was not made by Compare")
	}
	return nil
}
