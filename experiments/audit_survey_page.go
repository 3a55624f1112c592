package experiments

import (
	"fmt"
	"runtime"
	"time"

	"proactivedp/audit"
	"proactivedp/internal/cpu"
	"proactivedp/internal/decimal"
	"proactivedp/internal/report"
	"proactivedp/internal/version"
)

// page returns the README.md of the survey, as Markdown.
func (s *survey) page() string {
	var p report.Page
	p.Title("What an audit finds")
	p.Text("Measured on %s by revision %s, on %s with %s. Each audit has %d runs and another "+
		"seed, from %d upwards. The confidence of an audit is %.10g %%, over all its bounds and checks together, and δ = %v.",
		time.Now().UTC().Format(time.DateOnly), version.Get().Source(), cpu.Describe(), runtime.Version(),
		s.o.Runs, s.o.Seed, 100*s.o.Confidence, s.o.Delta)
	p.Section("False alarms")
	p.Text("These audits test the correct mechanism, so every alarm is false. At the stated confidence, one false alarm in %.0f audits is allowed. "+
		"The last column counts the false alarms of the replay, which computes each update again from the seeds.", 1/(1-s.o.Confidence))
	var rows [][]string
	for _, c := range s.cells {
		if c.Fault == audit.NoFault {
			_, high := c.Interval()
			rows = append(rows, []string{string(c.Runner), fmt.Sprint(c.Runs),
				fmt.Sprintf("%d of %d", c.Found, c.Audits), "≤ " + decimal.FixedUp(high, 3),
				fmt.Sprintf("%d of %d", c.Replayed, c.Audits)})
		}
	}
	p.Table([]string{"runner", "runs", "false alarms", "95 % interval", "of the replay"}, rows)
	p.Section("Faults")
	p.Text("For these audits, a fault was planted on purpose. The table shows the smallest tried size of each fault that " +
		"audits find with a power of at least 0.9: the lower end of the 95 %% interval (Clopper and Pearson) is " +
		"above 0.9. The column “finer” has the next smaller size that was tried. All sizes are in [data.csv](data.csv).")
	p.Text("The first alarm is by a check that sees all messages, but not the seeds. The last column counts the audits in " +
		"which the replay, which knows the seeds, also found a difference, up to the first alarm.")
	rows = nil
	for _, f := range audit.Faults()[1:] {
		rows = append(rows, s.row(f))
	}
	p.Table([]string{"fault", "what is wrong", "a size is", "found", "audits", "95 % interval", "finer", "audits",
		"first alarm", "replay"}, rows)
	p.Section("Free-running goroutines")
	p.Text("In these audits each client runs in its own goroutine (runner `hogwild`), with each fault at its most obvious size. " +
		"Faults of adapted batch sizes, of clients that leave, and of lost or repeated messages are missing, because " +
		"only the virtual clock simulates these.")
	rows = nil
	for _, c := range s.cells {
		if c.Runner == audit.Hogwild && c.Fault != audit.NoFault {
			low, _ := c.Interval()
			rows = append(rows, []string{string(c.Fault), c.sized(), fmt.Sprintf("%d of %d", c.Found, c.Audits),
				"≥ " + decimal.FixedDown(low, 3), c.By})
		}
	}
	p.Table([]string{"fault", "size", "audits", "95 % interval", "first alarm"}, rows)
	return p.String()
}

// row returns the row of a fault: the smallest size that is found, and the next smaller one.
func (s *survey) row(f audit.Fault) []string {
	unit := f.Unit()
	if unit == "" {
		unit = "–"
	}
	var found, finer *AuditPower
	for i := range s.cells {
		c := &s.cells[i]
		if c.Fault != f || c.Runner != audit.Virtual {
			continue
		}
		if c.Shown() {
			found, finer = c, nil
		} else if finer == nil {
			finer = c
		}
	}
	row := []string{string(f), f.About(), unit, "–", "–", "–", "–", "–", "–", "–"}
	if found != nil {
		low, high := found.Interval()
		row[3], row[4] = found.sized(), fmt.Sprintf("%d of %d", found.Found, found.Audits)
		row[5] = fmt.Sprintf("[%s, %s]", decimal.FixedDown(low, 3), decimal.FixedUp(high, 3))
		row[8], row[9] = found.By, fmt.Sprintf("%d of %d", found.Replayed, found.Audits)
	}
	if finer != nil {
		row[6], row[7] = finer.sized(), fmt.Sprintf("%d of %d", finer.Found, finer.Audits)
	}
	return row
}

// sized formats the size of p's fault. For a fault without a size it returns "found".
func (p AuditPower) sized() string {
	if p.Fault.Unit() == "" {
		return "found"
	}
	return fmt.Sprint(p.Size)
}
