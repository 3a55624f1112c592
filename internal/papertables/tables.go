// Package papertables recomputes every number about privacy in the paper's tables. It says for each number whether a
// procedure that the paper describes reproduces it, and what a tight accountant gives instead.
//
//	err := papertables.Make(ctx, papertables.Options{Out: "tables", Accountant: pld.Accountant{}})
package papertables

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/sourcegraph/conc/pool"

	"proactivedp/dp"
	"proactivedp/internal/files"
	"proactivedp/internal/paper"
	"proactivedp/internal/report"
)

// Options says where Make writes its tables, and which accountant checks the paper's numbers.
type Options struct {
	Out string // the folder to write to
	// Accountant certifies the cost of runs under add-or-remove and replace-one adjacency. The tables
	// say what it does not cover.
	Accountant dp.Accountant
	Workers    int       // how many parts are computed at the same time; less than 1 means 1
	Progress   io.Writer // receives the progress, unless it is nil
}

func (o Options) Validate() error {
	var errs []error
	if o.Out == "" {
		errs = append(errs, errors.New(`out = "", must name a folder`))
	}
	if o.Accountant == nil {
		errs = append(errs, errors.New("accountant is missing"))
	}
	return errors.Join(errs...)
}

// audit holds everything that is computed before it is written.
type audit struct {
	accountant string
	tables     []auditedTable
	findings   []*finding
	curves     []*sizeCurve
	replaceOne []replaceOne
}

// auditedTable is a table of the paper with a verdict on each of its numbers.
type auditedTable struct {
	title string
	cells []cell
}

// Make recomputes every number in the paper's tables of privacy budgets. It writes to the folder Out:
// the tables with a verdict on each number, the findings, and figures of ε over the sample size. It
// writes all files or none. Equal options give equal bytes. Only one call at a time may write to Out.
func Make(ctx context.Context, o Options) error {
	if err := o.Validate(); err != nil {
		return err
	}
	if err := checkFolder(o.Out); err != nil {
		return err
	}
	return files.InFolder(o.Out, func() error {
		a, err := auditAll(ctx, o)
		if err != nil {
			return err
		}
		return a.write(o.Out)
	})
}

// auditAll computes the parts of an audit in parallel.
func auditAll(ctx context.Context, o Options) (*audit, error) {
	problems := paper.Cases()
	all := &audit{
		accountant: o.Accountant.Name(),
		findings:   make([]*finding, len(problems)),
		curves:     make([]*sizeCurve, len(problems)),
	}
	parts := []func() error{part(&all.replaceOne, func() ([]replaceOne, error) {
		return replaceOneExample(ctx, o.Accountant)
	})}
	for i, p := range problems {
		a := auditor{ctx, p, o.Accountant}
		parts = append(parts, part(&all.findings[i], a.find), part(&all.curves[i], a.curve))
	}
	plans := tablePlans(ctx, o.Accountant)
	rows := make([][][]cell, len(plans))
	for i, plan := range plans {
		rows[i] = make([][]cell, len(plan.rows))
		for j, row := range plan.rows {
			parts = append(parts, part(&rows[i][j], row))
		}
	}
	if err := runParts(ctx, parts, o); err != nil {
		return nil, err
	}
	for i, plan := range plans {
		all.tables = append(all.tables, auditedTable{plan.title, slices.Concat(rows[i]...)})
	}
	return all, nil
}

// tablePlan is a table of the paper and how to audit its rows.
type tablePlan struct {
	title string
	rows  []func() ([]cell, error)
}

// tablePlans returns the tables in the paper's order.
func tablePlans(ctx context.Context, accountant dp.Accountant) []tablePlan {
	var basics, budgets, comparisons []tablePlan
	for _, p := range paper.Cases() {
		a := auditor{ctx, p, accountant}
		setting := fmt.Sprintf("%s, N = %d, K = %d (%%s)", p.Name, p.N, p.GradComps)
		basics = append(basics, tablePlan{
			fmt.Sprintf("Basic parameters: "+setting, p.Basic.Label), []func() ([]cell, error){a.basicCells}})
		rows := tablePlan{title: fmt.Sprintf("Privacy budgets: "+setting, p.Budgets.Label)}
		for _, b := range p.Budgets.Rows {
			rows.rows = append(rows.rows, func() ([]cell, error) {
				return a.budgetCells(p.Budgets.Label, "ε "+string(b.Epsilon), b)
			})
		}
		budgets = append(budgets, rows)
		comparisons = append(comparisons, tablePlan{
			fmt.Sprintf("ε_target and ε_f-DP: "+setting, p.Comparison.Label),
			[]func() ([]cell, error){a.comparisonCells}})
	}
	return slices.Concat(basics, budgets, comparisons)
}

func part[T any](into *T, compute func() (T, error)) func() error {
	return func() (err error) {
		*into, err = compute()
		return err
	}
}

func runParts(ctx context.Context, parts []func() error, o Options) error {
	bar := report.NewBar(o.Progress, "accounting", int64(len(parts)))
	p := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError().WithMaxGoroutines(max(o.Workers, 1))
	for _, part := range parts {
		p.Go(func(ctx context.Context) error {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			if err := part(); err != nil {
				return err
			}
			bar.Add(1)
			return nil
		})
	}
	err := p.Wait()
	bar.Close()
	return err
}
