package experiments

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/sourcegraph/conc/pool"

	"proactivedp/dp"
)

// TablesOptions says how the paper's tables are audited.
type TablesOptions struct {
	Out string // folder to write to
	// Accountant certifies what runs cost, under add-or-remove and replace-one
	// adjacency. What it does not cover is said to be so.
	Accountant dp.Accountant
	Workers    int       // parts computed at the same time
	Progress   io.Writer // nil: silent
}

// Validate reports every option outside its range.
func (o TablesOptions) Validate() error {
	var errs []error
	if o.Out == "" {
		errs = append(errs, errors.New(`experiments: out = "", must name a folder`))
	}
	if o.Accountant == nil {
		errs = append(errs, errors.New("experiments: accountant is missing"))
	}
	return errors.Join(errs...)
}

// tablesAudit is all that is written.
type tablesAudit struct {
	accountant string
	tables     []auditedTable
	findings   []*finding
	curves     []*sizeCurve
	replaceOne []replaceOne
}

// auditedTable is a table of the paper.
type auditedTable struct {
	title string
	cells []tableCell
}

// MakeTables recomputes every number of the paper's tables of privacy budgets
// and writes, into Out, the tables with a verdict on each number, the findings,
// and figures of ε over the sample size. Files appear whole; equal options give
// equal bytes.
func MakeTables(ctx context.Context, o TablesOptions) error {
	if err := o.Validate(); err != nil {
		return err
	}
	if err := checkTables(o.Out); err != nil {
		return err
	}
	a, err := auditTables(ctx, o)
	if err != nil {
		return err
	}
	return a.write(o.Out)
}

// auditTables computes it all, each part on its own.
func auditTables(ctx context.Context, o TablesOptions) (*tablesAudit, error) {
	problems := paperProblems()
	audit := &tablesAudit{
		accountant: o.Accountant.Name(),
		findings:   make([]*finding, len(problems)),
		curves:     make([]*sizeCurve, len(problems)),
	}
	parts := []func() error{part(&audit.replaceOne, func() ([]replaceOne, error) { return replaceOneExample(o.Accountant) })}
	for i, p := range problems {
		a := auditor{p, o.Accountant}
		parts = append(parts, part(&audit.findings[i], a.find), part(&audit.curves[i], a.curve))
	}
	plans := tablePlans(o.Accountant)
	rows := make([][][]tableCell, len(plans))
	for i, plan := range plans {
		rows[i] = make([][]tableCell, len(plan.rows))
		for j, row := range plan.rows {
			parts = append(parts, part(&rows[i][j], row))
		}
	}
	if err := runParts(ctx, parts, o); err != nil {
		return nil, err
	}
	for i, plan := range plans {
		audit.tables = append(audit.tables, auditedTable{plan.title, slices.Concat(rows[i]...)})
	}
	return audit, nil
}

// tablePlan is a table of the paper and how to audit its rows.
type tablePlan struct {
	title string
	rows  []func() ([]tableCell, error)
}

// tablePlans returns the tables in the paper's order.
func tablePlans(accountant dp.Accountant) []tablePlan {
	var basics, budgets, comparisons []tablePlan
	for _, p := range paperProblems() {
		a := auditor{p, accountant}
		setting := fmt.Sprintf("%s, N = %d, K = %d (%%s)", p.name, p.n, p.gradComps)
		basics = append(basics, tablePlan{
			fmt.Sprintf("Basic parameters: "+setting, p.basic.label), []func() ([]tableCell, error){a.basicCells}})
		rows := tablePlan{title: fmt.Sprintf("Privacy budgets: "+setting, p.budgets.label)}
		for _, b := range p.budgets.rows {
			rows.rows = append(rows.rows, func() ([]tableCell, error) { return a.budgetCells(p.budgets.label, "ε "+string(b.epsilon), b) })
		}
		budgets = append(budgets, rows)
		comparisons = append(comparisons, tablePlan{
			fmt.Sprintf("ε_target and ε_f-DP: "+setting, p.comparison.label), []func() ([]tableCell, error){a.comparisonCells}})
	}
	return slices.Concat(basics, budgets, comparisons)
}

// part is a piece of work that sets *into.
func part[T any](into *T, compute func() (T, error)) func() error {
	return func() (err error) {
		*into, err = compute()
		return err
	}
}

// runParts runs them on as many goroutines as there are workers.
func runParts(ctx context.Context, parts []func() error, o TablesOptions) error {
	bar := newBar(o.Progress, int64(len(parts)))
	bar.Describe("accounting")
	var mu sync.Mutex
	p := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError().WithMaxGoroutines(max(o.Workers, 1))
	for _, part := range parts {
		p.Go(func(ctx context.Context) error {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			if err := part(); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			return bar.Add(1)
		})
	}
	err := p.Wait()
	bar.Exit()
	if err != nil {
		return fmt.Errorf("experiments: tables: %w", err)
	}
	return nil
}
