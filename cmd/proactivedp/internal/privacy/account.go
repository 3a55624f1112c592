package privacy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"proactivedp/answer"
	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/dp"
	"proactivedp/dp/claim"
	"proactivedp/dp/pld"
	"proactivedp/internal/decimal"
	"proactivedp/plan/libraries"
)

func newAccount() *cobra.Command {
	var release releaseFlags
	var ask question
	var out cli.OutputFlags
	var files historyFlags
	by := accountantFlags{name: answer.AllAccountants, accuracy: pld.DefaultAccuracy}
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
under replace-one, and fixed sampling under replace-one by pld, rdp and gdp. The
statement is of the least guarantee; JSON has that of each.

The ε of Poisson sampling does not hold for a data loader that shuffles. For shuffled
batches, --sampling shuffle gives an upper bound by pld, rdp and gdp that counts no
amplification: a record is in one batch of each epoch, so E epochs are E Gaussian
rounds, at σ under zero-out adjacency and at σ/2 under replace-one.

` + eventsHelp,
		Example: `  proactivedp account --sigma 19.29962 --sample-rate 0.0001 --steps 50000 --delta 1e-4
  proactivedp account --sigma 2 --sample-size 256 --n 60000 --steps 5000 --epsilon 1 --accountant pld --json
  proactivedp account --sigma 0.9 --sample-size 512 --n 60000 --epochs 15 --delta 1e-5
  proactivedp account --sampling shuffle --batches 98 --epochs 10 --sigma 1 --delta 1e-5
  proactivedp account --events rounds.json --delta 1e-5 --statement`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			rounds, roundsErr := release.history(cmd, files)
			accs, accErr := by.chosen()
			if err := errors.Join(roundsErr, ask.check(cmd), accErr, out.Check()); err != nil {
				return cli.Usage(err)
			}
			put := func(acc dp.Accountant) (dp.Bound, error) { return ask.put(cmd.Context(), acc, rounds.Events) }
			// The flags' check has found what is wrong with the release itself.
			answers, err := answer.AccountBy(cmd.Context(), accs, rounds, put)
			if err != nil {
				return err
			}
			if out.IsCode() {
				release, err := libraries.OfEvents(rounds.Events, sharpest(answers, ask).Bound, rounds.Notes...)
				return out.PrintCode(cmd, release, err)
			}
			table := func(w io.Writer) error { return printAnswers(w, answers, ask) }
			return out.Print(cmd, sharpest(answers, ask).Statement, answers, table)
		},
	}
	release.add(cmd)
	addEvents(cmd, &files)
	by.add(cmd, answer.AllAccountants)
	out.Add(cmd)
	out.AddFormat(cmd)
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

// printAnswers writes a table, and the statement of the least guarantee or, if
// there is none, of the only answer.
func printAnswers(w io.Writer, answers []answer.Accounting, q question) error {
	given, sought := "δ = "+decimal.Exactly(q.delta), "ε"
	if q.forDelta {
		given, sought = "ε = "+decimal.Exactly(q.epsilon), "δ"
	}
	b := answers[0].Bound
	how := string(b.Sampling) + " sampling"
	if b.Sampling == dp.Shuffle {
		how = "shuffled batches\n" + claim.Shuffled
	}
	fmt.Fprintf(w, "%s at %s, per record: %s adjacency, %s\n\n", sought, given, b.Adjacency, how)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "accountant\tkind\t%s ≥\t%s\t%s ≤\tseconds\n", sought, sought, sought)
	for _, a := range answers {
		b, lower, value, upper := a.Bound, a.Bound.EpsilonLower, a.Bound.Epsilon, a.Bound.EpsilonUpper
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
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, a := range answers {
		if a.Reason != "" {
			fmt.Fprintf(w, "\nno answer by %s: %s\n", a.Bound.Accountant, a.Reason)
		}
	}
	_, err := fmt.Fprintf(w, "\n%s\n", sharpest(answers, q).Statement)
	return err
}

// sharpest returns the answer with the least guarantee or, if there is none, the only one.
func sharpest(answers []answer.Accounting, q question) answer.Accounting {
	return slices.MinFunc(answers, func(a, b answer.Accounting) int {
		if a.Reason != b.Reason && (a.Reason == "" || b.Reason == "") {
			return cmp.Compare(a.Reason, b.Reason) // which is empty where there is an answer
		}
		return cmp.Compare(upperOf(a, q), upperOf(b, q))
	})
}

func upperOf(a answer.Accounting, q question) float64 {
	if q.forDelta {
		return a.Bound.DeltaUpper
	}
	return a.Bound.EpsilonUpper
}
