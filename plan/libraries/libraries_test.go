package libraries

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"proactivedp/dp"
	"proactivedp/dp/pld"
	"proactivedp/plan"
	"proactivedp/rng"
)

// releases are releases of each kind that code is written for.
func releases(t *testing.T) map[string]Release {
	t.Helper()
	all := map[string]Release{}
	for name, r := range map[string]plan.Request{
		"closed": {N: 60000, Delta: 1. / 60000, Epochs: 6, Epsilon: 0.15},
		"pld":    {N: 50000, Epochs: 10, Epsilon: 3, Delta: 1e-5, Method: plan.PLD},
		"shared": {N: 8844, Delta: 1. / 8844, Epochs: 5, Epsilon: 0.25, Clients: 5, Shared: true},
	} {
		p, err := plan.Solve(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if all[name], err = OfPlan(p); err != nil {
			t.Fatal(err)
		}
	}
	e := poisson(1.1, 0.004, 10000)
	b, err := pld.Accountant{}.Epsilon(t.Context(), []dp.Event{e}, 1e-5)
	if err != nil {
		t.Fatal(err)
	}
	if all["rate"], err = OfEvents([]dp.Event{e}, b); err != nil {
		t.Fatal(err)
	}
	return all
}

// Code has every number of the release, says what is claimed, how it was tried, and what
// differs: what is sampled, the adjacency, and how the step size is carried over.
func TestCodeSaysWhatItRuns(t *testing.T) {
	for name, r := range releases(t) {
		for _, f := range Formats() {
			c, err := Write(f, r)
			if err != nil {
				t.Fatalf("%s for %s: %v", f, name, err)
			}
			want := []string{"add-or-remove"}
			if f == LaTeX {
				want = append(want, `\varepsilon`, `\sigma`, "$T = ", r.Bound.Accountant)
			} else {
				want = append(want, "NOISE_MULTIPLIER = ", "STEPS = ", "Poisson", "SUM of clipped "+
					"gradients", "Tried:", c.Library, "ε ≤")
				if writers[f].complete == "" {
					want = append(want, "if __name__", "\nDELTA = ")
				} else if strings.Contains(c.Text, "\nDELTA = ") {
					t.Errorf("%s for %s has a constant that it does not use", f, name)
				}
			}
			for _, w := range want {
				if !strings.Contains(c.Text, w) {
					t.Errorf("%s for %s has no %q", f, name, w)
				}
			}
			if f != LaTeX && len(c.Caveats) < 3 {
				t.Errorf("%s for %s: caveats %q", f, name, c.Caveats)
			}
			if strings.Contains(c.Text, "# ---") {
				t.Errorf("%s for %s has a line that ends constants", f, name)
			}
		}
	}
}

// A federation has the clients that the bound counts: five that hold one's records cost more
// than a plan for three says.
func TestFlowerRunsTheClientsOfThePlan(t *testing.T) {
	shared := releases(t)["shared"]
	shared.Holders, shared.Clients = 3, 3
	disjoint, err := plan.Solve(t.Context(), plan.Request{N: 1000, Epochs: 2, SampleSize: 50, Epsilon: 3, Delta: 1e-5, Clients: 20})
	if err != nil {
		t.Fatal(err)
	}
	many, err := OfPlan(disjoint)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		r    Release
		want []string
	}{
		"shared": {shared, []string{"\nCLIENTS = 3  # all of them hold the same records\n", "that 3 clients hold"}},
		"one": {releases(t)["closed"],
			[]string{"\nCLIENTS = 5  # ", "no record in common", "that ONE client holds"}},
		"disjoint": {many, []string{"\nCLIENTS = 20  # with no record in common\n", "that ONE client holds"}},
	} {
		code, err := Write(Flower, c.r)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(code.Text, want) {
				t.Errorf("%s has no %q", name, want)
			}
		}
		if strings.Count(code.Text, "\nCLIENTS = ") != 1 {
			t.Errorf("%s has not one number of clients", name)
		}
	}
}

// Noise is of more than the 32 bits that JAX takes of a seed, and a model of TensorFlow releases
// nothing that no noise was added to.
func TestCodeOfOneProcessKeepsItsSecrets(t *testing.T) {
	r := releases(t)["closed"]
	for f, want := range map[Format][]string{
		JAXPrivacy: {"secrets.token_bytes(8)", `jax.random.wrap_key_data(words, impl="threefry2x32")`},
		JAXPrivacyShort: {"secrets.token_bytes(8)", `jax.random.wrap_key_data(words, impl="threefry2x32")`,
			"raise ValueError(\"a step has one gradient"},
		TFPrivacyShort: {"model.non_trainable_variables", "raise ValueError(", "Do not call tf.random.set_seed"},
		OpacusShort:    {"torch.seed()", "ModuleValidator.validate(model, strict=True)"},
		TFPrivacy: {"model.non_trainable_variables", "raise ValueError(", "Do not call tf.random.set_seed",
			"num_microbatches"},
	} {
		c, err := Write(f, r)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(c.Text, w) {
				t.Errorf("%s has no %q", f, w)
			}
		}
		if strings.Contains(c.Text, "random.key(secrets") {
			t.Errorf("%s makes a key of one number", f)
		}
	}
}

// Python takes all code; where there is no python3 the test says so.
func TestCodeCompiles(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3")
	}
	folder := t.TempDir()
	all := releases(t)
	all["phases"] = phased(t)
	for name, r := range all {
		for _, f := range Formats() {
			if f == LaTeX || f == Flower && len(r.More) > 0 {
				continue
			}
			c, err := Write(f, r)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, name+"_"+string(f)+".py"), []byte(c.Text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.py"))
	if err != nil || len(files) != 34 {
		t.Fatalf("%d files, %v, want 34", len(files), err)
	}
	out, err := exec.Command(python, append([]string{"-W", "error", "-m", "py_compile"}, files...)...).CombinedOutput()
	if err != nil {
		t.Errorf("py_compile: %v\n%s", err, out)
	}
}

// Braces and dollars of LaTeX are in pairs, and every exponent is one.
func TestLaTeXIsBalanced(t *testing.T) {
	for name, r := range releases(t) {
		text := writeLaTeX(r).Text
		if strings.Count(text, "{") != strings.Count(text, "}") || strings.Count(text, "$")%2 != 0 {
			t.Errorf("%s: unbalanced:\n%s", name, text)
		}
		if regexp.MustCompile(`\de[-+]?\d`).MatchString(text) {
			t.Errorf("%s: an exponent of a computer:\n%s", name, text)
		}
	}
	for text, want := range map[string]string{"1e-05": "10^{-5}", "1.6667e-05": `1.6667 \cdot 10^{-5}`,
		"2e+10": `2 \cdot 10^{10}`,
		"0.15":  "0.15"} {
		if got := mathNumber(text); got != want {
			t.Errorf("%s is written %s, want %s", text, got, want)
		}
	}
}

// The event that the code for TF Privacy prints is read as the release.
func TestOwnCodeIsReadBack(t *testing.T) {
	e := releases(t)["closed"].Event
	text := fmt.Sprintf("SelfComposedDpEvent(event=PoissonSampledDpEvent(sampling_probability=%v, "+
		"event=GaussianDpEvent(noise_multiplier=%v)), count=%d)", e.SampleRate(), e.NoiseMultiplier, e.Count)
	h, err := Read([]byte(text), dp.Poisson, "")
	if want := poisson(e.NoiseMultiplier, e.SampleRate(), e.Count); err != nil || !slices.Equal(h.Events,
		[]dp.Event{want}) {
		t.Errorf("read %+v, %v, want %+v", h.Events, err, want)
	}
}

// What no library runs as it was planned is refused by name.
func TestReleasesWithoutCode(t *testing.T) {
	fixed := Release{Event: dp.Event{Sampling: dp.FixedSize, Adjacency: dp.ReplaceOne, NoiseMultiplier: 1,
		SampleSize: 1, DatasetSize: 10, Count: 1}, Bound: dp.Bound{Kind: dp.Upper, Accountant: "rdp",
		Sampling: dp.FixedSize, Adjacency: dp.ReplaceOne}}
	for _, f := range slices.DeleteFunc(Formats(), func(f Format) bool { return f == LaTeX }) {
		if _, err := Write(f, fixed); !errors.Is(err, dp.ErrNotCovered) || !strings.Contains(err.Error(), `"fixed"`) {
			t.Errorf("%s: %v, want that fixed sampling is not covered", f, err)
		}
	}
	if c, err := Write(LaTeX, fixed); err != nil || !strings.Contains(c.Text, "without replacement") {
		t.Errorf("LaTeX of fixed sampling: %v\n%s", err, c.Text)
	}
	if _, err := ParseFormat("torch"); err == nil || !strings.Contains(err.Error(), `"opacus"`) {
		t.Errorf("a format that there is not: %v", err)
	}
	e := poisson(1, 0.1, 1)
	sized := dp.Event{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: 1, SampleSize: 1, DatasetSize: 10, Count: 1}
	other, cut, group := sized, sized, sized
	other.DatasetSize, cut.Truncated, group.Group = 11, 3, 2
	allocation := dp.Event{Sampling: dp.Allocation, Redraw: dp.EachEpoch, Adjacency: dp.AddOrRemove, NoiseMultiplier: 1, Rate: 0.1, Count: 10}
	laplace := dp.Event{Other: dp.LaplaceNoise, Sampling: dp.Unsampled, Adjacency: dp.AddOrRemove, NoiseMultiplier: 1, Count: 1}
	for want, c := range map[string]struct {
		formats []Format
		last    dp.Event
	}{
		"2 kinds of rounds, must be one for latex; --format opacus, ": {[]Format{LaTeX}, sized},
		"2 kinds of rounds, must be one for flower; --format opacus,": {[]Format{Flower}, sized},
		"event 1: data set size = 11 after 10, must be the same":      {[]Format{Opacus, TFPrivacyShort}, other},
		"event 1: truncated batch size = 3, must not be given":        {[]Format{Opacus, JAXPrivacy}, cut},
		"event 1: group = 2, must be 1: code is for single records":   {[]Format{OpacusShort}, group},
		`event 1: sampling = "allocation", must be "poisson" in code`: {[]Format{JAXPrivacy, Opacus}, allocation},
		"event 1: mechanism = laplace, must be rounds of training":    {[]Format{TFPrivacy}, laplace},
	} {
		two := Release{Event: sized, More: []dp.Event{c.last}, Bound: dp.Bound{Kind: dp.Upper, Sampling: e.Sampling, Adjacency: e.Adjacency}}
		for _, f := range c.formats {
			if _, err := Write(f, two); !errors.Is(err, dp.ErrNotCovered) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s of rounds of two kinds: %v, must say %q", f, err, want)
			}
		}
	}
	if _, err := OfEvents([]dp.Event{e}, dp.Bound{Kind: dp.Approximation, Accountant: "gdp",
		Sampling: e.Sampling, Adjacency: e.Adjacency}); !errors.Is(err, dp.ErrNotCovered) {
		t.Errorf("an approximation: %v", err)
	}
	upper := dp.Bound{Kind: dp.Upper, Accountant: "pld", Sampling: e.Sampling, Adjacency: e.Adjacency}
	most := sized
	most.Count = math.MaxInt
	shuffled := dp.Event{Sampling: dp.Shuffle, Adjacency: dp.ZeroOut, NoiseMultiplier: 1, Rate: 0.1, Count: 10}
	for want, r := range map[string]Release{
		"group = 2, must be 1: code is for single records":   {Event: group, Bound: upper},
		"rounds, must be at most 2^63-1 together":            {Event: most, More: []dp.Event{sized}, Bound: upper},
		"shuffled batches of 2 clients that hold a record":   {Event: shuffled, Holders: 2, Bound: dp.Bound{Kind: dp.Upper, Sampling: dp.Shuffle, Adjacency: dp.ZeroOut}},
		"rounds of each of 2 holders, must be at most 2^63-": {Event: most, Holders: 2, Bound: upper},
	} {
		if err := r.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, must say %q", r, err, want)
		}
	}
	for _, none := range []dp.Bound{{}, {Epsilon: math.NaN(), EpsilonUpper: math.NaN(), Accountant: "pld"}} {
		if r, err := OfEvents([]dp.Event{e}, none); err == nil || !strings.Contains(err.Error(), "bound is missing") {
			t.Errorf("without an answer of an accountant: %+v, %v", r, err)
		}
	}
	open := dp.Bound{Kind: dp.Interval, EpsilonLower: 1, EpsilonUpper: math.Inf(1), Accountant: "pld",
		Sampling: e.Sampling, Adjacency: e.Adjacency}
	if _, err := OfEvents([]dp.Event{e}, open); !errors.Is(err, dp.ErrNotCovered) {
		t.Errorf("no upper bound on ε: %v", err)
	}
	for _, r := range []plan.Request{{N: 10000, Delta: 1e-4, Epochs: 5, Epsilon: 1e-6, Method: plan.ClosedForm}, {N: 10000, Delta: 1e-4, Epochs: 5, Epsilon: 0.5,
		Theta: 2}} {
		p, err := plan.Solve(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := OfPlan(p); !errors.Is(err, dp.ErrNotCovered) {
			t.Errorf("%+v: %v, want no code", r, err)
		}
	}
}

// JAX Privacy and LaTeX have random allocation; the other libraries do not draw it. The code's batches use each
// record once in an epoch, of one draw or of a new one for each epoch. What stands in for BallsInBinsSampling does
// what its documentation promises (jax_privacy/batch_selection.py, revision 8967688).
func TestAllocationCode(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3")
	}
	const check = `
import random, sys, types
class Bins:
    def __init__(self, iterations, cycle_length):
        self.iterations, self.cycle_length = iterations, cycle_length
    def batch_iterator(self, count, rng):
        drawn = random.Random(rng)
        bins = [drawn.randrange(self.cycle_length) for _ in range(count)]
        for i in range(self.iterations):
            yield [record for record in range(count) if bins[record] == i % self.cycle_length]
for name in ("jax", "jax.numpy", "numpy", "jax_privacy", "jax_privacy.batch_selection"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["jax"].numpy = sys.modules["jax.numpy"]
sys.modules["jax_privacy"].batch_selection = sys.modules["jax_privacy.batch_selection"]
sys.modules["jax_privacy"].batch_selection.BallsInBinsSampling = Bins
code = {"__name__": "code"}
exec(sys.stdin.read(), code)
all = [chosen for _, _, chosen in code["rounds"](100)]
assert len(all) == 25, len(all)
for begin in range(0, 21, 7):
    assert sorted(sum(all[begin : begin + 7], [])) == list(range(100))
print(all[:7] == all[7:14])
`
	for redraw, same := range map[dp.Redraw]string{dp.EachEpoch: "False\n", dp.Once: "True\n"} {
		p, err := plan.Solve(t.Context(), plan.Request{N: 100, Batches: 7, Rounds: 25, Sigma: 4, Delta: 1e-5, Sampling: dp.Allocation,
			Redraw: redraw, Clients: 2, Shared: true})
		if err != nil {
			t.Fatal(err)
		}
		r, err := OfPlan(p)
		if err != nil || r.Holders != 2 {
			t.Fatalf("%d holders, %v", r.Holders, err)
		}
		if apart, err := plan.Solve(t.Context(), plan.Request{N: 100, SampleSize: 7, Rounds: 2, Sigma: 4, Delta: 1e-5, Clients: 2}); err != nil {
			t.Fatal(err)
		} else if r, err := OfPlan(apart); err != nil || r.Holders != 1 {
			t.Errorf("of two clients with different records, %d hold one (%v)", r.Holders, err)
		}
		if text := holdsFor(r.Event); strings.Contains(text, "keeps its batch for all epochs") != (redraw == dp.Once) {
			t.Errorf("redraw = %s: %s", redraw, text)
		}
		for f, want := range map[Format]string{JAXPrivacy: "BATCHES = 7  #", JAXPrivacyShort: "BATCHES = 7  #", LaTeX: "$t = 7$ batches"} {
			if c, err := Write(f, r); err != nil || !strings.Contains(c.Text, want) {
				t.Errorf("%s: %v, no %q in\n%s", f, err, want, c.Text)
			}
		}
		for _, f := range []Format{Opacus, TFPrivacy, Flower} {
			if _, err := Write(f, r); !errors.Is(err, dp.ErrNotCovered) || !strings.Contains(err.Error(), string(JAXPrivacy)) {
				t.Errorf("%s: %v, want that jax-privacy draws allocation", f, err)
			}
		}
		c, err := Write(JAXPrivacy, r)
		if err != nil {
			t.Fatal(err)
		}
		draw := exec.CommandContext(t.Context(), python, "-c", check)
		draw.Stdin = strings.NewReader(c.Text)
		if out, err := draw.CombinedOutput(); err != nil || string(out) != same {
			t.Errorf("redraw = %s: the epochs are equal: %s, %v, want %s", redraw, out, err, same)
		}
	}
}

// What a file says of rounds is in every format, and ends neither a docstring nor a comment,
// whatever it is.
func TestWhatIsReportedIsSaidAndNotRun(t *testing.T) {
	evil := `"""+str(exit(7))+"""\`
	e, b := poisson(2, 0.01, 100), dp.Bound{Epsilon: 0.2, EpsilonUpper: 0.2, Delta: 1e-5, DeltaUpper: 1e-5,
		DeltaLower: 1e-5, Kind: dp.Upper, Accountant: "rdp", Adjacency: dp.AddOrRemove, Sampling: dp.Poisson}
	e.Noise = dp.Noise{Name: rng.Name{Root: evil}, Client: dp.AllClients}
	r, err := OfEvents([]dp.Event{e}, b, "the data are SYNTHETIC", evil)
	if err != nil {
		t.Fatal(err)
	}
	lines := r
	lines.Notes = []string{"two\n\\input{lines}"}
	if c, err := Write(LaTeX, lines); err != nil || strings.Contains(c.Text, "\n\\input") {
		t.Errorf("a note of two lines leaves its comment: %v\n%s", err, c.Text)
	}
	latex, err := Write(LaTeX, r)
	if err != nil {
		t.Fatal(err)
	}
	for _, note := range r.Notes {
		if !regexp.MustCompile("(?m)^%.*" + regexp.QuoteMeta(note) + "$").MatchString(latex.Text) {
			t.Errorf("LaTeX has no comment %q", note)
		}
	}
	if strings.Contains(latex.Text, "simulation") {
		t.Error("LaTeX calls a root that is no seed a simulation")
	}
	e.Noise.Root = "seed:1"
	if latex, err := Write(LaTeX, Release{Event: e, Bound: b}); err != nil ||
		!strings.Contains(latex.Text, "this is a simulation") {
		t.Errorf("LaTeX of a numbered seed: %v\n%s", err, latex.Text)
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3")
	}
	for _, f := range slices.DeleteFunc(Formats(), func(f Format) bool { return f == LaTeX }) {
		c, err := Write(f, r)
		if err != nil {
			t.Fatal(err)
		}
		ask := exec.CommandContext(t.Context(), python, "-c", "import ast, sys\n"+
			"print(ast.parse(sys.stdin.read()).body[0].value.value)")
		ask.Stdin = strings.NewReader(c.Text)
		doc, err := ask.CombinedOutput()
		if err != nil || strings.Count(string(doc), evil) != 2 || !strings.Contains(string(doc), "SYNTHETIC") {
			t.Errorf("%s: %v, its docstring is\n%s", f, err, doc)
		}
	}
}

// A paper has the noise and the rate that were accounted for, not others near them.
func TestLaTeXHasWhatWasAccounted(t *testing.T) {
	e := poisson(1.23456789, 0.0123456001, 100)
	b := dp.Bound{EpsilonUpper: 1, DeltaUpper: 1e-5, Kind: dp.Upper, Adjacency: e.Adjacency, Sampling: e.Sampling}
	r, err := OfEvents([]dp.Event{e}, b)
	if err != nil {
		t.Fatal(err)
	}
	text := writeLaTeX(r).Text
	for _, want := range []string{"$\\sigma = 1.23456789$", "$q = 0.0123456001$", "$\\sigma$ & $1.23456789$",
		"$q$ & $0.0123456001$", "\nepsilon & $\\varepsilon$ & $\\le 1$", "\ndelta & $\\delta$ & $10^{-5}$"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// The short code is shorter than the complete one, has the same claim and numbers, and keeps the user's optimizer.
func TestShortCode(t *testing.T) {
	for name, r := range releases(t) {
		for f, w := range writers {
			if w.complete == "" {
				continue
			}
			short, err := Write(f, r)
			if err != nil {
				t.Fatal(err)
			}
			long, err := Write(w.complete, r)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Count(short.Text, "\n") >= strings.Count(long.Text, "\n") {
				t.Errorf("%s for %s: the short code is not shorter", f, name)
			}
			for _, line := range regexp.MustCompile("(?m)^[A-Z_]+ = .*$").FindAllString(short.Text, -1) {
				if !strings.Contains(long.Text, "\n"+line+"\n") {
					t.Errorf("%s for %s: %s", f, name, line)
				}
			}
			if !strings.Contains(short.Text, "optimizer.") || strings.Contains(short.Text, "SGD") {
				t.Errorf("%s for %s does not keep the optimizer", f, name)
			}
		}
		all, err := All(r)
		if err != nil || len(all) != 5 {
			t.Errorf("%s: %d formats for the page, %v", name, len(all), err)
		}
	}
}
