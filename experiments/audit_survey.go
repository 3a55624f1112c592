package experiments

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"proactivedp/audit"
	"proactivedp/internal/bounded"
	"proactivedp/internal/decimal"
	"proactivedp/internal/files"
	"proactivedp/internal/report"
	"proactivedp/internal/results"
	"proactivedp/internal/version"
)

// The files of a survey.
const (
	surveyTable  = "data.csv"
	surveyReadme = "README.md"
	surveyMark   = "<!-- Written by proactivedp audit. -->\n"
)

// AuditSurvey measures how well audits work: how often an audit finds each fault that package audit can plant, and
// how often an audit of the correct mechanism raises a false alarm. It makes the given number of audits for each
// fault and each size of the fault (how strong it is). It begins with the largest size and continues with smaller
// ones as long as at least half of the audits find the fault.
//
// The results are written to the folder dir: each measurement to a table as soon as it is made, and a page at the
// end. A measurement that dir already has, with the same options and the same build of the program, is not repeated.
// The survey itself sets the fields Fault, FaultSize and Runner of o for each measurement: trainings run in simulated
// time, and some of the audits are repeated with trainings in real time (audit.Hogwild). The field Exact is ignored:
// batches and noise are never drawn by exact arithmetic. show, unless it is nil, is called with every measurement.
func AuditSurvey(ctx context.Context, dir string, o audit.Options, audits int, show func(AuditPower)) error {
	o.Fault, o.FaultSize, o.Runner, o.Exact = audit.NoFault, 0, audit.Virtual, false
	if err := o.Validate(); err != nil {
		return err
	}
	if audits < 1 {
		return fmt.Errorf("audits = %d, must be at least 1", audits)
	}
	if _, err := report.HoldsOurs(dir, surveyReadme, surveyMark, "one of a survey"); err != nil {
		return err
	}
	if _, err := report.HoldsOurs(dir, surveyTable, strings.Join(surveyHeader, ","), "one of a survey"); err != nil {
		return err
	}
	s := &survey{dir: dir, o: o, audits: audits, show: show}
	if err := s.read(); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if err := s.measure(ctx); err != nil {
		return err
	}
	return files.Write(filepath.Join(dir, surveyReadme), files.Text(surveyMark+s.page()))
}

type survey struct {
	dir    string
	o      audit.Options
	audits int
	show   func(AuditPower)
	known  map[string]AuditPower // cells of this survey in the folder, by what was measured
	cells  []AuditPower
}

// measure measures all cells of the survey that are not known yet.
func (s *survey) measure(ctx context.Context) error {
	for _, fault := range audit.Faults() {
		sizes := fault.Sizes()
		if len(sizes) == 0 {
			sizes = []float64{0}
		}
		for _, size := range sizes {
			o := s.o
			o.Fault, o.FaultSize = fault, size
			cell, err := s.cell(ctx, o, s.audits)
			if err != nil {
				return err
			}
			if 2*cell.Found < cell.Audits {
				break
			}
		}
	}
	for _, fault := range audit.Faults() {
		if fault.OnWire() {
			continue
		}
		o := s.o
		o.Fault, o.Runner = fault, audit.Hogwild
		if _, err := s.cell(ctx, o, s.audits); err != nil {
			return err
		}
	}
	o := s.o
	o.Runs = audit.DefaultOptions().Runs
	_, err := s.cell(ctx, o, fullAudits)
	return err
}

// fullAudits is the number of audits of the correct mechanism with the default number of runs.
const fullAudits = 20

// cell measures a cell and writes it, unless it is known.
func (s *survey) cell(ctx context.Context, o audit.Options, audits int) (AuditPower, error) {
	asked := AuditPower{Fault: o.Fault, Size: o.FaultSize, Runner: o.Runner, Runs: o.Runs, Audits: audits}
	if sizes := o.Fault.Sizes(); o.FaultSize == 0 && len(sizes) > 0 {
		asked.Size = sizes[0]
	}
	p, known := s.known[s.record(asked)[0]]
	if !known {
		var err error
		if p, err = asked.measure(ctx, o); err != nil {
			return p, err
		}
	}
	s.cells = append(s.cells, p)
	if s.show != nil {
		s.show(p)
	}
	return p, files.Write(filepath.Join(s.dir, surveyTable), func(w io.Writer) error {
		records := [][]string{surveyHeader}
		for _, c := range s.cells {
			records = append(records, s.record(c))
		}
		return results.WriteTable(w, records)
	})
}

var surveyHeader = []string{"cell", "fault", "size", "runner", "runs", "audits", "found", "power_at_least",
	"power_at_most", "replay_found", "first_alarm"}

// record returns a cell as a line of the table. Its first field names everything that the cell depends
// on, including the build of the program.
func (s *survey) record(p AuditPower) []string {
	low, high := p.Interval()
	return []string{
		fmt.Sprintf("%s %v %s runs=%d audits=%d seed=%d delta=%v confidence=%v source=%s", p.Fault, p.Size, p.Runner,
			p.Runs, p.Audits, s.o.Seed, s.o.Delta, s.o.Confidence, version.Get().Source()),
		string(p.Fault), fmt.Sprint(p.Size), string(p.Runner), strconv.Itoa(p.Runs), strconv.Itoa(p.Audits),
		strconv.Itoa(p.Found), decimal.FixedDown(low, 3), decimal.FixedUp(high, 3), strconv.Itoa(p.Replayed), p.By,
	}
}

func (s *survey) read() error {
	s.known = map[string]AuditPower{}
	path := filepath.Join(s.dir, surveyTable)
	const most = 1 << 20 // bytes; a survey has a few kilobytes
	text, err := bounded.Within(s.dir, surveyTable, most)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	_, records, err := report.ParseCSV(text)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for i, r := range records {
		p, ok := parseCell(r)
		if !ok {
			return fmt.Errorf("%s: line %d is not a cell of a survey: remove the file to measure everything again", path,
				i+2)
		}
		if r[0] == s.record(p)[0] {
			s.known[r[0]] = p
		}
	}
	return nil
}

// parseCell is the inverse of survey.record.
func parseCell(r []string) (p AuditPower, ok bool) {
	if len(r) != len(surveyHeader) {
		return p, false
	}
	p = AuditPower{Fault: audit.Fault(r[1]), Runner: audit.Runner(r[3]), By: r[10]}
	var err error
	if p.Size, err = strconv.ParseFloat(r[2], 64); err != nil {
		return p, false
	}
	for _, part := range []struct {
		to   *int
		from string
	}{{&p.Runs, r[4]}, {&p.Audits, r[5]}, {&p.Found, r[6]}, {&p.Replayed, r[9]}} {
		if *part.to, err = strconv.Atoi(part.from); err != nil || *part.to < 0 {
			return p, false
		}
	}
	return p, p.Audits >= 1 && p.Found <= p.Audits
}
