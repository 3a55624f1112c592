package privacy

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"proactivedp/answer"
	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/dp"
	"proactivedp/dp/pld"
	"proactivedp/dp/rdp"
	"proactivedp/internal/bounded"
	"proactivedp/internal/files"
	"proactivedp/plan"
)

type legFlags struct {
	after  historyFlags
	record string
	fixed  bool
	budget float64
	orders []float64
}

func (l *legFlags) add(fs *pflag.FlagSet) {
	l.after.add(fs, "after", "plan the next leg after the rounds in this `file`, JSON or CSV; may be "+
		"given for each of several releases, the first one first")
	fs.BoolVar(&l.fixed, "fixed-beforehand", false, "with --after: all rounds, past and next, and when to stop, were "+
		"fixed before the first release, so --method (default pld) composes them instead of the filter")
	fs.StringVar(&l.record, "record", "", "write the filter and all rounds, also the planned ones, to this "+
		"`file`, JSON, for --after")
	fs.Float64Var(&l.budget, "budget", 0, "with --record: ε of the filter, for this leg and all after it, in [1e-8, "+
		"1e4] (default the plan's ε)")
	cli.NumbersVar(fs, &l.orders, "orders", nil, "with --record: Rényi orders of the filter, each with its share of "+
		"δ, in (1, 1 + 1e10] (default: the one that allows the most rounds like the plan's)")
}

// check returns an error for flags that do not fit together, or for a record that cannot be
// written.
func (l *legFlags) check(cmd *cobra.Command) error {
	errs := []error{l.after.check(cmd)}
	if l.fixed && !cmd.Flags().Changed("after") {
		errs = append(errs, errors.New("--fixed-beforehand must not be given without --after: a plan is fixed"))
	}
	if l.record == "" {
		errs = append(errs, cli.Refuse(cmd, "must not be given without --record", "budget", "orders"))
	}
	if cmd.Flags().Changed("budget") {
		errs = append(errs, plan.CheckBudget(l.budget))
	}
	for _, order := range l.orders {
		errs = append(errs, rdp.CheckOrder(order))
	}
	if l.record != "" {
		errs = append(errs, files.Check(l.record))
	}
	return errors.Join(errs...)
}

// locked calls do while no other process can plan with the record. If two processes each add a leg,
// the second must see the leg of the first; otherwise both legs would be the same run. A path that
// cannot be locked is not a record, and do reports that.
func (l *legFlags) locked(do func() error) error {
	if info, err := os.Stat(l.record); l.record == "" || err == nil && !info.Mode().IsRegular() {
		return do()
	}
	lock, err := files.LockFile(l.record)
	switch {
	case errors.Is(err, files.ErrHeld):
		return fmt.Errorf("--record: %w", err)
	case err != nil:
		return do()
	}
	return errors.Join(do(), lock.Release())
}

// keepFilter refuses to overwrite the record of another filter. The same record may be written
// again, so a command may be repeated.
func (l *legFlags) keepFilter(record []byte) error {
	if slices.ContainsFunc(l.after.paths, func(path string) bool { return cli.SameFile(path, l.record) }) {
		return nil
	}
	h, err := readHistory("record", l.record, dp.Poisson, "")
	if err != nil && namesFilter(l.record) {
		return fmt.Errorf("%w: --record must not be a record that cannot be read: it says what the records have paid "+
			"for; mend it, or name another file", err)
	}
	if err != nil || h.Filter == nil {
		return nil // the file does not exist, or it records no filter
	}
	var there bytes.Buffer
	if err := h.WriteJSON(&there); err == nil && bytes.Equal(there.Bytes(), record) {
		return nil
	}
	return fmt.Errorf("--record = %q, must not be a record of another filter, of ε = %v: continue that filter with "+
		"--after, or name another file", l.record, h.Filter.Epsilon)
}

// namesFilter reports whether a file has the key of a filter, even if it is damaged elsewhere.
func namesFilter(path string) bool {
	text, err := bounded.File(path, plan.MaxEventsBytes)
	return err == nil && bytes.Contains(text, []byte(`"filter"`))
}

// write writes the record, with the history that of returns, if --record was given.
func (l *legFlags) write(cmd *cobra.Command, of func() (plan.History, error)) error {
	if l.record == "" {
		return nil
	}
	h, err := of()
	if err != nil {
		return err
	}
	var record bytes.Buffer
	if err := h.WriteJSON(&record); err != nil {
		return err
	}
	if err := l.keepFilter(record.Bytes()); err != nil {
		return cli.Usage(err)
	}
	if err := files.Write(l.record, h.WriteJSON); err != nil {
		return err
	}
	if _, unnamed := dp.Names(h.Events); unnamed {
		cli.Say(cmd, "%s does not say which run made the noise of each leg: train each leg with another --run, or name "+
			"the runs by --root, such as --root seed:1", l.record)
	}
	return nil
}

// nextLeg is what plan --after prints.
type nextLeg struct {
	*plan.Next
	Releases  []dp.Release `json:"releases,omitempty"`
	Statement string       `json:"statement"`
}

// replan plans the next leg after the rounds of a file.
func (f *planFlags) replan(cmd *cobra.Command) error {
	given := f.req.Epsilon
	err := errors.Join(f.common(cmd), answer.CheckAccuracy(f.by.accuracy), cli.RefuseWith(cmd, "after",
		"batch-size", "steps", "theta", "adjacency", "sampling", "batches", "redraw", "group", "tight", "frontier", "points", "csv", "png", "budget", "orders"))
	if f.out.IsCode() {
		err = errors.Join(err, fmt.Errorf("--format = %q must not be given with --after: the code is of one run from "+
			"its beginning", f.out.Format))
	}
	past, pastErr := f.legs.after.read(dp.Poisson, "")
	if past.Filter != nil {
		f.req.Epsilon = given // and not a value that common chose, because that of the filter is the usual one
	}
	r := plan.NextRequest{
		Past: past.Events, N: cli.Given(cmd, "n", f.req.N, 0), Epochs: f.req.Epochs, Sigma: f.req.Sigma, Epsilon: f.req.Epsilon, Delta: f.req.Delta,
		Clients: f.req.Clients, Shared: f.req.Shared, Recorded: past.Filter, Late: past.Late,
		FixedBeforehand: f.legs.fixed, Root: f.req.Root, Notes: past.Notes,
	}
	if pastErr == nil {
		pastErr = r.Validate()
	}
	if err := errors.Join(err, pastErr); err != nil {
		return cli.Usage(err)
	}
	acc, err := f.req.Method.Accountant()
	if err != nil {
		return err
	}
	if f.req.Method == plan.PLD {
		acc = pld.Accountant{Accuracy: f.by.accuracy}
	}
	next, err := plan.Replan(cmd.Context(), r, acc)
	if err != nil {
		return err
	}
	if !next.Feasible {
		cli.Say(cmd, "no next leg: %s", next.Reason)
	} else if err := f.legs.write(cmd, func() (plan.History, error) { return next.History(), nil }); err != nil {
		return err
	}
	printed := nextLeg{Next: next, Statement: next.Statement()}
	if next.Feasible {
		printed.Releases = dp.Releases(next.History().Events)
	}
	return f.out.Print(cmd, printed.Statement, printed, next.WriteText)
}
