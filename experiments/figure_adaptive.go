package experiments

import (
	"fmt"
	"slices"
	"strconv"

	"proactivedp/dp"
	"proactivedp/internal/decimal"
	"proactivedp/internal/report"
	"proactivedp/sim"
	"proactivedp/train"
)

// paid is what a run released whose sample sizes were not fixed beforehand.
type paid struct {
	Runs    []dp.Run            `json:"runs"` // by client
	Privacy train.PrivacyReport `json:"privacy"`
}

// paidFor accounts a finished run.
func paidFor(p *train.Prepared, result *sim.Result) *paid {
	out := paid{Privacy: p.ReleasedPrivacy(result)}
	for i := range result.Ledgers {
		out.Runs = append(out.Runs, result.Ledgers[i].Run())
	}
	return &out
}

// How far sizes adapt in the figure: beyond the differences in speed.
const adaptMost = 8

// adaptiveDelays are the permissible delays under which sizes adapt.
var adaptiveDelays = []string{"0", "1", "16"}

// adaptiveFigure is sample sizes that adapt to the clients' speeds, beside
// constant ones.
func (l laboratory) adaptiveFigure() Figure {
	return l.contestFigure("-adaptive", "Sample sizes that adapt to clients of unequal speed",
		func(f *frame) []contender {
			spec := l.with
			spec.Speeds = unequalSpeeds
			all := l.delays(f, spec, adaptiveDelays)
			spec.Adapt = adaptMost
			return append(all, l.delays(f, spec, adaptiveDelays)...)
		},
		adaptiveOutcome)
}

func adaptiveOutcome(f *frame, c *contest) (*outcome, error) {
	for i := range c.all {
		if c.all[i].spec.Adapt != 0 {
			c.all[i].name += ", adaptive"
		}
	}
	out, err := timeOutcome(f, c)
	if err != nil {
		return nil, err
	}
	fixed, err := c.fixedSizes(f)
	if err != nil {
		return nil, err
	}
	p := &out.picture
	p.Title = fmt.Sprintf("%s, %s: constant and adaptive sample sizes", f.data.Name, train.ModelTitle(c.all[0].spec.Model))
	p.Rows = [][]string{{c.noiseText(), "accuracy at the end", "to target", "speed-up", "K by client", "largest s", "θ", "ε per client", "per record"}}
	for i, s := range c.standings() {
		row := s.row(len(c.goal))
		row = []string{row[0], row[1], row[3], row[4]}
		worst := *fixed
		for seed, r := range c.runs[i] {
			if at := r.paidOr(fixed); seed == 0 || at.worse(&worst) {
				worst = *at
			}
		}
		p.Rows = append(p.Rows, append(row, worst.row()...))
	}
	p.Caption += fmt.Sprintf("\nAdaptive: a client takes s times its measured speed, at most %g times more or less; T and the step sizes stay. The last columns are of the seed that pays most per record, "+
		"for the sizes really run: θ the largest of a client, ε per client of the client that pays most, certified.", float64(adaptMost))
	out.table = c.records(f, slices.Concat(lookColumns, paidColumns), func(_, seed int, r *timed) (rows [][]string) {
		paid := r.paidOr(fixed).record()
		for j := range r.At {
			rows = append(rows, append(c.look(seed, r, j), paid...))
		}
		return rows
	})
	return out, nil
}

// paidOr is what the run paid, fixed if its sizes were.
func (t *timed) paidOr(fixed *paid) *paid {
	if t.Paid == nil {
		return fixed
	}
	return t.Paid
}

// fixedSizes is what a run of the first contender pays.
func (c *contest) fixedSizes(f *frame) (*paid, error) {
	p, err := c.all[0].spec.Prepare(f.data, nil)
	if err != nil {
		return nil, err
	}
	out := paid{Privacy: p.PlannedPrivacy()}
	for range p.Config.Clients() {
		out.Runs = append(out.Runs, p.Config.Run())
	}
	return &out, nil
}

// worse reports that p's release costs a record more than o's.
func (p *paid) worse(o *paid) bool {
	a, b := p.Privacy.Certified.PerRecord.EpsilonUpper, o.Privacy.Certified.PerRecord.EpsilonUpper
	return b != nil && (a == nil || *a > *b)
}

// sizes returns the least and the most that a client computed, the largest size
// and the largest θ of any.
func (p *paid) sizes() (least, most, largest int, theta float64) {
	least = p.Runs[0].Computed
	for _, r := range p.Runs {
		least, most = min(least, r.Computed), max(most, r.Computed)
		largest, theta = max(largest, r.Max), max(theta, r.Theta())
	}
	return least, most, largest, theta
}

// paidColumns is the header of record.
var paidColumns = []string{"grad_computations_min", "grad_computations_max", "largest_sample_size", "theta", "certified_epsilon_per_client_worst", "certified_epsilon_per_record"}

// record is sizes and the certified ε for a table.
func (p *paid) record() []string {
	least, most, largest, theta := p.sizes()
	certified := p.Privacy.Certified
	return []string{strconv.Itoa(least), strconv.Itoa(most), strconv.Itoa(largest), report.Number(theta),
		epsilonText(certified.PerClient.EpsilonUpper), epsilonText(certified.PerRecord.EpsilonUpper)}
}

// row is record for people.
func (p *paid) row() []string {
	least, most, largest, theta := p.sizes()
	k := strconv.Itoa(least)
	if most > least {
		k += "–" + strconv.Itoa(most)
	}
	certified := p.Privacy.Certified
	return []string{k, strconv.Itoa(largest), decimal.Up(theta, 3),
		epsilonAtMost(certified.PerClient.EpsilonUpper), epsilonAtMost(certified.PerRecord.EpsilonUpper)}
}
