//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"proactivedp/rng"
)

// work is a command that writes something, and the files that must have the same bits however often
// it is disturbed.
type work struct {
	name string
	// args returns the command, which runs in its own folder.
	args func(dir string) []string
	// files is a glob of the files that it writes, which are compared. "" compares stdout.
	files string
	// seldom says that it takes much longer than others, so it is tried less often.
	seldom bool
}

// pickWork returns one of a list of works. Works with seldom set are chosen less often.
func pickWork[T interface{ isSeldom() bool }](r *rng.Stream, list []T) T {
	w := pick(r, list)
	for range 2 {
		if w.isSeldom() {
			w = pick(r, list)
		}
	}
	return w
}

func (w work) isSeldom() bool { return w.seldom }

func words(text string) func(string) []string {
	return func(string) []string { return strings.Fields(text) }
}

// resumed continues from the checkpoint if there is one, and otherwise begins.
func resumed(flags string) func(dir string) []string {
	return func(dir string) []string {
		if _, err := os.Stat(filepath.Join(dir, "run.checkpoint")); err == nil {
			return strings.Fields("train --json --resume run.checkpoint --checkpoint-every 40")
		}
		return strings.Fields("train --json --checkpoint run.checkpoint --checkpoint-every 40 " + flags)
	}
}

// rows is a user's own data set.
var rows = strings.Repeat("1 1:1 9:0.5\n0 2:1 3:1\n1 4:1 5:-1\n0 6:1 7:0.25\n", 10)

// legs is a record of a filter. A further leg is added to it.
const legs = `{"filter": {"epsilon": 0.5, "delta": 1e-5, "orders": [40]}, "releases": [{"noise": {"root": "seed:1", ` +
	`"run": 0}, "events": [{"sigma": 20, "sample_size": 10, "dataset_size": 10000, "steps": 10}]}]}`

// withRows and withLegs write a file to the folder before the command runs.
func withRows(args func(string) []string) func(string) []string {
	return withFile("rows.libsvm", rows, args)
}

func withLegs(args func(string) []string) func(string) []string {
	return withFile("legs.json", legs, args)
}

func withFile(name, text string, args func(string) []string) func(string) []string {
	return func(dir string) []string {
		// If this fails, the program will report the missing file.
		_ = os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666)
		return args(dir)
	}
}

// works has every command that writes something. Each takes some tenths of a second.
var works = []work{
	{
		"train, kept",
		resumed("--data synth-phishing --grad-computations 13000 --latency exponential:300us --delay 3"),
		"",
		false,
	},
	{
		"train, kept, of everything",
		resumed(
			"--data synth-phishing --grad-computations 6500 --compute-time pareto:10us,1.5 --latency lognormal:1ms,1 " +
				"--delay sqrt --loss 0.2 --resend 5ms --duplicate 0.2 --churn 20ms,5ms " +
				"--adapt 4 --speeds 1,1,1,2,0.2 --partition dirichlet:0.5",
		),
		"",
		false,
	},
	{"train, traced", words("train --data synth-phishing --grad-computations 2600 --trace run.json"), "run.json",
		false},
	{
		"search",
		words(
			"search --data synth-phishing --models logreg --eta0 0.1,0.2 --beta 0.01 --sigma 0,5 " +
				"--grad-computations 2000 --holdout 0.1 --out out",
		),
		"out/search.csv",
		false,
	},
	{
		"delay",
		words("delay --data synth-phishing --delays 0,1 --seeds 1 --grad-computations 300 --out out"),
		"out/*/data.csv",
		true,
	},
	{
		"figures",
		words("figures phishing-logreg-utility --quick --seeds 1 --allow-stand-in --out out"),
		"out/*/data.csv",
		true,
	},
	{
		"plan, frontier",
		words(
			"plan --n 10000 --epochs 5 --epsilon 0.5 --frontier --points 3 --accuracy 0.01 " +
				"--csv frontier.csv --png frontier.png",
		),
		"frontier.csv",
		false,
	},
	{
		"train, of a file",
		withRows(resumed("--data rows.libsvm --features 9 --split by-record --run 3 --delta 1e-3 --clients 2 " +
			"--sample-size 2 --grad-computations 400")),
		"",
		false,
	},
	{
		"plan, recorded",
		words("plan --n 10000 --epochs 5 --epsilon 0.05 --tight=false --root seed:1 --record legs.json --budget 0.2"),
		"legs.json",
		false,
	},
	{
		"plan, recorded by pld",
		words("plan --n 10000 --rounds 500 --sample-size 30 --sigma 5 --method pld --tight=false --record legs.json " +
			"--budget 2 --orders 20,60"),
		"legs.json",
		false,
	},
	{
		"plan, next leg",
		withLegs(words("plan --after legs.json --epochs 1 --sigma 20 --record next.json")),
		"next.json",
		false,
	},
	{
		"tradeoff",
		words("tradeoff --sigma 5 --sample-rate 0.01 --steps 25 --delta 1e-5 --accuracy 0.01 --csv curves.csv"),
		"curves.csv",
		false,
	},
}

// errNoResult reports that files to compare do not exist.
var errNoResult = errors.New("no result")

// result returns what w wrote in dir.
func (w work) result(dir string, e *ended) (map[string]string, error) {
	out := map[string]string{}
	if w.files == "" {
		var report map[string]any
		if err := json.Unmarshal(e.stdout.Bytes(), &report); err != nil {
			return nil, fmt.Errorf("%w: %w", errNoResult, err)
		}
		delete(report, "seconds") // the time varies
		text, err := json.Marshal(report)
		out["stdout"] = string(text)
		return out, err
	}
	paths, err := filepath.Glob(filepath.Join(dir, w.files))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		out[path[len(dir):]] = string(text)
	}
	if len(out) == 0 {
		return nil, errNoResult
	}
	return out, nil
}

// once runs w in a new folder until it ends, without disturbance, and returns what it made.
func (a *attacker) once(w work) (map[string]string, *ended, error) {
	dir, err := a.fresh("undisturbed")
	if err != nil {
		return nil, nil, err
	}
	e, err := a.run(dir, mayWork, 0, w.args(dir)...)
	if err != nil {
		return nil, e, err
	}
	if e.status != 0 {
		return nil, e, e.fault("%s fails undisturbed", w.name)
	}
	made, err := w.result(dir, e)
	if err != nil {
		return nil, e, err
	}
	if left, err := remains(dir); err != nil || len(left) > 0 {
		return nil, e, e.fault("left behind: %q, %v", left, err)
	}
	return made, e, nil
}

// same returns an error if w, which has succeeded in dir, made another result or left files behind.
func (w work) same(dir string, e *ended, want map[string]string) error {
	made, err := w.result(dir, e)
	if err != nil {
		return e.fault("%s: %v", w.name, err)
	}
	if !maps.Equal(made, want) {
		var names []string
		for name := range want {
			if made[name] != want[name] {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return e.fault("WRONG RESULT of %s with status 0: %q differ", w.name, names)
	}
	left, err := remains(dir)
	if err != nil || len(left) > 0 {
		return e.fault("%s left behind: %q, %v", w.name, left, err)
	}
	return nil
}

// whole returns an error if a file of w is half-written.
func (w work) whole(dir string, want map[string]string) error {
	if w.files == "" {
		return nil // a checkpoint detects that itself
	}
	paths, err := filepath.Glob(filepath.Join(dir, w.files))
	if err != nil {
		return err
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if full, ok := want[path[len(dir):]]; ok && !bytes.Equal(text, []byte(full)) {
			return fmt.Errorf("HALF-WRITTEN: %s has %d bytes, must have %d", path, len(text), len(full))
		}
	}
	return nil
}
