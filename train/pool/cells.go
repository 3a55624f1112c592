// Package pool runs many trainings with their evaluations, called cells, and keeps the result of each cell in a
// folder. If it is interrupted, the next call finds the results in the folder and computes only the rest. As many
// cells run at the same time as the memory and Options.Workers allow, in this process or in others. Figures and
// searches of the program are made of cells.
//
// There are five kinds of cells. A trial is the accuracy at the end of a training. A curve is the accuracy after
// several numbers of gradients. A timed cell is the accuracy at several times of a clock. A window is the timeline of
// the first rounds. A utility is the accuracy that a model, trained without noise, keeps when noise is added to its
// parameters.
//
// The package also has the settings of the experiments ([Experiment]) in the paper "Proactive DP: A Multiple Target
// Optimization Framework for DP-SGD".
package pool

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/sourcegraph/conc/pool"

	"proactivedp/internal/cpu"
	"proactivedp/internal/decimal"
	"proactivedp/internal/memory"
	"proactivedp/internal/report"
	"proactivedp/sim"
	"proactivedp/train"
)

// Cell is one training with its evaluation, to be computed by [Run]. Its result is kept in a folder. The result is
// determined by Spec, Code, Kernels and the processor architecture (except for a cell with Alone), so equal cells are
// computed once, and a later call of Run finds the results of finished cells. Make cells with OfTrial, OfCurve,
// OfTimed, OfWindow and OfUtility. For a custom cell, set Spec, Code, Kernels, Cost, Run and Check.
type Cell struct {
	Spec any // the settings on which the result depends, as a value that can be written as JSON; part of the Key
	Code int // version of the code that computes the result, see train.Spec.CodeVersion
	// Kernels is the name of the arithmetic code in use (for one set of processor instructions), if the bits of the
	// result depend on it, and otherwise "": see train.Spec.Kernels.
	Kernels string
	// Source is the data set of a cell that OfTrial or another Of function made. It is nil for a custom cell, which
	// other processes cannot compute.
	Source *train.Source
	// Cost returns the estimated work and memory of computing the cell with the given number of goroutines.
	Cost func(workers int) (train.Cost, error)
	// Run computes the result, a value that can be written as JSON. It may call progress with the fraction of the
	// work that is done, in [0, 1], and it may write checkpoints and continue from one, as keep says.
	Run func(ctx context.Context, perf sim.Perf, progress func(part float64), keep train.Keep) (any, error)
	// Check returns an error if the text, a result from the folder, is incomplete. The function [Run] then
	// computes the cell again.
	Check func(json.RawMessage) error
	// Alone says that the result depends on real time, as with the runner hogwild. Then no other cell runs at the
	// same time. The result is stored like others, but computing it again gives a different result.
	Alone bool
}

// cellOf returns the cell of s on the data of source. The caller must set the functions Cost, Run and Check.
func cellOf(s cellSpec, source *train.Source) Cell {
	s.Data = source.Hash()
	spec := s.training()
	return Cell{Spec: s, Code: spec.CodeVersion(), Kernels: spec.Kernels(), Source: source}
}

// clockCellOf does the same as cellOf, for a training on a virtual or real clock. With a real clock,
// no other cell may run at the same time, and other machines do not use the result.
func clockCellOf(s cellSpec, source *train.Source) Cell {
	alone := s.Train.Runner == train.HogwildRunner
	if alone {
		s.Machine = cpu.Describe()
	}
	c := cellOf(s, source)
	c.Alone = alone
	return c
}

// CostOf returns an estimate of the work and the memory of one training of spec on the data of source. evaluations is
// how often its model is evaluated, and workers is the number of goroutines that compute gradients. Call it in the
// function Cell.Cost of a custom cell.
func CostOf(source *train.Source, spec train.Spec, evaluations, workers int) (train.Cost, error) {
	p, err := source.Prepare(spec)
	if err != nil {
		return train.Cost{}, err
	}
	return p.Cost(evaluations, workers), nil
}

// Key returns a hash of everything on which the result of the cell depends: its settings, the version of the code,
// and the kernels (arithmetic code) and the processor architecture of this machine. Run stores the result in the
// folder under this key.
func (c Cell) Key() (string, error) { return c.keyOn(cpu.Arch()) }

// usualArch is the architecture that is not part of keys, because keys had no architecture at first
// and must not change.
const usualArch = "amd64"

// keyOn returns the cell's key on the architecture arch. The architecture is part of the key
// because results on other architectures differ in their last bits.
func (c Cell) keyOn(arch string) (string, error) {
	if arch == usualArch {
		arch = ""
	}
	text, err := json.Marshal(struct {
		Version int    `json:"version"`
		Spec    any    `json:"spec"`
		Kernels string `json:"kernels,omitempty"`
		Arch    string `json:"arch,omitempty"`
	}{c.Code, c.Spec, c.Kernels, arch})
	if err != nil {
		return "", fmt.Errorf("cell: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), nil
}

// Spent says how much work it took to get the results of cells (trainings with their evaluations).
type Spent struct {
	Computed int // how many cells Run computed; the other results were in the folder or are those of equal cells
	// Time is how long computing the cells took, summed over all cells, including the time that earlier calls took
	// for results in the folder. Cells that other processes computed count as 0.
	Time time.Duration
}

// Run returns the result of every cell (a training with its evaluation) as JSON, in the order of the cells, and the
// work that they took. [Decode] reads a result. Run computes only cells whose results are not in o.Folder. If ctx is
// cancelled or a cell fails, Run stops the running cells and returns an error. Finished cells stay in the folder, so
// that the next call does not compute them again.
func Run(ctx context.Context, cells []Cell, o Options) ([]json.RawMessage, Spent, error) {
	spent, stored := Spent{}, store{o.Folder}
	if err := stored.make(); err != nil {
		return nil, spent, err
	}
	keys := make([]string, len(cells))
	first := map[string]int{} // the first cell with each key; it computes the result for all of them
	results := make([]json.RawMessage, len(cells))
	var todo []int
	damaged := 0
	for i, c := range cells {
		key, err := c.Key()
		if err != nil {
			return nil, spent, err
		}
		keys[i] = key
		if _, seen := first[key]; seen {
			continue
		}
		first[key] = i
		switch results[i], err = stored.load(key, c.Check); {
		case errors.Is(err, errDamaged):
			damaged++
		case err != nil:
			return nil, spent, err
		}
		if results[i] == nil {
			todo = append(todo, i)
		} else {
			spent.Time += stored.took(key)
		}
	}
	if damaged > 0 && o.Progress != nil {
		fmt.Fprintf(o.Progress, "damaged, so computed again: %s in %s\n", decimal.Many(damaged, "training"), o.Folder)
	}
	took, err := o.compute(ctx, cells, keys, todo, results)
	if err != nil {
		return nil, spent, err
	}
	for i, key := range keys {
		results[i] = results[first[key]]
	}
	return results, Spent{len(todo), spent.Time + took}, nil
}

// memoryLimit is how many bytes the cells that run at the same time may take together if no limit is
// given. Together with the data and the program, this stays below 4 GiB.
const memoryLimit = 3 << 30

// largeCell is the memory in bytes of a cell above which it is freed at once.
const largeCell = 1 << 28

// budget returns how much memory the cells may take together. It returns an error if the largest
// cell does not fit.
func (o Options) budget(largest int64) (int64, error) {
	limit := memory.Given(o.Memory)
	if err := limit.Check(largest); err != nil {
		return 0, fmt.Errorf("the largest cell: %w", err)
	}
	if o.Memory > 0 {
		return limit.Left(), nil
	}
	return min(memoryLimit, limit.Left()), nil
}

func (o Options) compute(ctx context.Context, cells []Cell, keys []string, todo []int, results []json.RawMessage) (
	time.Duration, error,
) {
	if len(todo) == 0 {
		return 0, nil // all are stored from an earlier call
	}
	b := batch{store: store{o.Folder}, cells: cells, keys: keys, results: results, costs: make([]train.Cost, len(cells)),
		total: len(todo)}
	workers := max(o.Workers, 1)
	work := 0.0
	for _, i := range todo {
		c, err := cells[i].Cost(1)
		if err != nil && o.Scale > 0 && o.Scale < 1 {
			return 0, fmt.Errorf("at scale = %v: %w", o.Scale, err)
		}
		if err != nil {
			return 0, err
		}
		b.costs[i] = c
		work += c.Work
	}
	// The longest cells come first. So the last ones, for which other workers wait, are short.
	slices.SortStableFunc(todo, func(i, j int) int { return cmp.Compare(b.costs[j].Work, b.costs[i].Work) })
	b.bar = report.NewBar(o.Progress, b.described(), int64(work))
	defer b.bar.Close()
	if o.Elsewhere != nil {
		left, err := b.away(ctx, o.Elsewhere, todo)
		if err != nil {
			return 0, b.stopped(err)
		}
		todo = left
	}
	largest := b.largest(todo)
	budget, err := o.budget(largest)
	if err != nil {
		return 0, err
	}
	var small, large, alone []int // those that fit in memory together, those that do not, and those that must run alone
	for _, i := range todo {
		switch {
		case cells[i].Alone:
			alone = append(alone, i)
		case b.costs[i].Memory <= budget/int64(workers):
			small = append(small, i)
		default:
			large = append(large, i)
		}
	}
	err = b.run(ctx, small, workers, budget/int64(workers), 1)
	if err == nil {
		parallel := int(max(budget/largest, 1))
		err = b.run(ctx, large, parallel, budget/int64(parallel), workers/parallel)
	}
	if err == nil {
		err = b.run(ctx, alone, 1, budget, workers)
	}
	return b.took, b.stopped(err)
}

// stopped returns err with the number of cells that are done.
func (b *batch) stopped(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("stopped with %d of %d trainings done, %s: %w", b.done, b.total, b.store.kept(), err)
}

// largest returns the largest memory that one of the cells with these numbers needs.
func (b *batch) largest(numbers []int) int64 {
	largest := int64(1)
	for _, i := range numbers {
		largest = max(largest, b.costs[i].Memory)
	}
	return largest
}

// batch computes the cells that are not stored.
type batch struct {
	store   store
	cells   []Cell
	keys    []string
	costs   []train.Cost
	results []json.RawMessage
	bar     *report.Bar

	mu          sync.Mutex
	done, total int
	took        time.Duration
}

// run computes the cells with these numbers, parallel cells at the same time. Each gets as many
// workers as its memory allows, at most the given number.
func (b *batch) run(ctx context.Context, numbers []int, parallel int, memory int64, workers int) error {
	p := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError().WithMaxGoroutines(parallel)
	for _, i := range numbers {
		p.Go(func(ctx context.Context) error {
			given, err := b.staff(i, memory, workers)
			if err != nil {
				return err
			}
			return b.one(ctx, i, given)
		})
	}
	return p.Wait()
}

// staff returns how many workers a cell can have within the memory: at least one and at most the
// given number.
func (b *batch) staff(i int, memory int64, workers int) (int, error) {
	for ; workers > 1; workers-- {
		c, err := b.cells[i].Cost(workers)
		if err != nil {
			return 0, err
		}
		if c.Memory <= memory {
			break
		}
	}
	return workers, nil
}

func (b *batch) one(ctx context.Context, i, workers int) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	shown := int64(0)
	progress := func(part float64) {
		done := int64(part * b.costs[i].Work)
		b.bar.Add(done - shown)
		shown = done
	}
	keep := b.store.keep(b.keys[i])
	took := b.store.before(b.keys[i], keep.From)
	begun := time.Now()
	result, err := b.cells[i].Run(ctx, sim.Perf{Workers: workers}, progress, keep)
	took += time.Since(begun)
	if keep.From != nil {
		err = errors.Join(err, keep.From.Close())
	}
	if err = errors.Join(err, b.store.setTook(b.keys[i], took)); err != nil {
		return err
	}
	text, err := b.store.save(b.keys[i], result, took)
	if err != nil {
		return err
	}
	if err := b.store.forget(b.keys[i]); err != nil {
		return err
	}
	if b.costs[i].Memory >= largeCell {
		runtime.GC() // otherwise the next cell's memory would be added to this one's
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.results[i] = text
	b.done++
	b.took += took
	b.bar.Describe(b.described())
	progress(1)
	return nil
}

// described returns the text of the progress bar.
func (b *batch) described() string { return fmt.Sprintf("training %d/%d", b.done, b.total) }

// Decode reads the JSON result of one cell, as [Run] returns it, as a value of type T. T is the result type of the
// cell's kind, such as [Trial] or [Curve].
func Decode[T any](text json.RawMessage) (T, error) {
	var out T
	if err := json.Unmarshal(text, &out); err != nil {
		return out, fmt.Errorf("finished cell: %w", err)
	}
	return out, nil
}

// DecodeAll reads the JSON results of several cells of the same kind, as [Run] returns them, as values of type T,
// such as [Trial] or [Curve]. The order is that of texts.
func DecodeAll[T any](texts []json.RawMessage) ([]T, error) {
	out := make([]T, len(texts))
	for i, text := range texts {
		var err error
		if out[i], err = Decode[T](text); err != nil {
			return nil, err
		}
	}
	return out, nil
}
