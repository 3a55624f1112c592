package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// many is "1 rounds" and its like.
var many = regexp.MustCompile(`(^|[^\d.,=^-])1 (round|row|client|update|gradient|gradient computation|seed|draw|run|` +
	`feature|record)s\b`)

// One is not many, in any text that a command prints.
func TestOneIsNotMany(t *testing.T) {
	t.Chdir(t.TempDir())
	one := `[{"sigma": 2, "sample_rate": 0.01, "steps": 1}]`
	if err := os.WriteFile("one.json", []byte(one), 0o666); err != nil {
		t.Fatal(err)
	}
	const training = "--data synth-phishing --clients 1 --sample-size 30 --grad-computations 30"
	for _, line := range []string{
		"plan --n 10000 --rounds 1 --sample-size 1 --sigma 20 --tight=false",
		"plan --n 10000 --rounds 1 --sample-size 10 --epsilon 1e-8 --method rdp --tight=false",
		"plan --n 10000 --after one.json --epochs 1e-4 --epsilon 5 --sigma 20",
		"account --events one.json --delta 1e-5",
		"calibrate --epsilon 2 --delta 1e-5 --solve sigma --sample-rate 0.01 --steps 1",
		"tradeoff --events one.json --delta 1e-5 --accuracy 0.01",
		"train " + training,
		"train --dry-run " + training,
		"train --sample-size 1 --grad-computations 1 --data synth-phishing --clients 1 --holdout 0.00015",
		"utility --draws 1 --sigma 1 " + training,
		"delay --delays 0 --seeds 1 " + training,
		"data verify synth-mnist:1000",
	} {
		for found := range strings.Lines(printed(t, line)) {
			if many.MatchString(found) {
				t.Errorf("proactivedp %s: %s", line, found)
			}
		}
	}
}
