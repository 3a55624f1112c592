package experiments

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"proactivedp/audit"
)

// A cell whose result is in the folder is not measured again. A cell with other options is measured.
func TestSurveyGoesOn(t *testing.T) {
	dir := t.TempDir()
	o := audit.DefaultOptions()
	o.Fault, o.Runs = audit.ReusedNoise, audit.MinRuns
	s := &survey{dir: dir, o: o, audits: 2}
	first, err := s.cell(t.Context(), o, 2)
	if err != nil {
		t.Fatal(err)
	}
	if first.Found != 2 || first.Size != 1 {
		t.Errorf("%+v", first)
	}
	first.By = "somebody else"
	s.cells = []AuditPower{first}
	o.Fault = audit.NoFault
	if _, err := s.cell(t.Context(), o, 1); err != nil {
		t.Fatal(err)
	}
	again := &survey{dir: dir, o: s.o, audits: 2}
	if err := again.read(); err != nil {
		t.Fatal(err)
	}
	got, err := again.cell(t.Context(), s.o, 2)
	if err != nil || got != first {
		t.Errorf("%+v, %v, want the cell that was written, %+v", got, err, first)
	}
	other := s.o
	other.Seed = 9
	again = &survey{dir: dir, o: other, audits: 2}
	if err := again.read(); err != nil || len(again.known) != 0 {
		t.Errorf("cells of another seed: %v, %v", again.known, err)
	}
}

// Files that a survey did not write are neither overwritten nor read.
func TestSurveyRefusesOthersFiles(t *testing.T) {
	for _, name := range []string{surveyReadme, surveyTable} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := AuditSurvey(t.Context(), dir, audit.DefaultOptions(), 1, nil); err == nil || !strings.Contains(err.Error(),
			name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	dir := t.TempDir()
	bad := strings.Join(surveyHeader, ",") + "\n" + "a,none,0,virtual,100,2,3,0,1,0,x\n"
	if err := os.WriteFile(filepath.Join(dir, surveyTable), []byte(bad), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := AuditSurvey(t.Context(), dir, audit.DefaultOptions(), 1, nil); err == nil || !strings.Contains(err.Error(),
		"line 2") {
		t.Errorf("three of two audits: %v", err)
	}
}

// For each fault, the page names the least obvious size whose power is surely at least 0.9, and the next
// smaller size.
func TestSurveyPage(t *testing.T) {
	s := &survey{o: audit.DefaultOptions(), cells: []AuditPower{
		{Fault: audit.NoFault, Runner: audit.Virtual, Runs: 2000, Audits: 50},
		{Fault: audit.LessNoise, Size: 0.8, Runner: audit.Virtual, Audits: 50, Found: 50, By: "noise in crowd"},
		{Fault: audit.LessNoise, Size: 0.95, Runner: audit.Virtual, Audits: 50, Found: 50, By: "noise in crowd"},
		{Fault: audit.LessNoise, Size: 0.99, Runner: audit.Virtual, Audits: 50, Found: 46},
		{Fault: audit.LessNoise, Size: 0.999, Runner: audit.Virtual, Audits: 50, Found: 3},
	}}
	row := s.row(audit.LessNoise)
	want := []string{"less-noise", audit.LessNoise.About(), audit.LessNoise.Unit(), "0.95", "50 of 50", "[0.928, 1.000]", "0.99",
		"46 of 50", "noise in crowd", "0 of 50"}
	if !slices.Equal(row, want) {
		t.Errorf("%q, want %q", row, want)
	}
	page := s.page()
	for _, want := range []string{"| virtual | 2000 | 0 of 50 | ≤ 0.072 |", "| less-noise |", "| add-remove-claim |"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q:\n%s", want, page)
		}
	}
}
