package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// interval matches a range of numbers in the help of a flag: its brackets and ends.
var interval = regexp.MustCompile(`in ([\[(])([-0-9.e^]+), ([-0-9.e^]+)([\])])`)

// atLeast matches a range without an upper end.
var atLeast = regexp.MustCompile(`at least ([0-9.]+)`)

// zeroStands matches a help that says what 0 stands for.
var zeroStands = regexp.MustCompile(`\b0:`)

// outside returns values that the help of a flag excludes: beside its range, and, of numbers
// with a fraction, those that are none.
func outside(t *testing.T, flag *pflag.Flag) []string {
	values := []string{"", "x"}
	if flag.Value.Type() == "float64" || flag.Value.Type() == "numbers" {
		values = append(values, "NaN", "Inf", "-Inf")
	}
	lo, open := math.Inf(-1), false
	if m := interval.FindStringSubmatch(flag.Usage); m != nil {
		lo, open = number(t, m[2]), m[1] == "("
		hi := number(t, m[3])
		if m[4] == ")" {
			values = append(values, m[3])
		}
		values = append(values, strconv.FormatFloat(hi*2, 'f', -1, 64))
	} else if m := atLeast.FindStringSubmatch(flag.Usage); m != nil {
		lo = number(t, m[1])
	}
	if lo > 0 || lo == 0 && open {
		values = append(values, "-1")
		if !zeroStands.MatchString(flag.Usage) {
			values = append(values, "0")
		}
	}
	return values
}

// number reads the end of a range, which may be a power, as 2^53.
func number(t *testing.T, text string) float64 {
	base, exponent, power := strings.Cut(text, "^")
	x, err := strconv.ParseFloat(base, 64)
	if power {
		n, failed := strconv.ParseFloat(exponent, 64)
		x, err = math.Pow(x, n), errors.Join(err, failed)
	}
	if err != nil {
		t.Fatalf("the end of a range %q: %v", text, err)
	}
	return x
}

// around are arguments beside which flags of a command are tried: of a flag of its own, or of
// all that have none. Else it is the first example.
var around = map[string]string{
	"auto":                   "--target-epsilon 0.5 --target-accuracy 0.9 --dir run",
	"auto n":                 "--trainer train --public-n 100 --target-epsilon 0.5 --dir run",
	"auto public-n":          "--trainer train --n 1000 --target-epsilon 0.5 --dir run",
	"auto steps":             "--trainer train --n 1000 --public-n 100 --target-epsilon 0.5 --dir run",
	"propose n":              "--trainer train --public-n 100 --target-epsilon 0.5",
	"propose public-n":       "--trainer train --n 1000 --target-epsilon 0.5",
	"account":                "--noise-multiplier 20 --batch-size 20 --n 10000 --steps 500 --delta 1e-5",
	"account target-epsilon": "--noise-multiplier 20 --batch-size 20 --n 10000 --steps 500",
	"calibrate":              "--target-epsilon 2 --delta 1e-5 --batch-size 20 --n 10000",
	"calibrate sample-rate":  "--target-epsilon 2 --delta 1e-5 --solve noise-multiplier --steps 100",
	"calibrate epochs":       "--target-epsilon 2 --delta 1e-5 --solve noise-multiplier --sample-rate 0.1",
	"plan":                   "--n 50000 --epochs 5",
	"plan budget":            "--n 50000 --epochs 5 --record rounds.json",
	"plan orders":            "--n 50000 --epochs 5 --record rounds.json",
	"plan points":            "--n 50000 --epochs 5 --frontier",
	"audit":                  "--out survey",
	"audit canaries":         "--out coins.csv",
	"audit guesses":          "--scores scores.csv --delta 1e-5",
	"predict":                "no.model --data no.csv",
	"figures":                "--data own.libsvm --public",
	"figures time-scale":     "--runner hogwild",
	"delay time-scale":       "--runner hogwild",
	"figures scale":          "phishing-logreg-utility",
}

// called are other names that messages have for what a flag is for.
var called = map[string]string{
	"against-grid": "times of a grid", "epsilons": "epsilon",
}

// A number that the help of its flag excludes is refused by every command, before anything
// is done, in words that name what it is of.
func TestFlagsRefuseWhatTheirHelpExcludes(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("PROACTIVEDP_DATA", t.TempDir()) // what is refused needs no data
	for name, text := range map[string]string{
		"rounds.json": `[{"sigma": 20, "sample_size": 20, "dataset_size": 10000, "steps": 500}]`,
		"own.libsvm":  "1 1:1\n0 2:1\n1 1:1\n0 2:1\n1 1:1\n0 2:1\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	tried := 0
	for _, c := range commands(newRoot()) {
		path := strings.Fields(c.CommandPath())[1:]
		first, _, _ := strings.Cut(strings.TrimSpace(c.Example), "\n")
		example := strings.TrimPrefix(strings.ReplaceAll(first, "'", ""), c.CommandPath())
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !slices.Contains([]string{"count", "counts", "float64", "numbers", "uint64"}, f.Value.Type()) {
				return
			}
			beside := cmp.Or(around[c.Name()+" "+f.Name], around[c.Name()], example)
			for _, value := range outside(t, f) {
				tried++
				refuses(t, slices.Concat(path, without(strings.Fields(beside), f.Name),
					[]string{"--" + f.Name + "=" + value}), f)
			}
		})
	}
	t.Logf("%d values of flags", tried)
	if tried < 500 {
		t.Errorf("%d values were tried, must be at least 500", tried)
	}
}

// without returns arguments but for those that give a flag its value.
func without(args []string, name string) []string {
	var kept []string
	for i, arg := range args {
		if arg != "--"+name && (i == 0 || args[i-1] != "--"+name) {
			kept = append(kept, arg)
		}
	}
	return kept
}

// refuses checks that a command line is refused for one of its flags.
func refuses(t *testing.T, args []string, f *pflag.Flag) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var stdout, stderr bytes.Buffer
	code := run(ctx, args, &stdout, &stderr)
	named := slices.ContainsFunc([]string{f.Name, strings.ReplaceAll(f.Name, "-", " "), cmp.Or(called[f.Name], f.Name)},
		func(name string) bool { return strings.Contains(stderr.String(), name+" = ") })
	if code != exitUsage || !named {
		t.Errorf("%s: exit status %d, %q; want %d and words that name --%s", strings.Join(args, " "), code,
			strings.TrimSpace(stderr.String()), exitUsage, f.Name)
	}
}

// A text that is empty is refused by every command, and so is "-" where it would be the name
// of a file or folder; all of them are said.
func TestEmptyTextsAreRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	tried := 0
	for _, c := range commands(newRoot()) {
		args := strings.Fields(c.CommandPath())[1:]
		want := map[string]bool{}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if of, _ := pflag.UnquoteUsage(f); f.Value.Type() == "string" {
				value := ""
				if len(want)%2 == 1 && (of == "file" || of == "folder") {
					value = "-"
				}
				args, want[f.Name] = append(args, "--"+f.Name+"="+value), true
			}
		})
		if len(want) == 0 {
			continue
		}
		if c.Args != nil && c.Args(c, nil) != nil {
			args = append(args, "argument")
		}
		tried += len(want)
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), args, &stdout, &stderr); code != exitUsage {
			t.Errorf("%s: exit status %d, want %d", strings.Join(args, " "), code, exitUsage)
		}
		for name := range want {
			if !strings.Contains(stderr.String(), "--"+name+" = ") {
				t.Errorf("%s: nothing is said of --%s: %s", strings.Join(args, " "), name, &stderr)
			}
		}
	}
	t.Logf("%d texts", tried)
	if tried < 100 {
		t.Errorf("%d texts were tried, must be at least 100", tried)
	}
}
