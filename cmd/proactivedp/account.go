package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"proactivedp/dp"
	"proactivedp/dp/claim"
	"proactivedp/dp/pld"
	"proactivedp/internal/decimal"
	"proactivedp/plan"
)

func newAccount() *cobra.Command {
	var release releaseFlags
	var ask question
	var out outputFlags
	var files historyFlags
	by := accountantFlags{name: allAccountants, accuracy: pld.DefaultAccuracy}
	cmd := &cobra.Command{
		Use:   "account",
		Short: "What rounds of DP-SGD cost: ε at a δ, or δ at an ε",
		Long: `Account for rounds of DP-SGD, each a noised sum of clipped gradients, by every
accountant that covers them:

  pld                  certified interval; an upper bound with fixed sampling
  rdp                  upper bound, Rényi differential privacy
  closed-form-moments  upper bound, Theorem thm1 (corrected)
  closed-form          upper bound, Theorem simpleF (corrected)
  gdp                  central limit theorem: an APPROXIMATION that may be too small;
                       exact where every round uses all records

Covered are Poisson sampling under add-or-remove adjacency, by pld and rdp also
under replace-one, and fixed sampling under replace-one by pld, rdp and gdp.

` + eventsHelp,
		Example: `  proactivedp account --sigma 19.29962 --sample-rate 0.0001 --steps 50000 --delta 1e-4
  proactivedp account --sigma 2 --sample-size 256 --n 60000 --steps 5000 --epsilon 1 --accountant pld --json
  proactivedp account --events rounds.json --delta 1e-5 --statement`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			rounds, roundsErr := release.history(cmd, files)
			accs, accErr := by.chosen()
			if err := errors.Join(roundsErr, ask.check(cmd), accErr, out.check()); err != nil {
				return usage(err)
			}
			answers := make([]answer, len(accs))
			var uncovered []error
			for i, acc := range accs {
				start := time.Now()
				b, err := ask.put(cmd.Context(), acc, rounds.Events)
				if cause := context.Cause(cmd.Context()); cause != nil {
					return cause
				}
				// The flags' check has found what is wrong with the release itself.
				answers[i] = newAnswer(acc, rounds, b, err)
				answers[i].Seconds = time.Since(start).Seconds()
				if err != nil {
					uncovered = append(uncovered, fmt.Errorf("%s: %w", acc.Name(), err))
				}
			}
			if len(uncovered) == len(accs) {
				return errors.Join(uncovered...)
			}
			table := func(w io.Writer) error { return printAnswers(w, answers, ask) }
			return out.print(cmd, statements(answers), answers, table)
		},
	}
	release.add(cmd)
	addEvents(cmd, &files)
	by.add(cmd, allAccountants)
	out.add(cmd)
	f := cmd.Flags()
	f.Float64Var(&ask.delta, "delta", 0, "δ in (0, 1): gives ε")
	f.Float64Var(&ask.epsilon, "epsilon", 0, "ε, at least 0: gives δ")
	return cmd
}

// question asks for ε at a δ, or for δ at an ε.
type question struct {
	delta, epsilon float64
	forDelta       bool
}

func (q *question) check(cmd *cobra.Command) error {
	q.forDelta = cmd.Flags().Changed("epsilon")
	switch {
	case q.forDelta == cmd.Flags().Changed("delta"):
		return errors.New("--delta or --epsilon must be given, and not both: the answer is the other")
	case q.forDelta && (!(q.epsilon >= 0) || math.IsInf(q.epsilon, 0)):
		return fmt.Errorf("--epsilon = %v, must be finite and not negative", q.epsilon)
	case !q.forDelta && !(q.delta > 0 && q.delta < 1):
		return fmt.Errorf("--delta = %v, must be in (0, 1)", q.delta)
	}
	return nil
}

func (q *question) put(ctx context.Context, acc dp.Accountant, events []dp.Event) (dp.Bound, error) {
	if q.forDelta {
		return acc.Delta(ctx, events, q.epsilon)
	}
	return acc.Epsilon(ctx, events, q.delta)
}

// answer is what one accountant says: a bound, or the reason for none.
type answer struct {
	bound dp.Bound
	dp.BoundJSON
	Seconds   float64  `json:"seconds"`
	Reason    string   `json:"reason,omitempty"`
	Notes     []string `json:"notes,omitempty"` // see plan.History
	Statement string   `json:"statement,omitempty"`
}

func newAnswer(acc dp.Accountant, rounds plan.History, b dp.Bound, err error) answer {
	a := answer{Notes: rounds.Notes}
	if err == nil {
		a.Statement = claim.Noted("Privacy. "+claim.Statement(claim.PerRecord, b, rounds.Events...), rounds.Notes)
	} else {
		none := math.NaN()
		a.Reason, b = oneLine(err), dp.Bound{
			EpsilonLower: none, Epsilon: none, EpsilonUpper: none, DeltaLower: none, Delta: none, DeltaUpper: none,
			Accountant: acc.Name(), Adjacency: rounds.Events[0].Adjacency, Sampling: rounds.Events[0].Sampling,
		}
	}
	a.bound, a.BoundJSON = b, b.JSON()
	return a
}

func statements(answers []answer) string {
	var all []string
	for _, a := range answers {
		if a.Reason == "" {
			all = append(all, a.Statement)
		}
	}
	return strings.Join(all, "\n\n")
}

// printAnswers writes a table, and the statement of the least guarantee or, if
// there is none, of the only answer.
func printAnswers(w io.Writer, answers []answer, q question) error {
	given, sought := "δ = "+decimal.Exactly(q.delta), "ε"
	if q.forDelta {
		given, sought = "ε = "+decimal.Exactly(q.epsilon), "δ"
	}
	b := answers[0].bound
	fmt.Fprintf(w, "%s at %s, per record: %s adjacency, %s sampling\n\n", sought, given, b.Adjacency, b.Sampling)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "accountant\tkind\t%s ≥\t%s\t%s ≤\tseconds\n", sought, sought, sought)
	best := -1
	for i, a := range answers {
		b, lower, value, upper := a.bound, a.bound.EpsilonLower, a.bound.Epsilon, a.bound.EpsilonUpper
		if q.forDelta {
			lower, value, upper = b.DeltaLower, b.Delta, b.DeltaUpper
		}
		kind := string(b.Kind)
		if a.Reason != "" {
			kind = "not covered"
		}
		from := shownDown(lower)
		if lower == 0 {
			from = "-"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%.3f\n",
			b.Accountant, kind, from, shownUp(value), shownUp(upper), a.Seconds)
		if a.Reason == "" && (best < 0 || upper < answers[best].upper(q)) {
			best = i
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, a := range answers {
		if a.Reason != "" {
			fmt.Fprintf(w, "\nno answer by %s: %s\n", a.bound.Accountant, a.Reason)
		}
	}
	_, err := fmt.Fprintf(w, "\n%s\n", answers[best].Statement)
	return err
}

func (a answer) upper(q question) float64 {
	if q.forDelta {
		return a.bound.DeltaUpper
	}
	return a.bound.EpsilonUpper
}
