package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commands lists the commands of root that do something, those of cobra left out.
func commands(root *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, c := range root.Commands() {
		switch {
		case c.Name() == "help", c.Name() == "completion":
		case c.HasSubCommands():
			all = append(all, commands(c)...)
		default:
			all = append(all, c)
		}
	}
	return all
}

// ranges finds the words for the range of a number.
var ranges = regexp.MustCompile(`in \[|in \(|at least|above`)

// The help of every flag for a number tells its range, and that of every flag says
// something.
func TestHelpTellsRanges(t *testing.T) {
	for _, c := range commands(newRoot()) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			number := slices.Contains([]string{"count", "counts", "float64", "numbers", "uint64"}, f.Value.Type())
			if number && !ranges.MatchString(f.Usage) {
				t.Errorf("%s --%s: %q tells no range", c.CommandPath(), f.Name, f.Usage)
			}
			if len(f.Usage) < len("print JSON") {
				t.Errorf("%s --%s: %q says nothing", c.CommandPath(), f.Name, f.Usage)
			}
		})
	}
}

// The lines of a help fit into a terminal.
func TestHelpFitsIntoATerminal(t *testing.T) {
	for _, c := range append(commands(newRoot()), newRoot()) {
		var stdout, stderr bytes.Buffer
		args := append(strings.Fields(c.CommandPath())[1:], "--help")
		if code := run(t.Context(), args, &stdout, &stderr); code != exitOK {
			t.Errorf("%s --help: exit status %d", c.CommandPath(), code)
		}
		for line := range strings.Lines(stdout.String()) {
			if strings.Contains(line, "(default )") {
				t.Errorf("%s --help has a default that is empty: %s", c.CommandPath(), line)
			}
			if n := len([]rune(line)); n > 100 && !strings.HasPrefix(line, "  proactivedp ") {
				t.Errorf("%s --help has a line of %d columns: %s", c.CommandPath(), n, line)
			}
		}
	}
}

// The help of a command lists at most 25 flags. A command with more has --help-all, which lists all of
// them, in groups.
func TestHelpIsShort(t *testing.T) {
	listed := func(text string) []string {
		var names []string
		for _, m := range flagLine.FindAllStringSubmatch(text, -1) {
			names = append(names, m[1])
		}
		return names
	}
	known := map[string]bool{}
	many := 0
	for _, c := range commands(newRoot()) {
		path := strings.Fields(c.CommandPath())[1:]
		short := listed(printed(t, strings.Join(append(path, "--help"), " ")))
		c.LocalFlags().VisitAll(func(f *pflag.Flag) { known[f.Name] = true })
		if len(short) > manyFlags {
			t.Errorf("%s --help lists %d flags", c.CommandPath(), len(short))
		}
		if c.LocalFlags().Lookup("help-all") == nil {
			continue
		}
		many++
		text := printed(t, strings.Join(append(path, "--help-all"), " "))
		all := listed(text)
		if want := shown(c.LocalFlags()); len(all) != want || !strings.Contains(text, "\nRunning and output:\n") {
			t.Errorf("%s --help-all lists %d flags, want %d in groups", c.CommandPath(), len(all), want)
		}
		for _, name := range short {
			if !slices.Contains(all, name) {
				t.Errorf("%s --help-all does not list --%s", c.CommandPath(), name)
			}
		}
		if shortHelp[c.Name()] == "" || len(short) < 15 {
			t.Errorf("%s --help lists %d flags of %d", c.CommandPath(), len(short), len(all))
		}
	}
	if many != len(shortHelp) {
		t.Errorf("%d commands have many flags, want %d", many, len(shortHelp))
	}
	for command, names := range shortHelp {
		for name := range strings.FieldsSeq(names) {
			if !known[name] {
				t.Errorf("shortHelp of %s has --%s, and no command has", command, name)
			}
		}
	}
}

// flagLine finds the name of a flag in the help.
var flagLine = regexp.MustCompile(`(?m)^ {2}(?:-[a-z], |    )--([a-z0-9-]+)`)

// Every command has examples, their flags are the command's, and those that need
// neither data nor long are run.
func TestExamplesRun(t *testing.T) {
	t.Chdir(t.TempDir())
	rounds := `[{"sigma": 20, "sample_size": 20, "dataset_size": 10000, "steps": 500}]`
	if err := os.WriteFile("rounds.json", []byte(rounds), 0o666); err != nil {
		t.Fatal(err)
	}
	cheap := []string{"plan", "account", "calibrate", "tradeoff", "version", "list"}
	ran := 0
	for _, c := range commands(newRoot()) {
		if c.Example == "" && c.Runnable() {
			t.Errorf("%s has no example", c.CommandPath())
		}
		for line := range strings.Lines(c.Example) {
			_, piped, is := strings.Cut(line, " | ") // what is before it is another program
			if !is {
				piped = line
			}
			words := strings.Fields(strings.ReplaceAll(piped, "'", ""))
			if len(words) < 2 || words[0] != "proactivedp" {
				t.Errorf("%s: the example %q is no command line of proactivedp", c.CommandPath(), line)
				continue
			}
			found, rest, err := newRoot().Find(words[1:])
			if err != nil || found.CommandPath() != c.CommandPath() {
				t.Errorf("%s: the example %q is of %v (%v)", c.CommandPath(), line, found, err)
				continue
			}
			if err := found.ParseFlags(rest); err != nil {
				t.Errorf("%s: the example %q: %v", c.CommandPath(), line, err)
			}
			if !slices.Contains(cheap, c.Name()) {
				continue
			}
			ran++
			var stdout, stderr bytes.Buffer
			if code := run(t.Context(), words[1:], &stdout, &stderr); code != exitOK || stdout.Len() == 0 {
				t.Errorf("%s: the example %q: exit status %d: %s", c.CommandPath(), line, code, &stderr)
			}
		}
	}
	if ran < 14 {
		t.Errorf("%d examples ran, must be at least 14", ran)
	}
}

// The commands that committed results state have the paper's names of flags, and still parse.
func TestCommittedCommandsParse(t *testing.T) {
	manifests, err := filepath.Glob("../../results/*/manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	parsed := 0
	for _, name := range manifests {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var made struct{ Command string }
		if err := json.Unmarshal(text, &made); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		words := strings.Fields(strings.NewReplacer("'", "", `"`, "").Replace(made.Command))
		if len(words) < 2 || words[0] != "proactivedp" {
			continue
		}
		parsed++
		cmd, rest, err := newRoot().Find(words[1:])
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if err != nil {
			t.Errorf("%s: %s: %v", name, made.Command, err)
		}
	}
	if parsed < 30 {
		t.Errorf("%d commands were parsed, must be at least 30", parsed)
	}
}
