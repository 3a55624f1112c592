package main

import (
	"encoding/json"
	"os"
	"testing"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/data/synth"
	"proactivedp/internal/testkit"
	"proactivedp/rng"
	"proactivedp/train"
)

// A run that goes on with its data under another name says of them what it said before:
// the content is the same, and synthetic rows stay so in a file.
func TestDataUnderAnotherNameAreTheSame(t *testing.T) {
	t.Chdir(t.TempDir())
	const first = "train --json --data synth-phishing --grad-computations 260"
	d, err := synth.Make("synth-phishing", rng.New(cli.StandInSeed))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("rows.libsvm", []byte(testkit.LIBSVM(d)), 0o666); err != nil {
		t.Fatal(err)
	}
	var reports [2]train.Report
	for i, line := range []string{first + " --checkpoint kept", "train --json --resume kept --data rows.libsvm"} {
		if err := json.Unmarshal([]byte(printed(t, line)), &reports[i]); err != nil {
			t.Fatal(err)
		}
	}
	was, is := reports[0], reports[1]
	if !was.Synthetic || !is.Synthetic || is.DataNote != was.DataNote || is.ParamsSHA256 != was.ParamsSHA256 ||
		is.Spec.Data != was.Spec.Data {
		t.Errorf("%v, %q of %s, was %v, %q of %s", is.Synthetic, is.DataNote, is.Spec.Data, was.Synthetic, was.DataNote,
			was.Spec.Data)
	}
}
