package privacy

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"proactivedp/answer"
	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/dp/pld"
)

func newTradeoff() *cobra.Command {
	var release releaseFlags
	var files fileFlags
	var out cli.OutputFlags
	var rounds historyFlags
	q := answer.TradeoffQuestion{Points: 201}
	by := accountantFlags{accuracy: pld.DefaultAccuracy}
	cmd := &cobra.Command{
		Use:   "tradeoff",
		Short: "Print trade-off curves of rounds of DP-SGD: how well a test can detect a record",
		Long: `Print trade-off curves (f-DP): f(α) is the least type II error of any test with type I
error at most α that distinguishes neighbouring data sets. A lower curve is a guarantee.

  pld lower, pld upper  certified: the release's own curve is between them
                        (farther apart where --accuracy would take over a second)
  f(ε, δ)               lower: what (ε, δ) implies, at --delta and pld's upper ε
  gdp                   G_μ of the central limit theorem: an APPROXIMATION; exact
                        where every round uses all records
  paper                 lower: g(σ, ε_target) of the paper, which holds for any
                        number of rounds that Theorem Main allows; for add-or-remove
                        adjacency and Poisson sampling of --batch-size of --n

The picture shows 1 - α - f(α), what a test gains over guessing: 0 is perfect privacy.

--events FILE has several kinds of rounds, or other releases: see proactivedp help rounds.`,
		Example: "  proactivedp tradeoff --noise-multiplier 19.29962 --batch-size 31 --n 10000 --steps 1612 --delta 1e-4 " +
			"--png curves.png\n" +
			"  proactivedp tradeoff --noise-multiplier 2 --sample-rate 0.01 --steps 1000 --delta 1e-5 --csv curves.csv --json",
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			history, err := release.history(cmd, rounds)
			q.Events, q.Notes, q.Accuracy = history.Events, history.Notes, by.accuracy
			if !cli.AnyChanged(cmd, "delta") {
				err, q.Delta = errors.Join(err, errors.New("--delta is missing")), 0.5 // a valid value, so that the other fields are still checked
			}
			err = errors.Join(err, by.check(cmd), cli.RefuseZeros(cmd, "target-epsilon", "points"), out.Check())
			if err := errors.Join(err, q.Validate()); err != nil {
				return cli.Usage(err)
			}
			if err := files.writable(); err != nil {
				return err
			}
			s, err := answer.Compare(cmd.Context(), q)
			if err != nil {
				return err
			}
			draw := func(w io.Writer) error { return Tradeoff(w, s.Lines, s.Statement) }
			if err := files.write(s.Lines.WriteCSV, draw); err != nil {
				return err
			}
			return out.Print(cmd, s.Statement, s, s.WriteText)
		},
	}
	release.add(cmd)
	addEvents(cmd, &rounds)
	by.addAccuracy(cmd, "")
	files.add(cmd, "the curves")
	out.Add(cmd)
	f := cmd.Flags()
	f.Float64Var(&q.Delta, "delta", 0, "δ of f(ε, δ), in (0, 1)")
	f.Float64Var(&q.Target, "target-epsilon", 0,
		"ε_target of the paper's curve, in (0, 0.5) (default: the ε of σ and δ by (treq4))")
	cli.CountVar(f, &q.Points, "points", q.Points, "points of a curve, in [3, 100000]")
	return cmd
}
