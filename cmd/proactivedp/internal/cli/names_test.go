package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// What is wrong with a quantity names the flag by which it was given, be that in the paper's words.
// A quantity that was given otherwise keeps its name.
func TestErrorsNameTheFlagsThatWereGiven(t *testing.T) {
	cmd := &cobra.Command{}
	cmd.SetGlobalNormalizationFunc(FieldName)
	f := cmd.Flags()
	f.Float64("noise-multiplier", 1, "")
	f.Float64("max-grad-norm", 1, "")
	f.Float64("target-epsilon", 1, "")
	f.Float64("delta", 1, "")
	if err := cmd.ParseFlags([]string{"--sigma", "0", "--clip", "0", "--epsilon", "9"}); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"sigma = 0, must be above 0":            "--noise-multiplier = 0, must be above 0",
		"noise multiplier = 0, must be above 0": "--noise-multiplier = 0, must be above 0",
		"clipping norm = 0":                     "--max-grad-norm = 0",
		"client 1: epsilon = 9":                 "client 1: --target-epsilon = 9",
		"event 0: noise multiplier = 0":         "event 0: noise multiplier = 0",
		"delta = 2":                             "delta = 2",
		"sigma = 1 and epsilon = 9, only one":   "--noise-multiplier = 1 and --target-epsilon = 9, only one",
		"delta = 2 with epsilon = 9":            "delta = 2 with --target-epsilon = 9",
		"event 0: delta = 2 and epsilon = 9":    "event 0: delta = 2 and epsilon = 9",
		`sigma = "a\" and sigma = 2", must`:     `--noise-multiplier = "a\" and sigma = 2", must`,
		`"a" and sigma = 2`:                     `"a" and sigma = 2`,
		"sigma is missing, must be given":       "--noise-multiplier is missing, must be given",
		"target rate is missing":                "target rate is missing",
		"rate = 2\nsigma = 0":                   "rate = 2\n--noise-multiplier = 0",
	} {
		if got := InFlags(cmd, line); got != want {
			t.Errorf("%q is said as %q, want %q", line, got, want)
		}
	}
}

// The table of notation lists both names of a flag.
func TestNotationHasBothNames(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/notation.md")
	if err != nil {
		t.Fatal(err)
	}
	for paper, field := range paperNames {
		if both := "| `--" + field + "`, `--" + paper + "` |"; !strings.Contains(string(text), both) {
			t.Errorf("docs/notation.md lacks %s", both)
		}
	}
}
