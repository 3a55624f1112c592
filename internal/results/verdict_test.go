package results

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"proactivedp/internal/paper"
)

// folder returns a folder with a figure of these rows, made with this part of K.
func folder(t *testing.T, dir, figure, scale string, rows ...string) string {
	t.Helper()
	at := filepath.Join(dir, figure)
	if err := os.MkdirAll(at, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"data.csv": strings.Join(rows, "\n") + "\n",
		"manifest.json": fmt.Sprintf(`{"scale": %s}`, scale)} {
		if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const header = "series,seed,sample_size,sigma,test_accuracy,certified_epsilon_per_record," +
	"certified_epsilon_per_client,epsilon_stated_for_n_10000"

// found returns the finding that says this.
func found(t *testing.T, all []Finding, says string) Finding {
	t.Helper()
	for _, f := range all {
		if f.Says == says {
			return f
		}
	}
	t.Fatalf("nothing says %q among %d", says, len(all))
	return Finding{}
}

// Accuracies are those that runs ended with, mean and spread over seeds; each verdict is on
// the side of its rule.
func TestVerdictsOnAccuracies(t *testing.T) {
	dir := folder(t, t.TempDir(), "phishing-logreg-epsilon", "1", header,
		"plain,1,26,0,0.1,,,", "plain,1,26,0,0.99,,,", "plain,2,26,0,0.1,,,", "plain,2,26,0,0.97,,,",
		"ε 0.04945,1,26,19.3,0.1,0.03,0.01,0.04945", "ε 0.04945,1,26,19.3,0.868,0.03,0.01,0.04945",
		"ε 0.04945,2,26,19.3,0.1,0.03,0.01,0.04945", "ε 0.04945,2,26,19.3,0.872,0.03,0.01,0.04945",
		"ε 0.1,1,55,13,0.1,0.07,0.02,0.1", "ε 0.1,1,55,13,0.70,0.07,0.02,0.1",
		"ε 0.1,2,55,13,0.1,0.07,0.02,0.1", "ε 0.1,2,55,13,0.72,0.07,0.02,0.1")
	all, err := ReadFindings(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		says, ours string
		verdict    Verdict
	}{
		{"86 % at ε = 0.04945", "0.8700 ± 0.0028", Reproduced},
		{"93 % without noise", "0.9800 ± 0.0141", Exceeded},
		{"91 % at ε = 0.1", "0.7100 ± 0.0141", NotReproduced},
		{"ε = 0.04945 loses about 10 %, at most", "loses 0.1100 ± 0.0144 (0.9800 without noise)", Undecided},
		{"ε = 0.1 comes very close to the accuracy without noise (taken as 0.02 below)",
			"loses 0.2700 ± 0.0200 (0.9800 without noise)", NotReproduced},
	} {
		f := found(t, all, c.says)
		if f.Ours != c.ours || f.Seeds != 2 || f.Verdict != c.verdict {
			t.Errorf("%s: %s, %s of %d seeds; want %s, %s", c.says, f.Ours, f.Verdict, f.Seeds, c.ours, c.verdict)
		}
		if f.Verdict == NotReproduced && f.Why == "" {
			t.Errorf("%s: no reason, nor that it is unknown", c.says)
		}
	}
	if f := found(t, all, "86 % at ε = 0.04945"); f.Epsilon != "ε ≤ 0.03" {
		t.Errorf("certified %q", f.Epsilon)
	}
	if f := found(t, all, "93 % without noise"); f.Epsilon != "" {
		t.Errorf("without noise: %q", f.Epsilon)
	}
	if len(all) != 5 {
		t.Errorf("%d findings of one figure, want 5", len(all))
	}
}

// A run that ends above the one without noise has lost nothing: it has more, not less by a number below 0.
func TestVerdictSaysWhatIsGained(t *testing.T) {
	dir := folder(t, t.TempDir(), "phishing-logreg-epsilon", "0.05", header,
		"plain,1,26,0,0.55,,,", "ε,1,26,19,0.66,0.03,0.01,0.04945", "ε 0.1,1,55,13,0.65,0.07,0.02,0.1")
	all, err := ReadFindings(dir)
	if err != nil {
		t.Fatal(err)
	}
	f := found(t, all, "ε = 0.04945 loses about 10 %, at most")
	if want := "gains 0.1100 (0.5500 without noise)"; f.Ours != want {
		t.Errorf("%s, want %s", f.Ours, want)
	}
}

// What was run with a part of K is not decided, whatever it shows; sizes are held against
// each other, and a loss against the run without noise of the other figure.
func TestVerdictsOnSizesAndParts(t *testing.T) {
	dir := folder(t, t.TempDir(), "cifar10-alexnet-sample-size", "0.05", header,
		"a,1,50,6,0.2,0.1,0.05,", "b,1,300,6,0.6,0.1,0.05,", "c,1,689,6,0.7,0.1,0.05,")
	folder(t, dir, "mnist-lenet-sample-size", "1", header, "a,1,10,12,0.2,0.1,0.05,", "b,1,370,12,0.92,0.1,0.05,")
	folder(t, dir, "mnist-lenet-epsilon", "1", header, "plain,1,370,0,0.98,,,", "x,1,370,12,0.92,0.1,0.05,0.15007")
	all, err := ReadFindings(dir)
	if err != nil {
		t.Fatal(err)
	}
	for says, want := range map[string]Verdict{
		"s ≤ 50 deteriorates": Undecided, "300 ≤ s ≤ 689 is highest": Undecided, "s = 10 does worse": Reproduced,
		"s = 370 loses at most 10 %": Reproduced, "about 93 % at ε = 0.15": Undecided,
	} {
		if f := found(t, all, says); f.Verdict != want || f.Seeds != 1 {
			t.Errorf("%s: %s (%s), want %s", says, f.Verdict, f.Ours, want)
		}
	}
	if f := found(t, all, "s ≤ 50 deteriorates"); f.Why != "run with only 0.05 of the paper's gradients" {
		t.Errorf("%q", f.Why)
	}
}

// Without the run without noise there is nothing to hold a sweep of sample sizes against;
// and of a stand-in the paper states nothing.
func TestVerdictsNeedWhatTheyAreOf(t *testing.T) {
	dir := folder(t, t.TempDir(), "mnist-lenet-sample-size", `1, "data": {"synthetic": true}`, header,
		"a,1,10,12,0.2,0.1,0.05,", "b,1,370,12,0.92,0.1,0.05,")
	all, err := ReadFindings(dir)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d findings, error %v", len(all), err)
	}
	if f := found(t, all, "s = 10 does worse"); f.Verdict != Undecided || f.Why != "run on synthetic data" {
		t.Errorf("%s: %s", f.Verdict, f.Why)
	}
}

// A utility graph keeps what its line says, between its points by their means.
func TestVerdictsOnUtilityGraphs(t *testing.T) {
	dir := folder(t, t.TempDir(), "mnist-lenet-utility", "1", "clip,seed,sigma,fraction,fraction_sd",
		"0.025,1,0,1,0", "0.025,1,10,0.95,0.01", "0.025,1,14,0.75,0.01", "0.05,1,0,1,0",
		"0.05,1,10,1,0", "0.05,1,14,1,0")
	all, err := ReadFindings(dir)
	if err != nil {
		t.Fatal(err)
	}
	f := found(t, all, "C = 0.025 keeps 90 % up to σ = 12")
	if f.Verdict != NotReproduced || f.Ours != "keeps 0.8500 ± 0.0100 at σ = 12; keeps 0.9 up to σ = 11.0" {
		t.Errorf("%s: %s", f.Verdict, f.Ours)
	}
}

// Why a utility graph is not that of the paper is what other ways to train w* came to: those
// that label as well, by their norms.
func TestVerdictsTellTheNormOfWStar(t *testing.T) {
	dir := folder(t, t.TempDir(), "mnist-lenet-utility", "1", "clip,seed,sigma,fraction,fraction_sd,wstar_norm",
		"0.025,1,0,1,0,22", "0.025,1,12,0.15,0.01,22", "0.025,2,0,1,0,26", "0.025,2,12,0.15,0.01,26", "0.05,1,0,1,0,5",
		"0.05,1,12,1,0,5")
	says := "C = 0.025 keeps 90 % up to σ = 12"
	all, err := ReadFindings(dir)
	if err != nil {
		t.Fatal(err)
	}
	if f := found(t, all, says); !strings.HasPrefix(f.Why, unknown) {
		t.Errorf("without the experiment: %q", f.Why)
	}
	rows := []string{"series,length,seed,clip,sigma,fraction,wstar_accuracy,wstar_norm",
		"own,1,1,0.025,12,0.1,0.98,20", "own,1,2,0.025,12,0.2,0.98,22", "fast,1,1,0.025,12,0.6,0.97,48",
		"no use,1,1,0.025,12,1,0.1,40", "fast,1,1,0.05,12,1,0.97,48"}
	for _, c := range []struct {
		more string
		want []string
	}{
		{"fast,4,1,0.025,12,0.7,0.98,60", []string{"Of 4 ways to train w* here (mnist-lenet-wstar), 3 are about equally accurate",
			"the best keeps 0.700 and has ‖w*‖ = 60.0 (fast)", "utility graph has 24.0"}},
		{"fast,4,1,0.025,12,0.9,0.98,60", []string{"the smallest w* that keeps about 0.9 has ‖w*‖ = 60.0 (fast)", "utility graph has 24.0"}},
	} {
		folder(t, dir, "mnist-lenet-wstar", "1", append(slices.Clone(rows), c.more)...)
		all, err := ReadFindings(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if f := found(t, all, says); !strings.Contains(f.Why, want) {
				t.Errorf("%q lacks %q", f.Why, want)
			}
		}
	}
	folder(t, dir, "mnist-lenet-wstar", "1", rows[0], "own,1,1,0.05,12,0.1,0.98,20")
	all, err = ReadFindings(dir)
	const none = unknown + "mnist-lenet-wstar has no w* of C = 0.025 at σ = 12"
	if err != nil || found(t, all, says).Why != none {
		t.Errorf("of another clipping norm: error %v, %q, want %q", err, found(t, all, says).Why, none)
	}
	folder(t, dir, "mnist-lenet-wstar", "1", rows[0], "own,1,1,0.025,x,0.1,0.98,20")
	if _, err := ReadFindings(dir); err == nil || !strings.Contains(err.Error(), "mnist-lenet-wstar") {
		t.Errorf("a damaged experiment: error %v", err)
	}
}

// A damaged figure is named, and the others are found all the same.
func TestDamagedFiguresAreNamed(t *testing.T) {
	dir := folder(t, t.TempDir(), "mnist-lenet-utility", "1", "clip,seed,sigma,fraction,fraction_sd", "0.025,1,x,1,0")
	folder(t, dir, "phishing-logreg-epsilon", "1", header, "plain,1,26,0,0.93,,,")
	folder(t, dir, "cifar10-alexnet-utility", "no number", "clip")
	all, err := ReadFindings(dir)
	for _, want := range []string{"mnist-lenet-utility", "cifar10-alexnet-utility", "no series for the stated ε = " +
		"0.04945"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v lacks %q", err, want)
		}
	}
	if f := found(t, all, "93 % without noise"); f.Verdict != Reproduced {
		t.Errorf("%s", f.Verdict)
	}
	all, err = ReadFindings(dir, "mnist-lenet-utility", "cifar10-alexnet-utility", "phishing-logreg-epsilon")
	if err != nil || len(all) != 0 {
		t.Errorf("but for all of them: %d findings, error %v", len(all), err)
	}
	folder(t, dir, "mnist-lenet-utility", `1, "figure": "mnist-lenet-epsilon"`, "clip,seed,sigma,fraction,fraction_sd")
	if _, err = ReadFindings(dir); err == nil || !strings.Contains(err.Error(), "its manifest is that of mnist-lenet-epsilon") {
		t.Errorf("a folder with another's manifest: error %v", err)
	}
}

// committedFindings are those of the committed results, which are read once for all tests.
var committedFindings = sync.OnceValues(func() ([]Finding, error) { return ReadFindings("../../results") })

// Every statement of the paper is about a figure of the committed results, and has a
// verdict; what is not reproduced has a reason, or that none is known.
func TestCommittedResults(t *testing.T) {
	all, err := committedFindings()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != len(paper.Claims()) {
		t.Errorf("%d of %d statements have a finding", len(all), len(paper.Claims()))
	}
	count := map[Verdict]int{}
	for _, f := range all {
		count[f.Verdict]++
		if f.Verdict == NotReproduced && f.Why == "" || f.Ours == "" || f.Seeds < 1 {
			t.Errorf("%s: %+v", f.Says, f)
		}
	}
	t.Log(count)
	if count[Reproduced]+count[Exceeded] < 20 || count[NotReproduced] == 0 {
		t.Errorf("verdicts %v", count)
	}
}

// A sweep that lacks the sizes that a statement is about decides nothing, and says which.
func TestVerdictsNeedTheirSizes(t *testing.T) {
	for _, c := range []struct{ figure, row, want string }{
		{"cifar10-alexnet-sample-size", "a,1,689,6,0.7,0.1,0.05,", "no series of sizes below 300"},
		{"cifar10-alexnet-sample-size", "a,1,50,6,0.2,0.1,0.05,", "no series of sizes from 300 on"},
		{"mnist-lenet-sample-size", "a,1,10,12,0.2,0.1,0.05,", "no series of sizes above 10"},
	} {
		all, err := ReadFindings(folder(t, t.TempDir(), c.figure, "1", header, c.row))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.row, err, c.want)
		}
		for _, f := range all {
			if strings.Contains(f.Ours, "Inf") || f.Verdict == Reproduced {
				t.Errorf("%s: %s: %s, %s", c.row, f.Says, f.Ours, f.Verdict)
			}
		}
	}
}

// A sweep of sample sizes that were asked for has verdicts on what it has, and none on the
// paper's other sizes; it has all the sizes of its manifest.
func TestVerdictsOfOtherSizes(t *testing.T) {
	const small, large = "a,1,50,6,0.2,0.1,0.05,", "b,1,300,6,0.4,0.1,0.05,"
	for _, c := range []struct {
		sizes string
		rows  []string
		says  int
		want  string
	}{
		{"[50, 300]", []string{small, large}, 2, ""},
		{"[300]", []string{large}, 0, ""},
		{"[50, 300]", []string{large}, 0, "no rows of s = 50"},
	} {
		all, err := ReadFindings(folder(t, t.TempDir(), "cifar10-alexnet-sample-size", `1, "sizes": `+c.sizes,
			append([]string{header}, c.rows...)...))
		wrong := (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want)
		if wrong || len(all) != c.says {
			t.Errorf("%s: %d findings, error %v; want %d, %q", c.sizes, len(all), err, c.says, c.want)
		}
		for _, f := range all {
			if f.Verdict != Reproduced {
				t.Errorf("%s: %s: %s, %s", c.sizes, f.Says, f.Ours, f.Verdict)
			}
		}
	}
}

// Of a σ beside the line nothing is known.
func TestFractionsAreNotExtended(t *testing.T) {
	l := fractions{{sigma: 2, mean: 1, seeds: 1}, {sigma: 4, mean: 0.8, seeds: 1}}
	for sigma, want := range map[float64]float64{2: 1, 3: 0.9, 4: 0.8} {
		if p, ok := l.at(sigma); !ok || p.mean != want {
			t.Errorf("σ = %v: %+v, want %v", sigma, p, want)
		}
	}
	for _, sigma := range []float64{1, 5} {
		if p, ok := l.at(sigma); ok {
			t.Errorf("σ = %v: %+v", sigma, p)
		}
	}
}

// Of runs of one series that cost differently the largest certified ε is said, whatever their
// order; what is no one series, or no ε, is named.
func TestTheLargestEpsilonIsSaid(t *testing.T) {
	const (
		low, high = "x,1,26,19.3,0.85,0.03,0.01,0.04945", "x,2,26,19.3,0.87,0.1,0.005,0.04945"
		plain     = "plain,1,26,0,0.93,,,"
		other     = "y,1,55,13,0.9,0.07,0.02,0.1"
	)
	for _, rows := range [][]string{{low, high}, {high, low}, {low, high, plain, other, low, high}} {
		rows = slices.Concat([]string{header, plain, other}, rows)
		dir := folder(t, t.TempDir(), "phishing-logreg-epsilon", "1", rows...)
		all, err := ReadFindings(dir)
		if err != nil {
			t.Fatal(err)
		}
		if f := found(t, all, "86 % at ε = 0.04945"); f.Epsilon != "ε ≤ 0.1" {
			t.Errorf("%q: %q", rows, f.Epsilon)
		}
	}
	for row, want := range map[string]string{
		"x,2,26,19.3,0.87,,0.01,0.04945":      "some rows have an ε and some have none",
		"x,2,26,19.3,0.87,much,0.01,0.04945":  `"much", must be a number of at least 0`,
		"x,2,26,19.3,0.87,NaN,0.01,0.04945":   `"NaN", must be a number of at least 0`,
		"x,2,26,19.2,0.87,0.03,0.01,0.04945":  "a row has σ = 19.2",
		"x,2,27,19.3,0.87,0.03,0.01,0.04945":  "s = 27",
		"x,2,26,19.3,0.87,0.03,0.01,0.1":      `ε = "0.1", must be σ = 19.3`,
		"x,2,26.5,x19.3,0.87,0.03,0.01,0.049": "26.5",
	} {
		dir := folder(t, t.TempDir(), "phishing-logreg-epsilon", "1", header, plain, other, low, row)
		if _, err := ReadFindings(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", row, err, want)
		}
	}
}

// A loss is taken from a run without noise of the same part of K and the same data, and w* is
// explained by such w*: of others nothing follows.
func TestVerdictsAreOfLikeFigures(t *testing.T) {
	sizes := []string{header, "a,1,10,12,0.2,0.1,0.05,", "b,1,370,12,0.92,0.1,0.05,"}
	plain := []string{header, "plain,1,370,0,0.98,,,", "x,1,370,12,0.92,0.1,0.05,0.15007"}
	for _, c := range []struct{ own, base, why string }{
		{"1", "1", ""},
		{"1", "0.05", "it is compared with mnist-lenet-epsilon, which was run with 0.05 of the paper's gradients"},
		{"0.05", "1", "run with only 0.05 of the paper's gradients"},
		{"1", `1, "data": {"sha256": "aa"}`, "it is compared with mnist-lenet-epsilon, which has other data"},
		{`1, "data": {"sha256": "aa"}`, `1, "data": {"sha256": "aa"}`, ""},
		{"1", `1, "data": {"synthetic": true}`, "it is compared with mnist-lenet-epsilon, which has other data"},
	} {
		dir := folder(t, t.TempDir(), "mnist-lenet-sample-size", c.own, sizes...)
		all, err := ReadFindings(folder(t, dir, "mnist-lenet-epsilon", c.base, plain...))
		if err != nil {
			t.Fatal(err)
		}
		want := Reproduced
		if c.why != "" {
			want = Undecided
		}
		if f := found(t, all, "s = 370 loses at most 10 %"); f.Verdict != want || f.Why != c.why {
			t.Errorf("%s against %s: %s (%q), want %s (%q)", c.own, c.base, f.Verdict, f.Why, want, c.why)
		}
	}
	dir := folder(t, t.TempDir(), "mnist-lenet-utility", "1", "clip,seed,sigma,fraction,fraction_sd",
		"0.025,1,12,0.1,0")
	folder(t, dir, "mnist-lenet-wstar", "0.05", "series,length,seed,clip,sigma,fraction,wstar_accuracy,wstar_norm",
		"own,1,1,0.025,12,0.1,0.98,20")
	all, err := ReadFindings(dir)
	if err != nil {
		t.Fatal(err)
	}
	const want = unknown + "it is compared with mnist-lenet-wstar, which was run with 0.05 of the paper's gradients"
	if f := found(t, all, "C = 0.025 keeps 90 % up to σ = 12"); f.Why != want {
		t.Errorf("%q, want %q", f.Why, want)
	}
}

// A size that ends with as much accuracy as the largest does not do worse; where two are
// compared, the seeds are those of both, and the ε is that of the one that costs more.
func TestComparisonsOfSizes(t *testing.T) {
	for _, c := range []struct {
		small string
		want  Verdict
	}{{"0.5", NotReproduced}, {"0.6", NotReproduced}, {"0.4", Reproduced}} {
		all, err := ReadFindings(folder(t, t.TempDir(), "mnist-lenet-sample-size", "1", header,
			"a,1,10,12,"+c.small+",0.01,0.005,", "b,1,370,12,0.5,0.1,0.05,", "b,2,370,12,0.5,0.1,0.05,"))
		if err != nil {
			t.Fatal(err)
		}
		f := found(t, all, "s = 10 does worse")
		if f.Verdict != c.want || f.Epsilon != "ε ≤ 0.1" || f.Seeds != 1 {
			t.Errorf("%s beside 0.5: %s, %s, %d seeds; want %s", c.small, f.Verdict, f.Epsilon, f.Seeds, c.want)
		}
		if f.Verdict == NotReproduced && f.Why == "" {
			t.Errorf("%s beside 0.5: no reason", c.small)
		}
	}
	all, err := ReadFindings(folder(t, t.TempDir(), "cifar10-alexnet-sample-size", "1", header,
		"a,1,50,6,0.2,0.1,0.05,", "b,1,689,6,0.2,0.3,0.2,"))
	if err != nil {
		t.Fatal(err)
	}
	if f := found(t, all, "300 ≤ s ≤ 689 is highest"); f.Verdict != NotReproduced || f.Epsilon != "ε ≤ 0.3" {
		t.Errorf("as high as below: %s, %s", f.Verdict, f.Epsilon)
	}
}

// The budget allows an accuracy that the paper's network misses if another model reaches it on the test set with no larger ε and no larger δ, on the mean of its seeds.
func TestOtherFeaturesWithinTheBudget(t *testing.T) {
	const reached = unknown + "the budget is enough, because softmax regression on scattering features reaches 0.6500 at " +
		"ε ≤ 1.25, δ ≤ 2e-05 (cifar10-scatter)"
	for name, c := range map[string]struct {
		rows []string
		want string
	}{
		"reached": {[]string{"test set,1,1.25,2e-05,0.64", "test set,2,1.25,1e-05,0.66", "test set,1,0.3,1e-05,0.61",
			"test set,2,0.3,1e-05,0.61"}, reached},
		"larger ε":         {[]string{"test set,1,1.27,2e-05,0.65"}, ""},
		"larger δ":         {[]string{"test set,1,1.25,2.1e-05,0.65"}, ""},
		"one seed of two":  {[]string{"test set,1,1.25,2e-05,0.61", "test set,2,1.25,2e-05,0.58"}, ""},
		"not the test set": {[]string{"held-out training records,1,1.25,2e-05,0.65"}, ""},
	} {
		dir := folder(t, t.TempDir(), "cifar10-alexnet-epsilon", "1", "series,seed,sample_size,sigma,test_accuracy,delta,"+
			"certified_epsilon_per_record,certified_epsilon_per_client,epsilon_stated_for_n_50000",
			"plain,1,689,0,0.7,2e-05,,,", "b,1,1690,3.29,0.415,2e-05,1.26,1.26,2.0")
		folder(t, dir, "cifar10-scatter", "1",
			append([]string{"series,seed,certified_epsilon_per_record,delta,test_accuracy"}, c.rows...)...)
		all, _ := ReadFindings(dir) // the other statements about the figure lack their rows
		f := found(t, all, "about 60 % at ε = 2")
		if c.want == "" {
			c.want = unknown + "the figures *-budget and *-scatter of the data set show the accuracies of other settings and features"
		}
		if f.Verdict != NotReproduced || f.Why != c.want {
			t.Errorf("%s: %s, %q, must be %q", name, f.Verdict, f.Why, c.want)
		}
	}
}

// A table of which rows were lost, or with what is no accuracy, decides nothing: the last row
// that is left of a run is not its end.
func TestTablesAreWhole(t *testing.T) {
	curve := []string{header, "plain,1,26,0,0.5,,,", "plain,1,26,0,0.93,,,", "plain,2,26,0,0.5,,,",
		"plain,2,26,0,0.93,,,"}
	line := []string{"clip,seed,sigma,fraction,fraction_sd", "0.025,1,0,1,0", "0.025,1,14,0.9,0", "0.025,2,0,1,0",
		"0.025,2,14,0.9,0"}
	for _, c := range []struct {
		figure, scale string
		rows          []string
		want          string
	}{
		{"phishing-logreg-epsilon", "1", curve[:4], "1 row of series plain, seed 2, must be 2"},
		{"phishing-logreg-epsilon", `1, "seeds": 2`, curve[:3], "series plain, 1 seed, must be 2 by the manifest"},
		{"mnist-lenet-utility", "1", line[:4], "1 row of clip 0.025, seed 2, must be 2"},
		{"mnist-lenet-utility", `1, "seeds": 3`, line, "clip 0.025, 2 seeds, must be 3"},
		{"mnist-lenet-utility", "1", append(slices.Clone(line[:4]), "0.025,2,14,NaN,0"), `fraction = "NaN"`},
		{"phishing-logreg-epsilon", "1", []string{header, "plain,1,26,0,93,,,"},
			`test_accuracy = "93", must be in [0, 1]`},
		{"phishing-logreg-epsilon", "1", []string{header, "plain,1,26,0,NaN,,,"}, `test_accuracy = "NaN"`},
	} {
		all, err := ReadFindings(folder(t, t.TempDir(), c.figure, c.scale, c.rows...))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.figure) ||
			len(all) != 0 {
			t.Errorf("%s: %d findings, error %v, want one with %q", c.figure, len(all), err, c.want)
		}
	}
}

// Data whose digest is another than the manifest's decide nothing.
func TestDataAreTheManifests(t *testing.T) {
	const rows = "clip,seed,sigma,fraction,fraction_sd\n0.025,1,0,1,0\n0.025,1,12,0.95,0.01\n"
	for _, own := range []bool{true, false} {
		sum := sha256.Sum256([]byte(rows))
		if !own {
			sum[3]++
		}
		all, err := ReadFindings(folder(t, t.TempDir(), "mnist-lenet-utility", fmt.Sprintf(`1, "table_sha256": "%x"`, sum),
			strings.TrimSuffix(rows, "\n")))
		if errors.Is(err, ErrDamaged) == own || len(all) == 1 != own {
			t.Errorf("of its own digest %v: %d findings, error %v", own, len(all), err)
		}
	}
}

// A line that never falls below the part says nothing of larger σ.
func TestLinesThatDoNotFallSaySo(t *testing.T) {
	all, err := ReadFindings(folder(t, t.TempDir(), "mnist-lenet-utility", "1", "clip,seed,sigma,fraction,fraction_sd",
		"0.025,1,0,1,0", "0.025,1,12,0.95,0.01", "0.025,1,14,0.92,0.01"))
	if err != nil {
		t.Fatal(err)
	}
	const want = "keeps 0.9500 ± 0.0100 at σ = 12; keeps 0.9 up to σ = 14.0, the largest that was tried"
	if f := found(t, all, "C = 0.025 keeps 90 % up to σ = 12"); f.Verdict != Reproduced || f.Ours != want {
		t.Errorf("%s: %q, want %q", f.Verdict, f.Ours, want)
	}
}

// Which verdict is given does not get milder with our own spread: what misses the limit by more than a
// standard error is not reproduced, and what is nearer to it needs more seeds.
func TestVerdictsDoNotForgiveSpread(t *testing.T) {
	rows := func(ends ...string) []string {
		all := []string{header}
		for i, end := range ends {
			all = append(all, fmt.Sprintf("plain,%d,26,0,%s,,,", i+1, end),
				fmt.Sprintf("ε,%d,26,19,%s,0.03,0.01,0.04945", i+1, end), fmt.Sprintf("more,%d,55,13,%s,0.07,0.02,0.1", i+1, end))
		}
		return all
	}
	for _, c := range []struct {
		ends []string
		want Verdict // of "93 % without noise"
	}{
		{[]string{"0.9151"}, Undecided}, // of one seed the standard error is unknown
		{[]string{"0.9151", "0.9151"}, Reproduced}, {[]string{"0.9149", "0.9149"}, NotReproduced},
		{[]string{"0.9449", "0.9449"}, Reproduced}, {[]string{"0.9451", "0.9451"}, Exceeded},
		{[]string{"0.5", "0.6"}, NotReproduced}, // 0.55, standard error 0.05: 0.365 below the limit
		{[]string{"0.5", "1"}, Undecided},       // 0.75, standard error 0.25: 0.165 below the limit
		{[]string{"0.91", "0.918"}, Undecided},  // 0.914, standard error 0.004
	} {
		all, err := ReadFindings(folder(t, t.TempDir(), "phishing-logreg-epsilon", "1", rows(c.ends...)...))
		if err != nil {
			t.Fatal(err)
		}
		if f := found(t, all, "93 % without noise"); f.Verdict != c.want {
			t.Errorf("%v: %s (%s), want %s", c.ends, f.Verdict, f.Why, c.want)
		}
	}
}

// A range of noise has two sides: a graph that keeps more than the stated part at its end shows more than
// what is stated, and one that keeps less at its beginning shows less.
func TestVerdictsOnRangesAreTwoSided(t *testing.T) {
	for _, c := range []struct {
		at18, at22 string
		want       Verdict
	}{
		{"0.93", "0.88", Reproduced}, {"0.93", "0.89", Reproduced}, {"0.93", "0.914", Undecided}, {"0.886", "0.88", Undecided},
		{"0.98", "0.95", Exceeded}, {"0.86", "0.8", NotReproduced},
	} {
		rows := []string{"clip,seed,sigma,fraction,fraction_sd"}
		for _, clip := range []string{"0.1", "0.075"} {
			rows = append(rows, clip+",1,0,1,0", clip+",1,18,"+c.at18+",0.01", clip+",1,20,0.9,0.01", clip+",1,22,"+c.at22+",0.01",
				clip+",1,30,0.7,0.01")
		}
		all, err := ReadFindings(folder(t, t.TempDir(), "phishing-logreg-utility", "1", rows...))
		if err != nil {
			t.Fatal(err)
		}
		if f := found(t, all, "C = 0.1 keeps about 90 % at some σ in [18, 22]"); f.Verdict != c.want {
			t.Errorf("%s, %s: %s (%s), want %s", c.at18, c.at22, f.Verdict, f.Ours, c.want)
		}
	}
}

// A statement about sample sizes says what is left of it at one ε, if that was run.
func TestVerdictsOnSizesAtOneEpsilon(t *testing.T) {
	dir := folder(t, t.TempDir(), "mnist-lenet-sample-size", "1", header, "a,1,10,12,0.2,0.1,0.05,",
		"b,1,370,12,0.92,0.1,0.05,")
	folder(t, dir, "mnist-lenet-sample-size-equal", "1", "series,seed,sample_size,test_accuracy",
		"the same σ for every s,1,10,0.2", "the same σ for every s,1,370,0.92",
		OneEpsilon+",1,10,0.91", OneEpsilon+",1,370,0.92")
	all, err := ReadFindings(dir)
	if err != nil {
		t.Fatal(err)
	}
	f := found(t, all, "s = 10 does worse")
	if f.Verdict != Reproduced || f.Why != "but only at the same σ: at the same certified ε, all batch sizes reach between 0.9100 and 0.9200 (1 seed)" {
		t.Errorf("%s, %s", f.Verdict, f.Why)
	}
	folder(t, dir, "mnist-lenet-sample-size-equal", "0.05", "series,seed,sample_size,test_accuracy", OneEpsilon+",1,10,0.91")
	if all, err = ReadFindings(dir); err != nil {
		t.Fatal(err)
	}
	if f := found(t, all, "s = 10 does worse"); f.Verdict != Reproduced || f.Why != "" {
		t.Errorf("beside a figure of a part of K: %s, %s", f.Verdict, f.Why)
	}
}

// A loss of accuracy is one at a single step size. If the run without noise has another one, the run of the figure of
// step sizes is taken, and without that figure nothing is decided.
func TestLossIsJudgedAtOneStepSize(t *testing.T) {
	const found93, printed, plain = `{"eta0": 0.015, "beta": 1e-5, "schedule": "linear"}`,
		`{"eta0": 0.1, "beta": 0.01, "schedule": "sqrt"}`, `{"eta0": 0.2, "beta": 3e-6, "schedule": "linear"}`
	of := func(steps ...string) string { return `1, "config": {"train": [` + strings.Join(steps, ",") + `]}` }
	const ran, loses, bySize = ",1,370,12,%s,0.105,0.043,0.15007", "ε ≈ 0.15 loses less than 10 %", "s = 370 loses at most 10 %"
	rows := func(ends ...string) []string {
		all := []string{header}
		for i, end := range ends {
			if i%2 == 0 {
				all = append(all, fmt.Sprintf("%d"+ran, i, end))
			} else {
				all = append(all, fmt.Sprintf("%d,1,370,0,%s,,,", i, end))
			}
		}
		return all
	}
	dir := folder(t, t.TempDir(), "mnist-lenet-epsilon", of(found93, plain), rows("0.92", "0.987")...)
	folder(t, dir, "mnist-lenet-sample-size", of(found93, found93), header, fmt.Sprintf("a"+ran, "0.92"), "b,1,10,12,0.2,0.1,0.05,")
	check := func(says string, verdict Verdict, ours, why string) {
		t.Helper()
		all, err := ReadFindings(dir)
		if err != nil {
			t.Fatal(err)
		}
		if f := found(t, all, says); f.Verdict != verdict || !strings.Contains(f.Ours, ours) || !strings.Contains(f.Why, why) {
			t.Errorf("%s: %s, %s (%s); want %s, %s (%s)", says, f.Verdict, f.Ours, f.Why, verdict, ours, why)
		}
	}
	for _, says := range []string{loses, bySize} {
		check(says, Undecided, "(0.9870 without noise)", "another step size")
	}
	folder(t, dir, "mnist-lenet-step-size", of(printed, printed, found93, found93, plain, plain),
		rows("0.82", "0.97", "0.92", "0.96", "0.1", "0.987")...)
	for _, says := range []string{loses, bySize} {
		check(says, Reproduced, "0.0400 (0.9600 without noise)", "has the same step size (mnist-lenet-step-size)")
	}
	check("the printed step size: "+loses, NotReproduced, "0.1500 (0.9700 without noise)", "η₀ = 0.015, the accuracy is 0.9200")
	check("the printed step size: about 93 % at ε = 0.15", NotReproduced, "0.8200", "η₀ = 0.015, the accuracy is 0.9200")
	check("the printed step size: 98 % without noise", Undecided, "0.9700", "one seed")
	folder(t, dir, "mnist-lenet-step-size", "0.5"+of(printed, printed, found93, found93)[1:], rows("0.82", "0.97", "0.92", "0.96")...)
	check(loses, Undecided, "loses 0.0400", "0.5 of the paper's gradients")
}

// That an accuracy is above a stated one has no margin, and one seed does not decide what is near.
func TestVerdictsWithoutAMargin(t *testing.T) {
	for _, c := range []struct {
		ends string
		want Verdict
	}{{"0.54", NotReproduced}, {"0.56", Undecided}, {"0.57", Undecided}, {"0.60", Reproduced}} {
		rows := []string{header, "plain,1,1099,0,0.74,,,"}
		for _, stated := range []string{"0.5", "1.0", "2.0", "3.0"} {
			rows = append(rows, "ε "+stated+",1,1099,4.65,"+c.ends+",0.7,0.7,"+stated)
		}
		all, err := ReadFindings(folder(t, t.TempDir(), "cifar10-alexnet-epsilon", "1", rows...))
		if err != nil {
			t.Fatal(err)
		}
		if f := found(t, all, "at ε = 1 better than 56.8 % (De et al. 2022)"); f.Verdict != c.want {
			t.Errorf("%s: %s (%s), want %s", c.ends, f.Verdict, f.Why, c.want)
		}
	}
}
