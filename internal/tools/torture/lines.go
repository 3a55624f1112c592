//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"proactivedp/rng"
)

// slowBase takes a hundred times as long as the others, so it is tried rarely.
const slowBase = "tables --out t"

// bases are commands with the settings that make them fast.
var bases = []string{
	"plan", "plan --n 10000 --epochs 5", "account --sigma 5 --sample-rate 0.01 --steps 100 --delta 1e-5", "account",
	"calibrate --epsilon 2 --delta 1e-5 --solve sigma --sample-rate 0.01 --steps 100", "calibrate",
	"tradeoff --sigma 5 --sample-rate 0.01 --steps 25 --delta 1e-5 --accuracy 0.01", "tradeoff",
	"train --data synth-phishing --grad-computations 300", "train",
	"train --data synth-phishing --grad-computations 300 --dry-run",
	"delay --data synth-phishing --grad-computations 300 --seeds 1 --delays 0,1",
	"utility --data synth-phishing --grad-computations 300 --draws 1 --sigma 1",
	"search --data synth-phishing --models logreg --eta0 0.1 --beta 0 --sigma 1 --grad-computations 300 --holdout 0.1",
	"figures phishing-logreg-utility --quick --seeds 1 --allow-stand-in", "figures --list", "figures", "data list",
	"data verify", "audit --runs 100 --fault no-clip",
	"plan --n 10000 --epochs 5 --epsilon 0.05 --tight=false --root seed:1 --record legs.json --budget 0.2",
	"plan --after past.json --epochs 1 --sigma 20 --record legs.json",
	"account --events past.json --delta 1e-5",
	"train --data synth-phishing --grad-computations 300 --run 2 --split by-record --features 68",
	"version", "", "help", slowBase,
}

// values are values for flags of any type.
var values = []string{
	"", "0", "1", "-1", "2", "3", "7", "0.5", "-0.5", "1e-5", "1e4", "1e18", "1e300", "1e-300", "1e999", "NaN", "Inf",
	"-Inf", "0x10", "1_000", "01", "+1", " 1", "1 ",
	"9223372036854775807", "9223372036854775808", "-9223372036854775808", "18446744073709551615", "1,2,3", "1,,2", ",",
	"true", "x", "ε", "🙂", "\xff", "%s%n",
	"virtual", "hogwild", "poisson", "fixed", "shard", "replicate", "dirichlet:0.1", "dirichlet:0", "dirichlet:1e-300",
	"constant", "sqrt", "linear", "zero", "cosine",
	"constant:1ms", "constant:-1ms", "constant:9999999h", "pareto:1ms,1.1", "pareto:1ms,0", "lognormal:1ms,1",
	"lognormal:1ms,1e300", "uniform:1ms,2ms", "uniform:2ms,1ms",
	"trace:/dev/null", "trace:nowhere", "list:1,2", "list:", "linear:1,2", "poly:1,2,3", "poly:1,1e300,300",
	"clients:1,1,1,1,1", "unlimited", "linear:1e18,1e18",
	"synth-phishing", "synth-mnist:7", "synth-mnist:0", "synth-mnist:-1", "synth-mnist:99999999999", "synth-cifar10:20",
	"phishing", "logreg", "logreg-plain", "lenet", "alexnet",
	"pld", "rdp", "gdp", "closed-form", "all", "add-or-remove", "replace-one", "/dev/null", ".", "/", "nowhere/x",
	"seed:1", "seed:01", "ѕeed:1", "secret:00ff", "2,50", "shuffled", "by-record", "68", "past.json", "-",
	"x.json", "100ms,20ms", "1ns,1ns", "1h,1h", "1ms", "4GiB", "1B",
	strings.Repeat("9", 400), strings.Repeat("1,", 2000) + "1", strings.Repeat("A", 20000),
}

var flagLine = regexp.MustCompile(`(?m)^ +(?:-\w, )?--([a-z][a-z0-9-]*)`)

// startLines makes command lines with flags and values that may not fit.
func startLines(a *attacker) (func(*rng.Stream) error, error) {
	flags := map[string][]string{} // by the command's first words
	for _, base := range bases {
		name := command(base)
		if flags[name] != nil {
			continue
		}
		e, err := a.run(a.dir, mayWork, 0, append(strings.Fields(name), "--help")...)
		if err != nil {
			return nil, err
		}
		flags[name] = []string{"help"}
		for _, m := range flagLine.FindAllStringSubmatch(e.stdout.String(), -1) {
			flags[name] = append(flags[name], m[1])
		}
	}
	return func(r *rng.Stream) error {
		dir, err := a.fresh("lines")
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "past.json"), []byte(legs), 0o666); err != nil {
			return err
		}
		base := pick(r, bases)
		if base == slowBase {
			base = pick(r, bases)
		}
		args := strings.Fields(base)
		for range 1 + r.IntN(4) {
			switch r.IntN(12) {
			case 0: // a word where none belongs
				args = append(args, pick(r, values))
			case 1: // a flag of another command
				args = append(args, "--"+pick(r, flags[command(pick(r, bases))])+"="+pick(r, values))
			default:
				flag := pick(r, flags[command(base)])
				if r.IntN(8) > 0 { // two values are always refused
					args = without(args, flag)
				}
				args = append(args, fmt.Sprintf("--%s=%s", flag, pick(r, values)))
			}
		}
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "\x00", "")
		}
		_, err = a.run(dir, mayTake, 0, args...)
		return err
	}, nil
}

// without returns the arguments without a flag and its value.
func without(args []string, flag string) []string {
	var kept []string
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "--"+flag:
			if i+1 < len(args) && !strings.HasPrefix(args[i+1], "--") {
				i++ // its value
			}
		case !strings.HasPrefix(args[i], "--"+flag+"="):
			kept = append(kept, args[i])
		}
	}
	return kept
}

// command returns the words of a command line before its flags and names of figures.
func command(line string) string {
	var out []string
	for word := range strings.FieldsSeq(line) {
		if strings.HasPrefix(word, "--") || strings.Contains(word, "-logreg-") {
			break
		}
		out = append(out, word)
	}
	return strings.Join(out, " ")
}
