package lint

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// dataEnv names the folder of the real data sets, for the commands that train.
const dataEnv = "PROACTIVEDP_DATA"

// elided stands in a transcript for what is left out: on a line of its own for
// any number of lines, within a line for any text.
const elided = "…"

// transcript is a command in a "console" block of a Markdown file, and what it
// prints there; without any output the block only shows how it is called.
type transcript struct {
	where, command string
	output         []string
}

// transcripts lists the commands in the "console" blocks of a Markdown file.
func transcripts(name, text string) []transcript {
	_, fences := split(text)
	var list []transcript
	for _, f := range fences {
		if f.language != "console" {
			continue
		}
		for i, line := range strings.Split(strings.TrimSuffix(f.code, "\n"), "\n") {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				list = append(list, transcript{where: fmt.Sprintf("%s:%d", name, f.line+i), command: command})
			} else if len(list) > 0 {
				last := &list[len(list)-1]
				last.output = append(last.output, line)
			}
		}
	}
	return list
}

// differs says how a transcript differs from what was printed, or "".
func differs(want, got []string) string {
	if len(want) == 0 {
		if len(got) == 0 {
			return ""
		}
		return fmt.Sprintf("it prints more: %q", got[0])
	}
	if want[0] == elided {
		first := ""
		for skip := range len(got) + 1 {
			why := differs(want[1:], got[skip:])
			if why == "" {
				return ""
			}
			if first == "" || skip < len(got) && len(want) > 1 && lineMatches(want[1], got[skip]) {
				first = why
			}
		}
		return first
	}
	if len(got) == 0 {
		return fmt.Sprintf("it does not print %q", want[0])
	}
	if !lineMatches(want[0], got[0]) {
		return fmt.Sprintf("it prints %q, not %q", got[0], want[0])
	}
	return differs(want[1:], got[1:])
}

// lineMatches reports whether a printed line is the one in a transcript.
func lineMatches(want, got string) bool {
	parts := strings.Split(want, elided)
	rest, ok := strings.CutPrefix(got, parts[0])
	for i, part := range parts[1:] {
		if i == len(parts)-2 && part == "" {
			return ok
		}
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return ok && strings.TrimRight(rest, " ") == ""
}

func TestDocsTranscriptsAreCompared(t *testing.T) {
	for _, c := range []struct {
		want, got string
		same      bool
	}{
		{"a\nb", "a\nb", true},
		{"a\nb", "a\nc", false},
		{"a", "a\nb", false},
		{"a\nb", "a", false},
		{"a\n…", "a\nb\nc", true},
		{"a\n…\nd", "a\nb\nc\nd", true},
		{"a\n…\nd", "a\nd", true},
		{"a\n…\nd", "a\nb\nc", false},
		{"…\nc\n…", "a\nb\nd", false},
		{"a …", "a 0.12", true},
		{"a … s", "a 0.12 s", true},
		{"a … s", "a 0.12 m", false},
		{"a … s", "a 0.12 s more", false},
		{"a", "ab", false},
	} {
		if why := differs(strings.Split(c.want, "\n"), strings.Split(c.got, "\n")); (why == "") != c.same {
			t.Errorf("%q against %q: %q", c.want, c.got, why)
		}
	}
}

// The program prints what the pages show. Every command in a "console" block is run if its output is
// shown. Otherwise its flags must exist. The commands run in a folder with the files of testdata/docs.
// Commands that train need the real data.
func TestDocsTranscriptsAreReal(t *testing.T) {
	var all []transcript
	for name, text := range markdown(t) {
		all = append(all, transcripts(name, text)...)
	}
	slices.SortFunc(all, func(a, b transcript) int { return strings.Compare(a.where, b.where) })
	if len(all) == 0 {
		t.Fatal("there is no transcript in any Markdown file: the test tests nothing")
	}
	program := filepath.Join(t.TempDir(), "proactivedp")
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, module+"/cmd/proactivedp").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	printed := map[string][]string{}
	for _, c := range all {
		t.Run(c.where, func(t *testing.T) { c.check(t, program, printed) })
	}
}

// check runs the command of a transcript, unless it has printed before what is compared.
func (c transcript) check(t *testing.T, program string, printed map[string][]string) {
	args, err := words(c.command)
	if err != nil || args[0] != "proactivedp" {
		t.Fatalf("%q is no call of proactivedp: %v", c.command, err)
	}
	if len(c.output) == 0 {
		if out, err := exec.Command(program, append(args[1:], "--help")...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", c.command, err, out)
		}
		return
	}
	data := []string{"train", "delay", "utility", "search", "auto", "propose"}
	if os.Getenv(dataEnv) == "" && slices.Contains(data, args[1]) {
		t.Skipf("%s is not set", dataEnv)
	}
	if _, ok := printed[c.command]; !ok {
		run := exec.Command(program, args[1:]...)
		run.Dir = t.TempDir()
		run.Env = append(os.Environ(), "GOGC=400")
		if err := os.CopyFS(run.Dir, os.DirFS("testdata/docs")); err != nil {
			t.Fatal(err)
		}
		out, err := run.Output()
		if err != nil {
			t.Fatalf("%s: %v", c.command, err)
		}
		printed[c.command] = strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	}
	if why := differs(c.output, printed[c.command]); why != "" {
		t.Errorf("%s: %s", c.command, why)
	}
}

// words parts a command line at spaces, but for those in single quotes.
func words(line string) ([]string, error) {
	var list []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			list = append(list, part)
			continue
		}
		list = append(list, strings.Fields(part)...)
	}
	if strings.Count(line, "'")%2 == 1 || len(list) < 2 {
		return nil, fmt.Errorf("a command and its arguments, quotes in pairs")
	}
	return list, nil
}
