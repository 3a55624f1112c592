package trainer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"proactivedp/dp"
	"proactivedp/internal/testkit"
	"proactivedp/plan"
)

// The test binary is also the script that is run, and a program that is killed while its script runs:
//
//	trainer.test script FAULT TASK.json
//	trainer.test program DIR FAULT
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "script" {
		os.Exit(script(os.Args[2], os.Args[3]))
	}
	if len(os.Args) == 4 && os.Args[1] == "program" {
		t := trainerWith(os.Args[3], Options{Dir: os.Args[2], Stderr: os.Stderr})
		_, err := t.Private(context.Background(), privateTask(), "request", testBudget)
		fmt.Fprintln(os.Stderr, "the program was not killed:", err)
		os.Exit(3)
	}
	testkit.RunInMemory(m)
}

// trainerWith returns a trainer whose script has a fault. It does not read the test binary, as New does.
func trainerWith(fault string, o Options) *Trainer {
	if o.Limit == 0 {
		o.Limit = MaxLimit
	}
	return &Trainer{command: []string{os.Args[0], "script", fault}, digest: fault, o: o}
}

var testBudget = Budget{Epsilon: 1e4, Delta: 1e-5}

func privateTask() Task {
	return Task{Protocol: Protocol, Role: Private, Plan: NewPlan(1.25, 30, 1000, 120), MaxGradNorm: 1, LearningRate: 0.5, Scale: 1}
}

func publicTask(seed uint64) Task {
	return Task{Protocol: Protocol, Role: Public, Plan: NewPlan(0.25, 6, 500, 120), MaxGradNorm: 1, LearningRate: 0.5, Scale: 0.2,
		Seed: &seed}
}

// A fault is what a script does instead of its task. Rounds are what it reports.
type fault struct {
	rounds  func(p Plan) []Rounds // nil: those of the plan
	lines   func(rounds []string) []string
	after   func(w io.Writer) int // what it does after its lines; the exit status
	accept  bool
	limited bool // the time limit ends it
}

const metricLine = `{"metric": 0.75}`

func planned(p Plan) Rounds { return Rounds{p.NoiseMultiplier, p.SampleRate, p.Steps} }

// with changes the planned rounds.
func with(change func(r *Rounds)) func(Plan) []Rounds {
	return func(p Plan) []Rounds {
		r := planned(p)
		change(&r)
		return []Rounds{r}
	}
}

// then are lines after the rounds.
func then(more ...string) func([]string) []string {
	return func(rounds []string) []string { return append(rounds, more...) }
}

func exits(status int) func(io.Writer) int { return func(io.Writer) int { return status } }

func hangs(io.Writer) int {
	time.Sleep(time.Minute)
	return 0
}

// endless prints for as long as somebody reads.
func endless(text string) func(io.Writer) int {
	return func(w io.Writer) int {
		for {
			if _, err := io.WriteString(w, text); err != nil {
				return 0
			}
		}
	}
}

var more = with(func(r *Rounds) { r.Steps += 7 })

var faults = map[string]fault{
	"none":   {accept: true},
	"curve":  {lines: then(`{"curve": {"step": 60, "metric": 0.5}}`, metricLine), accept: true},
	"blanks": {lines: then("", "  ", metricLine), accept: true},
	"in-parts": {accept: true, rounds: func(p Plan) (all []Rounds) {
		r := planned(p)
		r.Steps = p.Steps / 4
		return []Rounds{r, r, r, r}
	}},
	"ten-digits":    {accept: true, rounds: with(func(r *Rounds) { r.SampleRate *= 1 + 4e-10; r.NoiseMultiplier *= 1 - 4e-10 })},
	"rate-of-torch": {accept: true, rounds: with(func(r *Rounds) { r.SampleRate = math.Floor(r.SampleRate*(1<<24)) / (1 << 24) })},
	"lower-rate":    {rounds: with(func(r *Rounds) { r.SampleRate -= 1e-7 })},
	"loud": {accept: true, after: func(io.Writer) int {
		_, _ = os.Stderr.Write(bytes.Repeat([]byte("x"), 3*MaxStderr))
		return 0
	}},

	"crash-at-once":    {lines: func([]string) []string { return nil }, after: exits(1)},
	"crash-in-between": {lines: then(), after: exits(1)},
	"crash-after":      {after: exits(1)},
	"killed": {lines: then(), after: func(io.Writer) int {
		p, _ := os.FindProcess(os.Getpid())
		_ = p.Kill()
		return hangs(nil)
	}},
	"silent":              {lines: func([]string) []string { return nil }},
	"hang":                {lines: func([]string) []string { return nil }, after: hangs, limited: true},
	"hang-after":          {after: hangs, limited: true},
	"hang-with-more":      {rounds: more, lines: then(), after: hangs, limited: true},
	"garbage":             {lines: then("Epoch 1/20: loss 0.69", metricLine)},
	"garbage-after":       {lines: then(metricLine, "Done.")},
	"binary":              {lines: then("\x00\x1b[31m\xff", metricLine)},
	"nan":                 {lines: then(`{"metric": NaN}`)},
	"infinity":            {lines: then(`{"metric": Infinity}`)},
	"overflow":            {lines: then(`{"metric": 1e999}`)},
	"metric-2":            {lines: then(`{"metric": 2}`)},
	"metric-negative":     {lines: then(`{"metric": -0.1}`)},
	"metric-null":         {lines: then(`{"metric": null}`)},
	"metric-text":         {lines: then(`{"metric": "0.75"}`)},
	"metric-twice":        {lines: then(metricLine, metricLine)},
	"metric-repeated-key": {lines: then(`{"metric": 0.1, "metric": 0.75}`)},
	"metric-none":         {lines: then()},
	"unknown-key":         {lines: then(`{"accuracy": 0.75}`, metricLine)},
	"two-keys":            {lines: then(`{"metric": 0.75, "curve": {"step": 1, "metric": 0.5}}`)},
	"cut-off":             {lines: then(`{"metric": 0.7`)},
	"no-rounds":           {rounds: func(Plan) []Rounds { return nil }},
	"no-steps": {lines: func([]string) []string {
		return []string{`{"rounds": {"noise_multiplier": 1, "sample_rate": 0.1}}`, metricLine}
	}},
	"fewer":           {rounds: with(func(r *Rounds) { r.Steps-- })},
	"more":            {rounds: more},
	"more-then-crash": {rounds: more, lines: then(), after: exits(1)},
	"more-after":      {rounds: more, lines: func(rounds []string) []string { return append([]string{metricLine}, rounds...) }},
	"more-noise":      {rounds: with(func(r *Rounds) { r.NoiseMultiplier *= 1.1 })},
	"less-noise":      {rounds: with(func(r *Rounds) { r.NoiseMultiplier *= 0.999 })},
	"no-noise":        {rounds: with(func(r *Rounds) { r.NoiseMultiplier = 0 })},
	"negative-noise":  {rounds: with(func(r *Rounds) { r.NoiseMultiplier = -1 })},
	"higher-rate":     {rounds: with(func(r *Rounds) { r.SampleRate *= 1.01 })},
	"rate-2":          {rounds: with(func(r *Rounds) { r.SampleRate = 2 })},
	"rate-0":          {rounds: with(func(r *Rounds) { r.SampleRate = 0 })},
	"negative-steps":  {rounds: with(func(r *Rounds) { r.Steps = -5 })},
	"too-many-steps":  {rounds: with(func(r *Rounds) { r.Steps = 2 * dp.MaxRounds })},
	"steps-overflow": {rounds: func(p Plan) []Rounds {
		r := planned(p)
		r.Steps = math.MaxInt
		return []Rounds{r, r}
	}},
	"one-of-many-differs": {rounds: func(p Plan) (all []Rounds) {
		for i := range p.Steps {
			r := planned(p)
			r.Steps = 1
			if i == 70 {
				r.NoiseMultiplier /= 2
			}
			all = append(all, r)
		}
		return all
	}},
	"many-lines":  {lines: then(slices.Repeat([]string{`{"curve": {"step": 1, "metric": 0.5}}`}, MaxLines)...)},
	"long-line":   {lines: then(`{"metric": 0.` + strings.Repeat("7", MaxLine) + "}")},
	"endless":     {after: endless(`{"curve": {"step": 1, "metric": 0.5}}` + "\n")},
	"endless-row": {after: endless("0")},
	"held-output": {after: func(io.Writer) int {
		child := exec.Command(os.Args[0], "script", "hang", os.Args[3])
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			return 1
		}
		return 0
	}},
}

// reported are the rounds that the script reports.
func (f fault) reported(p Plan) []Rounds {
	if f.rounds == nil {
		return []Rounds{planned(p)}
	}
	return f.rounds(p)
}

// script is the user's script.
func script(name, path string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		return 4
	}
	var task Task
	if err := json.Unmarshal(text, &task); err != nil || task.Validate() != nil {
		return 5
	}
	if name == "kills-program" {
		p, _ := os.FindProcess(os.Getppid())
		_ = p.Kill()
		return 0
	}
	f, ok := faults[name]
	switch {
	case ok:
	case name == "parent":
		_ = exec.Command(os.Args[0], "script", "child", path).Start()
		return hangs(nil)
	case name == "child":
		for range 6000 {
			beat, _ := os.OpenFile(path+".beats", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
			_, _ = beat.WriteString(".")
			_ = beat.Close()
			time.Sleep(10 * time.Millisecond)
		}
		return 0
	default:
		return 6
	}
	var lines []string
	for _, r := range f.reported(task.Plan) {
		line, _ := json.Marshal(Line{Rounds: &r})
		lines = append(lines, string(line))
	}
	if f.lines == nil {
		f.lines = then(metricLine)
	}
	for _, line := range f.lines(lines) {
		if _, err := fmt.Println(line); err != nil {
			return 0
		}
	}
	if f.after != nil {
		return f.after(os.Stdout)
	}
	return 0
}

// covers reports whether an event costs at least as much as what a script reported, as far as that has a
// meaning.
func covers(e dp.Event, f fault, p Plan) bool {
	total := 0.0
	for _, r := range f.reported(p) {
		// A number that agrees with the plan to nine digits is the plan's.
		if e.NoiseMultiplier > max(r.NoiseMultiplier, 0)*(1+1e-9) || e.SampleRate() < min(r.SampleRate, 1)*(1-1e-9) {
			return false
		}
		total += math.Max(0, float64(r.Steps))
	}
	return e.NoiseMultiplier == 0 || float64(e.Count) >= min(total, math.MaxInt) // a script is stopped at such a line
}

// In 100 private trainings with faults, or PROACTIVEDP_SWEEPS times as many, none is accepted wrongly, and no
// ε is lost: the ledger has every training that was started, with its whole plan and with everything that it reported, in the form that
// account --events reads. After a program that was killed, too.
func TestNoFaultLosesPrivacy(t *testing.T) {
	folders, each := 5*testkit.Sweeps(t), 20
	if testing.Short() {
		folders, each = 2, 10
	}
	var names []string
	for name, f := range faults {
		if !f.limited && name != "held-output" { // these take time, see below
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for folder := range folders {
		draw := rand.New(rand.NewPCG(43, uint64(folder)))
		t.Run(fmt.Sprint(folder), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var ran []string
			for i := range each {
				// Every fault is drawn once before one is drawn twice.
				name := names[(folder*each+i)%len(names)]
				switch {
				case i == each-1:
					name = []string{"hang", "hang-after", "hang-with-more", "held-output"}[folder%4]
				case draw.IntN(20) == 0:
					name = "kills-program"
				}
				ran = append(ran, name)
				runFault(t, dir, name)
				checkLedger(t, dir, ran)
				l, err := ReadLedger(dir)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := l.Left(t.Context(), testBudget); err != nil {
					refusedAfter(t, dir)
					dir, ran = t.TempDir(), nil
				}
			}
		})
	}
}

// runFault runs a private training with a fault.
func runFault(t *testing.T, dir, name string) {
	t.Helper()
	if name == "kills-program" {
		out, err := exec.Command(os.Args[0], "program", dir, name).CombinedOutput()
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != -1 {
			t.Fatalf("%s: %v: %s", name, err, out)
		}
		return
	}
	f, o := faults[name], Options{Dir: dir, Stderr: io.Discard}
	if f.limited {
		o.Limit = MinLimit
	}
	l, err := trainerWith(name, o).Private(t.Context(), privateTask(), "request", testBudget)
	if (err == nil) != f.accept {
		t.Fatalf("%s: accepted: %v: %v", name, err == nil, err)
	}
	if l == nil {
		t.Fatalf("%s: %v", name, err)
	}
	last := l.Stages[len(l.Stages)-1]
	if f.accept != (last.State == Finished) || f.accept && last.Result.Metric != 0.75 {
		t.Errorf("%s: %+v", name, last)
	}
}

// checkLedger checks a ledger on disk after trainings with these faults.
func checkLedger(t *testing.T, dir string, ran []string) {
	t.Helper()
	l, err := ReadLedger(dir)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(filepath.Join(dir, LedgerFile))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	h, err := plan.ReadHistory(file, dp.Poisson, "")
	if err != nil {
		t.Fatal(err)
	}
	events, err := h.Fixed()
	if err != nil || len(events) != len(ran) || len(l.Stages) != len(ran) || !slices.Contains(h.Notes, noteReported) {
		t.Fatalf("%d of %d trainings are in the ledger: %v, %q", len(events), len(ran), err, h.Notes)
	}
	p := privateTask().Plan
	for i, name := range ran {
		if !atLeast(events[i], p.Event()) || !covers(events[i], faults[name], p) {
			t.Errorf("%s: the ledger has %+v", name, events[i])
		}
		if f := faults[name]; f.accept && events[i].Alike(p.Event()) != true {
			t.Errorf("%s: the ledger has %+v, must have the plan", name, events[i])
		}
	}
}

// refusedAfter checks that nothing is trained when no ε holds any more.
func refusedAfter(t *testing.T, dir string) {
	t.Helper()
	before, err := os.ReadFile(filepath.Join(dir, LedgerFile))
	if err != nil {
		t.Fatal(err)
	}
	_, err = trainerWith("none", Options{Dir: dir}).Private(t.Context(), privateTask(), "request", testBudget)
	if _, spent := errors.AsType[*SpentError](err); !spent {
		t.Errorf("a training after one without noise: %v", err)
	}
	if after, err := os.ReadFile(filepath.Join(dir, LedgerFile)); err != nil || !bytes.Equal(before, after) {
		t.Errorf("a refused training changed the ledger: %v", err)
	}
}

// A proxy with a fault is an error too, and is not kept.
func TestFaultsOfProxies(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"none", "nan", "fewer", "less-noise", "crash-after", "no-rounds"} {
		dir := t.TempDir()
		result, err := trainerWith(name, Options{Dir: dir}).Public(t.Context(), publicTask(1))
		if (err == nil) != faults[name].accept {
			t.Errorf("%s: %+v, %v", name, result, err)
		}
		kept, err := filepath.Glob(filepath.Join(dir, TrialsFolder, "*[0-9a-f].json"))
		if done := len(kept) == 1; err != nil || done != faults[name].accept {
			t.Errorf("%s: kept %q, %v", name, kept, err)
		}
	}
}
