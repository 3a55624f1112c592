package privacy

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"proactivedp/answer"
	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/dp/claim"
	"proactivedp/dp/pld"
	"proactivedp/internal/decimal"
	"proactivedp/plan/libraries"
)

func newAccount() *cobra.Command {
	var release releaseFlags
	var q answer.AccountQuestion
	var epsilon float64
	var out cli.OutputFlags
	var files historyFlags
	by := accountantFlags{accuracy: pld.DefaultAccuracy}
	cmd := &cobra.Command{
		Use:   "account",
		Short: "Compute what rounds of DP-SGD cost: ε at a δ, or δ at an ε",
		Long: `Compute what rounds of DP-SGD cost, by every accountant that covers them. A round releases
a noised sum of clipped gradients.

  pld                  certified interval
  rdp                  upper bound, Rényi differential privacy
  closed-form-moments  upper bound, Theorem thm1 (corrected)
  closed-form          upper bound, Theorem simpleF (corrected)
  gdp                  central limit theorem: an APPROXIMATION that may be too small;
                       exact where every round uses all records

Poisson sampling is covered under add-or-remove adjacency, and by pld and rdp also under
replace-one. Fixed sampling is covered under replace-one by pld, rdp and gdp, and
allocation under add-or-remove by pld. The privacy statement quotes the smallest
guarantee; --json prints a statement for each accountant.

The ε of Poisson sampling does not hold for a data loader that shuffles. For shuffled
batches, --sampling shuffle gives an upper bound by pld, rdp and gdp that assumes no
amplification by sampling. A record is in one batch of each epoch, so E epochs cost as
much as E Gaussian rounds without sampling, at σ under zero-out adjacency and at σ/2 under
replace-one. pld also gives a lower bound: the ε that an attack reaches.

--sampling allocation is for training in which each record chooses one of the batches of
an epoch, independently of the others. --redraw says whether it chooses again in each epoch.

--group K gives the ε of a person who has up to K records.

--events FILE accounts for several kinds of rounds, for releases that are not training, or
for a run of another library: see proactivedp help rounds.`,
		Example: `  proactivedp account --noise-multiplier 19.29962 --sample-rate 0.0001 --steps 50000 --delta 1e-4
  proactivedp account --noise-multiplier 2 --batch-size 256 --n 60000 --steps 5000 --target-epsilon 1 --accountant pld --json
  proactivedp account --noise-multiplier 0.9 --batch-size 512 --n 60000 --epochs 15 --delta 1e-5
  proactivedp account --sampling shuffle --batches 98 --epochs 10 --noise-multiplier 1 --delta 1e-5
  proactivedp account --sampling allocation --batches 98 --epochs 10 --redraw epoch --sigma 1 --delta 1e-5
  proactivedp account --noise-multiplier 4 --sample-rate 0.001 --steps 1000 --delta 1e-5 --group 10
  proactivedp account --events rounds.json --delta 1e-5 --statement`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			rounds, err := release.history(cmd, files)
			q.Events, q.Notes = rounds.Events, rounds.Notes
			q.Accountant, q.Accuracy = by.name, by.accuracy
			if cmd.Flags().Changed("target-epsilon") {
				q.Epsilon = &epsilon
			}
			if cmd.Flags().Changed("target-epsilon") == cmd.Flags().Changed("delta") {
				err = errors.Join(err, errors.New("--delta or --target-epsilon must be given, and not both: the answer is the "+
					"other"))
				q.Delta, q.Epsilon = 0.5, nil // a valid value, so that the other fields are still checked
			}
			if err := errors.Join(err, by.check(cmd), q.Validate(), out.Check()); err != nil {
				return cli.Usage(err)
			}
			answers, err := answer.Account(cmd.Context(), q)
			if err != nil {
				return err
			}
			best := sharpest(answers, q)
			if out.IsCode() {
				release, err := libraries.OfEvents(q.Events, best.Bound, q.Notes...)
				return out.PrintCode(cmd, release, err)
			}
			table := func(w io.Writer) error { return printAnswers(w, answers, q) }
			return out.Print(cmd, best.Statement, answers, table)
		},
	}
	release.add(cmd)
	addEvents(cmd, &files)
	by.add(cmd, answer.AllAccountants)
	out.Add(cmd)
	out.AddFormat(cmd)
	f := cmd.Flags()
	f.Float64Var(&q.Delta, "delta", 0, "δ in (0, 1): gives ε")
	f.Float64Var(&epsilon, "target-epsilon", 0, "ε, at least 0: gives δ")
	return cmd
}

// printAnswers prints the smallest guarantee, or the only answer, and a table of all answers.
// Accountants that do not cover the rounds are listed only for --accountant all.
func printAnswers(w io.Writer, answers []answer.Accounting, q answer.AccountQuestion) error {
	given, sought := "δ = "+decimal.Exactly(q.Delta), "ε"
	if q.Epsilon != nil {
		given, sought = "ε = "+decimal.Exactly(*q.Epsilon), "δ"
	}
	fmt.Fprintln(w, claim.Noted(claim.Line(sharpest(answers, q).Bound, q.Events...), q.Notes))
	by := "every accountant that covers the rounds"
	if len(answers) == 1 {
		by = answers[0].Bound.Accountant + " (others: --accountant all)"
	}
	fmt.Fprintf(w, "--statement prints the statement in full.\n\n%s at %s by %s\n\n", sought, given, by)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "accountant\tkind\t%s ≥\t%s\t%s ≤\tseconds\n", sought, sought, sought)
	listed := func(a answer.Accounting) bool { return a.Reason == "" || q.Accountant == answer.AllAccountants }
	for _, a := range answers {
		if !listed(a) {
			continue
		}
		b, lower, value, upper := a.Bound, a.Bound.EpsilonLower, a.Bound.Epsilon, a.Bound.EpsilonUpper
		if q.Epsilon != nil {
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
		if a.Reason != "" && listed(a) {
			fmt.Fprintf(w, "\nno answer by %s: %s\n", a.Bound.Accountant, a.Reason)
		}
	}
	return nil
}

// sharpest returns the answer with the smallest guarantee, or the only answer.
func sharpest(answers []answer.Accounting, q answer.AccountQuestion) answer.Accounting {
	return slices.MinFunc(answers, func(a, b answer.Accounting) int {
		if a.Reason != b.Reason && (a.Reason == "" || b.Reason == "") {
			return cmp.Compare(a.Reason, b.Reason) // the Reason of an answer is empty, so answers come first
		}
		x, y := upperOf(a, q), upperOf(b, q)
		if math.Abs(x-y) <= 1e-9*y { // equal up to rounding: the accountant that is listed first wins
			return 0
		}
		return cmp.Compare(x, y)
	})
}

func upperOf(a answer.Accounting, q answer.AccountQuestion) float64 {
	if q.Epsilon != nil {
		return a.Bound.DeltaUpper
	}
	return a.Bound.EpsilonUpper
}
