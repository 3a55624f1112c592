package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// offered is what a shell gets for a line that ends with the word to complete.
func offered(t *testing.T, words ...string) (values []string, directive string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	args := append([]string{cobra.ShellCompNoDescRequestCmd}, words...)
	if code := run(t.Context(), args, &stdout, &stderr); code != exitOK {
		t.Fatalf("%q: exit status %d: %s", words, code, &stderr)
	}
	lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	return lines[:len(lines)-1], lines[len(lines)-1]
}

// The shell is offered the values that a flag may have, files where files are due,
// and folders where those are.
func TestValuesAreOffered(t *testing.T) {
	const (
		files, noSpace, none, extensions, dirs = ":0", ":6", ":4", ":8", ":16"
	)
	for _, c := range []struct {
		line      string
		want      string
		directive string
	}{
		{"train --model ", "logreg logreg-plain linear softmax lenet lenet-relu alexnet alexnet-dropout convnet mlp " +
			"mlp-relu", none},
		{"auto --model l", "logreg logreg-plain lenet lenet-relu", none},
		{"train --model=len", "lenet lenet-relu", none},
		{"search --models lenet,", "lenet,logreg lenet,logreg-plain lenet,softmax lenet,lenet-relu lenet,alexnet " +
			"lenet,alexnet-dropout lenet,convnet lenet,mlp lenet,mlp-relu", noSpace},
		{"search --proxy ", "", none},
		{"train --data mush", "mushrooms", files},
		{"train --data ./my", "", files},
		{"train --partition ", "replicate shard dirichlet:", noSpace},
		{"train --schedule ", "linear sqrt constant zero cosine", none},
		{"train --delay u", "unlimited", none},
		{"train --compute-time p", "pareto:", noSpace},
		{"train --sigma ", "", none},
		{"train --noise-multiplier ", "", none},
		{"train --clients ", "", none},
		{"train --data-dir ", "", dirs},
		{"train --resume ", "", files},
		{"train --trace ", "json", extensions},
		{"delay --delays 0,s", "0,sqrt", noSpace},
		{"delay --out ", "", dirs},
		{"page --out ", "", files},
		{"predict my.model --out ", "", files},
		{"export my.model --out ", "", files},
		{"export my.model --format ", "npz safetensors onnx", none},
		{"auto --probe p", "phishing", none},
		{"propose --probe p", "private phishing", none},
		{"plan --method r", "rdp", none},
		{"plan --sample-size ", "", none},
		{"plan --after ", "json csv", extensions},
		{"account --accountant ", "all pld rdp closed-form-moments closed-form gdp", none},
		{"account --adjacency ", "add-or-remove replace-one zero-out", none},
		{"calibrate --solve s", "sample-rate steps", none},
		{"audit --fault no-", "no-clip", none},
		{"figures phishing-logreg-u", "phishing-logreg-utility", none},
		{"figures phishing-logreg-utility phishing-logreg-u", "", none},
		{"data fetch m", "mushrooms mnist", none},
		{"data verify synth-m", "synth-mushrooms synth-mnist", none},
	} {
		got, directive := offered(t, strings.Split(c.line, " ")...)
		if strings.Join(got, " ") != c.want || directive != c.directive {
			t.Errorf("%s<TAB> offers %q with %s, want %q with %s", c.line, got, directive, c.want, c.directive)
		}
	}
}

// Every flag that is neither a number nor a switch, and does not name a file or a folder, is in the
// table, so that what a shell offers for a new flag is decided.
func TestEveryTextHasItsCompletion(t *testing.T) {
	known := completions()
	numbers := []string{"count", "counts", "float64", "numbers", "uint64", "bool"}
	paths := []string{"file", "folder", "path"}
	seen := map[string]bool{}
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			seen[f.Name] = true
			what, _ := pflag.UnquoteUsage(f)
			if _, ok := known[f.Name]; !ok && !slices.Contains(numbers, f.Value.Type()) && !slices.Contains(paths, what) {
				t.Errorf("%s --%s has no entry in completions", cmd.CommandPath(), f.Name)
			}
		})
		for _, c := range cmd.Commands() {
			visit(c)
		}
	}
	visit(newRoot())
	for name := range known {
		if !seen[name] {
			t.Errorf("completions has --%s, and no command has", name)
		}
	}
}
