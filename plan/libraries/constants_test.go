package libraries

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"proactivedp/dp"
	"proactivedp/dp/pld"
	"proactivedp/dp/rdp"
	"proactivedp/plan"
)

// manyReleases returns the releases of plans and of rates that have nothing round in common.
func manyReleases(t *testing.T) map[string]Release {
	t.Helper()
	all := releases(t)
	for _, r := range []plan.Request{
		{N: 100, Epochs: 2, Epsilon: 8, Delta: 1e-3, SampleSize: 3, Method: plan.PLD},
		{N: 101, Epochs: 2, Epsilon: 8, Delta: 1e-3, SampleSize: 100, Method: plan.PLD},
		{N: 1009, Epochs: 3, Epsilon: 4, Delta: 1e-4, SampleSize: 64, Method: plan.PLD},
		{N: 50000, Epochs: 1, Epsilon: 3, Delta: 1e-5, SampleSize: 500, Method: plan.PLD},
	} {
		p, err := plan.Solve(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if all[fmt.Sprintf("n%d-s%d", r.N, r.SampleSize)], err = OfPlan(p); err != nil {
			t.Fatal(err)
		}
	}
	for _, rate := range []float64{1, 0.7, 1. / 3, 0.01} {
		e := poisson(2, rate, 60)
		b, err := rdp.Accountant{}.Epsilon(t.Context(), []dp.Event{e}, 1e-5)
		if err != nil {
			t.Fatal(err)
		}
		if all[fmt.Sprintf("rate%v", rate)], err = OfEvents([]dp.Event{e}, b); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// phased returns a training with three kinds of rounds of one data set, as a person could run it: noise, batch size and
// steps change. The rate of the last one is no multiple of 2^-24.
func phased(t *testing.T) Release {
	t.Helper()
	of := func(sigma float64, size, count int) dp.Event {
		return dp.Event{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: sigma, SampleSize: size, DatasetSize: 1000, Count: count}
	}
	events := []dp.Event{of(2, 50, 30), of(1.5, 50, 20), of(1.5, 77, 7)}
	b, err := pld.Accountant{}.Epsilon(t.Context(), events, 1e-5)
	if err != nil {
		t.Fatal(err)
	}
	r, err := OfEvents(events, b)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// constant returns the number of a line NAME = number.
func constant(t *testing.T, text, name string) float64 {
	t.Helper()
	found := regexp.MustCompile(`(?m)^`+name+` = (\S+)  # `).FindAllStringSubmatch(text, -1)
	if len(found) != 1 {
		t.Fatalf("%d lines define %s, want one", len(found), name)
	}
	x, err := strconv.ParseFloat(found[0][1], 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return x
}

// rateOf is the rate that code in a format must sample with: that of the release, or, where
// the library draws with random numbers of 24 bits, the multiple of 2^-24 below it.
func rateOf(f Format, e dp.Event) float64 {
	if writers[f].bits > 0 {
		return math.Floor(e.SampleRate()*(1<<24)) / (1 << 24)
	}
	return e.SampleRate()
}

// The numbers in the code are those of the plan, once each, and no line computes a rate, a
// batch size or noise from the length of a data set.
func TestCodeHasTheNumbersOfThePlan(t *testing.T) {
	harmless := regexp.MustCompile(`draws\.random\(len\(features\)\) < sample_rate|` +
		`rounds\(len\(features\)\)|len\(chosen\) == 0|split\(round_key, len\(leaves\)\)`)
	for name, r := range manyReleases(t) {
		r.Bound.DeltaLower /= 2 // as if δ were what was asked
		for _, f := range Formats() {
			if f == LaTeX {
				continue
			}
			c, err := Write(f, r)
			if err != nil {
				t.Fatalf("%s for %s: %v", f, name, err)
			}
			size := 1.
			if r.Event.DatasetSize != 0 {
				size = float64(r.Event.SampleSize)
			}
			for constantName, want := range map[string]float64{
				"NOISE_MULTIPLIER": r.Event.NoiseMultiplier, "SAMPLE_RATE": rateOf(f, r.Event),
				"EXPECTED_BATCH_SIZE": size, "STEPS": float64(r.Event.Count), "DELTA": r.Bound.DeltaUpper,
			} {
				if constantName == "DELTA" && writers[f].complete != "" {
					continue // the short code has no use for it
				}
				if got := constant(t, c.Text, constantName); got != want {
					t.Errorf("%s for %s: %s = %v, want %v", f, name, constantName, got, want)
				}
			}
			for line := range strings.Lines(c.Text) {
				if strings.Contains(line, "len(") && !harmless.MatchString(line) {
					t.Errorf("%s for %s: a length decides something: %s", f, name, line)
				}
			}
		}
	}
}

// The attack of Opacus' issues 571 and 819: one record more, or any other number, must change
// neither noise nor rate nor what a sum is divided by, and must not be refused either. All code is
// run with stand-ins for the libraries, which do as these do.
func TestOneMoreRecordChangesNothing(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3")
	}
	type run struct {
		Used     [][]*float64
		Recorded [][]float64
		Error    string
	}
	type job struct {
		name  string
		f     Format
		r     Release
		sizes []int
	}
	var jobs []job
	var asked [][]any
	folder := t.TempDir()
	all := manyReleases(t)
	all["phases"] = phased(t)
	for name, r := range all {
		if r.Event.Count > 2000 { // as long as others, and no other code
			continue
		}
		n := r.Event.DatasetSize
		if n == 0 {
			n = 10_000
		}
		for _, f := range []Format{Opacus, OpacusShort, TFPrivacy, TFPrivacyShort, JAXPrivacy, JAXPrivacyShort, Flower} {
			if f == Flower && len(r.More) > 0 {
				continue
			}
			c, err := Write(f, r)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(folder, name+string(f)+".py")
			if err := os.WriteFile(path, []byte(c.Text), 0o666); err != nil {
				t.Fatal(err)
			}
			sizes := []int{n, n + 1, n - 1, 2*n + 1, 99}
			jobs, asked = append(jobs, job{name, f, r, sizes}), append(asked, []any{f, path, sizes})
		}
	}
	text, err := json.Marshal(asked)
	if err != nil {
		t.Fatal(err)
	}
	attack := exec.CommandContext(t.Context(), python, filepath.Join("testdata", "attack.py"))
	attack.Stdin, attack.Stderr = bytes.NewReader(text), os.Stderr
	out, err := attack.Output()
	if err != nil {
		t.Fatal(err)
	}
	var results [][]run
	if err := json.Unmarshal(out, &results); err != nil || len(results) != len(jobs) {
		t.Fatalf("%d results of %d, %v", len(results), len(jobs), err)
	}
	for i, j := range jobs {
		if len(results[i]) != len(j.sizes) {
			t.Errorf("%s for %s: %d runs, want %d", j.f, j.name, len(results[i]), len(j.sizes))
			continue
		}
		phases := j.r.phases()
		for k, got := range results[i] {
			if got.Error != "" || len(got.Used) != len(phases) {
				t.Errorf("%s for %s: %d records: %d kinds of steps, error %q", j.f, j.name, j.sizes[k], len(got.Used),
					got.Error)
				continue
			}
			var recorded [][]float64
			for p, e := range phases {
				steps, size := float64(e.Count), float64(e.SampleSize)
				if j.f == Flower { // the server counts the rounds
					steps = 1
				}
				if e.DatasetSize == 0 {
					size = 1
				}
				want := []float64{e.NoiseMultiplier, 1, size, rateOf(j.f, e), steps}
				recorded = append(recorded, []float64{want[0], want[3], want[4]})
				for at, x := range got.Used[p] {
					if x == nil && at == 2 && (j.f == TFPrivacy || j.f == JAXPrivacy) { // these divide by nothing
						continue
					}
					if x == nil || *x != want[at] {
						t.Errorf("%s for %s: %d records: number %d of a step of kind %d is not %v", j.f, j.name, j.sizes[k], at, p,
							want[at])
					}
				}
			}
			if got.Recorded != nil && !slices.EqualFunc(got.Recorded, recorded, slices.Equal) {
				t.Errorf("%s for %s: %d records: recorded %v, want %v", j.f, j.name, j.sizes[k], got.Recorded, recorded)
			}
		}
	}
}

// Code for several kinds of rounds spends the ε that it claims. The training is run with stand-ins, and the accountant of
// this program gets what their accountants recorded: the history of Opacus and the event of dp_accounting.
func TestPhasesSpendTheirEpsilon(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3")
	}
	r := phased(t)
	for _, f := range []Format{Opacus, TFPrivacy} {
		c, err := Write(f, r)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "code.py")
		if err := os.WriteFile(path, []byte(c.Text), 0o666); err != nil {
			t.Fatal(err)
		}
		attack := exec.CommandContext(t.Context(), python, filepath.Join("testdata", "attack.py"))
		attack.Stdin = strings.NewReader(fmt.Sprintf("[[%q, %q, [1000]]]", f, path))
		out, err := attack.Output()
		if err != nil {
			t.Fatal(err)
		}
		var ran [][]struct{ Recorded [][]float64 }
		if err := json.Unmarshal(out, &ran); err != nil {
			t.Fatal(err)
		}
		var events []dp.Event
		for _, entry := range ran[0][0].Recorded {
			events = append(events, poisson(entry[0], entry[1], int(entry[2])))
		}
		b, err := pld.Accountant{}.Epsilon(t.Context(), events, r.Bound.DeltaUpper)
		// The rate of Opacus is rounded down by at most 2^-24, so its ε is a little smaller.
		if err != nil || len(events) != 3 || b.EpsilonUpper > r.Bound.EpsilonUpper || b.EpsilonUpper < 0.999*r.Bound.EpsilonLower {
			t.Errorf("%s: %d kinds of rounds cost ε ≤ %v, %v; the code claims %v", f, len(events), b.EpsilonUpper, err,
				r.Bound.EpsilonUpper)
		}
	}
}

// Every export says which sampling its ε is for, and that shuffled batches are another.
func TestCodeSaysThatShufflingIsNotCovered(t *testing.T) {
	fixed := Release{Event: dp.Event{Sampling: dp.FixedSize, Adjacency: dp.ReplaceOne, NoiseMultiplier: 1,
		SampleSize: 1, DatasetSize: 10, Count: 1}, Bound: dp.Bound{Kind: dp.Upper, Accountant: "rdp",
		Sampling: dp.FixedSize, Adjacency: dp.ReplaceOne}}
	all := manyReleases(t)
	all["fixed"] = fixed
	for name, r := range all {
		codes, err := All(r)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range codes {
			head := c.Text
			if c.Format != LaTeX {
				head, _, _ = strings.Cut(head[3:], `"""`)
			}
			head = strings.Join(strings.Fields(strings.ReplaceAll(head, "\n%", "\n")), " ")
			for _, want := range []string{"holds for " + string(r.Event.Sampling) + " sampling", "does NOT hold",
				"shuffle=True",
				"proactivedp account --sampling shuffle"} {
				if !strings.Contains(head, want) {
					t.Errorf("%s for %s does not say %q:\n%s", c.Format, name, want, head)
				}
			}
			public := regexp.MustCompile(`N = \d+ records\. This number is public|number of records \$N\$ is public`)
			if stated := r.Event.DatasetSize != 0; public.MatchString(head) != stated {
				t.Errorf("%s for %s: says that N is public: %v, want %v:\n%s", c.Format, name, !stated, stated, head)
			}
		}
	}
}

// The LaTeX of shuffled batches does not say that its ε does not hold for them, and has no letters
// that LaTeX needs a package for.
func TestLaTeXOfShuffledBatches(t *testing.T) {
	e := dp.Event{Sampling: dp.Shuffle, Adjacency: dp.ZeroOut, NoiseMultiplier: 1, Rate: 0.1, Count: 10}
	text := writeLaTeX(Release{Event: e, Bound: dp.Bound{Kind: dp.Upper, Accountant: "pld", Sampling: dp.Shuffle,
		Adjacency: dp.ZeroOut, EpsilonUpper: 1, DeltaUpper: 1e-5}}).Text
	if strings.Contains(text, "does NOT hold") || !strings.Contains(text, "This ε holds for batches that are cut") {
		t.Errorf("the first lines are of another sampling: %s", text)
	}
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "%") && strings.Contains(line, "ε") {
			t.Errorf("%q has an ε that is not in mathematics", line)
		}
	}
}
