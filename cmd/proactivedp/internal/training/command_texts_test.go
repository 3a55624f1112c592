package training

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/experiments"
	"proactivedp/propose"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// The command of a figure says what of its size and its data is not the usual.
func TestFigureCommand(t *testing.T) {
	const usual = "proactivedp figures phishing-logreg-sample-size --seeds 5"
	for _, c := range []struct {
		scale     float64
		sizes     []int
		synthetic bool
		want      string
	}{
		{1, nil, false, usual},
		{0.0011, nil, true, usual + " --scale 0.0011 --allow-stand-in"},
		{1, []int{7, 10000}, false, usual + " --sizes 7,10000"},
	} {
		o := experiments.MakeOptions{Seeds: 5, Scale: c.scale, Sizes: c.sizes}
		sweep := experiments.Figure{Name: "phishing-logreg-sample-size", Sizes: true}
		if got := figureCommand(sweep, c.synthetic, o); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// Delays that hold commas are quoted, as the flag reads them.
func TestDelayCommand(t *testing.T) {
	s := experiments.DefaultDelaySpec("", "phishing")
	s.Delays, s.Seeds, s.Train.GradComps = []string{"2", "clients:0,1,0,1,0", "unlimited"}, 2, 300
	const want = `proactivedp delay --model logreg --data phishing --delays '"2","clients:0,1,0,1,0","unlimited"' ` +
		`--seeds 2 --grad-computations 300`
	if got := delayCommand(s); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	s.Delays = []string{"0", "1"}
	if got := delayCommand(s); !strings.Contains(got, " --delays 0,1 ") {
		t.Errorf("%s, want delays without quotes", got)
	}
}

// The stated command says all that a flag has changed.
func TestSearchCommand(t *testing.T) {
	spec := experiments.PaperSearch("", "mnist")
	plain := searchCommand(spec)
	for _, word := range []string{"--clients", "--grad-computations", "--delay", "--partition", "--sampling",
		"--runner", "--compute-time", "--latency"} {
		if strings.Contains(plain, word) {
			t.Errorf("%s is the paper's, but said: %s", word, plain)
		}
	}
	if strings.Contains(plain, "--eta0") || strings.Contains(plain, "--max-grad-norm") {
		t.Errorf("steps are laid out, but said: %s", plain)
	}
	spec.Clips, spec.Eta0 = []float64{0.1}, []float64{1, 2} // also a norm that is the paper's
	if got := searchCommand(spec); !strings.Contains(got, " --max-grad-norm 0.1 --eta0 1,2 ") {
		t.Errorf("command %s lacks a list", got)
	}
	s := &spec.Train
	s.Clients, s.GradComps, s.Delay, s.Partition = 4, 3600, "unlimited", string(data.Shard)
	s.Sampling, s.Runner, s.Compute, s.Latency = string(dp.FixedSize), train.HogwildRunner, "constant:1ms",
		"constant:2ms"
	spec.Scale = 0.5
	const want = " --scale 0.5 --proxy 0.0625 --seeds 3 --clients 4 --grad-computations 3600 --delay unlimited" +
		" --partition shard --sampling fixed --runner hogwild --compute-time constant:1ms --latency constant:2ms"
	if got := searchCommand(spec); !strings.HasSuffix(got, want) {
		t.Errorf("command %s, want …%s", got, want)
	}
}

// The command that trains a winner says all that the search decided, and what a flag has
// changed; each is read as it was meant.
func TestTrainCommand(t *testing.T) {
	spec := pool.Train(train.LeNetReLU, "synth-mnist:350")
	const plain = "proactivedp train --model lenet-relu --data synth-mnist:350 --noise-multiplier 12.10881 --eta0 0.015 " +
		"--beta 1e-05 --schedule linear"
	if got := trainCommand(spec); got != plain {
		t.Errorf("%s, want %s", got, plain)
	}
	spec.Schedule, spec.Beta, spec.GradComps, spec.SampleSize, spec.Average = "zero", 0, 60, "20", "tail:0.5"
	got := trainCommand(spec)
	if want := strings.Replace(plain, "1e-05 --schedule linear", "0 --schedule zero", 1) +
		" --grad-computations 60 --batch-size 20 --average tail:0.5"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	var read train.Report
	var answer bytes.Buffer
	cmd := newTrain()
	cmd.SetArgs(strings.Fields(strings.TrimPrefix(got, "proactivedp train ") + " --json"))
	cmd.SetOut(&answer)
	cmd.SetErr(io.Discard)
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	if err := json.Unmarshal(answer.Bytes(), &read); err != nil || read.Spec != spec {
		t.Errorf("%s is read as %+v, want %+v; error %v", got, read.Spec, spec, err)
	}
}

// The command of a comparison says how large its grid is.
func TestGridIsStated(t *testing.T) {
	r := propose.DefaultRequest(pool.Train("logreg", "phishing"), 1)
	if got := proposeCommand(r, "", 2.5); !strings.Contains(got, " --against-grid 2.5") {
		t.Errorf("%s, want the times of the grid", got)
	}
}

// The command of a training on a user's file states the settings that train would otherwise choose, even those that
// equal the paper's, and leaves out how a file is always split.
func TestSettingsOfAFileAreStated(t *testing.T) {
	spec := pool.Train("logreg", "my.csv")
	spec.Clients, spec.Split = 1, train.RecordSplit
	const want = "proactivedp train --model logreg --data my.csv --noise-multiplier 19.29962 --eta0 0.1 --beta 0.001 --schedule " +
		"linear --grad-computations 50000 --batch-size 26 --max-grad-norm 0.1"
	if got := trainCommand(spec); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := trainCommand(pool.Train("logreg", "phishing")); strings.Contains(got, "--batch-size") {
		t.Errorf("%s states the paper's batch size", got)
	}
}

// The command of proposals for a user's file has only flags of propose, and the number of clients even if it is the
// paper's.
func TestProposalsForAFileAreRepeated(t *testing.T) {
	base := pool.Train("logreg", "my.csv")
	base.SampleSize, base.Split = "1", train.RecordSplit
	r := propose.DefaultRequest(base, 1)
	const want = "proactivedp propose --data my.csv --model logreg --target-epsilon 1 --seeds 10 --count 5 --clients 5"
	got := proposeCommand(r, "", 0)
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if err := newPropose().ParseFlags(strings.Fields(got)[2:]); err != nil {
		t.Error(err)
	}
}

// Names with blanks stand in the stated commands as a shell takes them.
func TestStatedNamesAreQuoted(t *testing.T) {
	const data, quoted = "my records.csv", "--data 'my records.csv' "
	spec := pool.Train("logreg", data)
	spec.Compute, spec.Split = "trace:my times.csv", train.RecordSplit
	utility, clips := experiments.PaperUtilitySpec("logreg", data)
	utility.Train.Data = data
	delays := experiments.DefaultDelaySpec("logreg", data)
	delays.Train.Data = data
	searched := experiments.PaperSearch("logreg", data)
	searched.Train.Data = data
	for _, got := range []string{trainCommand(spec), utilityCommand(utility, clips), delayCommand(delays),
		searchCommand(searched), proposeCommand(propose.DefaultRequest(spec, 1), "", 0)} {
		if !strings.Contains(got, quoted) {
			t.Errorf("%s, want %s", got, quoted)
		}
	}
	if got := trainCommand(spec); !strings.HasSuffix(got, " --compute-time 'trace:my times.csv'") {
		t.Errorf("%s, want the quoted name of the trace", got)
	}
}
