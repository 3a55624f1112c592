package main

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"proactivedp/cmd/proactivedp/internal/cli"
)

// Every flag that names a file is known as one that is read or written.
func TestFilesAreReadOrWritten(t *testing.T) {
	for _, c := range commands(newRoot()) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			of, _ := pflag.UnquoteUsage(f)
			if of == "file" && !slices.Contains(slices.Concat(cli.WrittenFlags(), cli.ReadFlags()), f.Name) {
				t.Errorf("%s --%s names a file that nothing says is read or written", c.CommandPath(), f.Name)
			}
		})
	}
}

// No command writes the file that it reads or writes by another flag: it says so, before it
// does anything, however the file is named.
func TestNothingIsWrittenOverWhatIsRead(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("file", []byte("content"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir("folder", 0o777); err != nil {
		t.Fatal(err)
	}
	for link, of := range map[string]string{"link": "file", "here": "folder"} {
		if err := os.Symlink(of, link); err != nil {
			t.Skip(err)
		}
	}
	tried := 0
	for _, c := range commands(newRoot()) {
		written, others := namedFiles(c)
		for _, w := range written {
			for _, r := range others {
				if r == w || w == "checkpoint" && r == "resume" || w == "record" && r == "after" {
					continue
				}
				tried++
				for _, names := range [][2]string{{"file", "./file"}, {"link", "file"}, {"here/new", "folder/new"}} {
					checkApart(t, c, w, names[0], r, names[1])
				}
			}
		}
	}
	if text, err := os.ReadFile("file"); string(text) != "content" || err != nil {
		t.Errorf("the file holds %q, %v", text, err)
	}
	t.Logf("%d pairs of flags", tried)
	if tried < 50 {
		t.Errorf("%d pairs of flags, want at least 50", tried)
	}
}

// A report is not written over what it is made of.
func TestAReportIsNoResult(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("results/figure", 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"README.md", "manifest.json", "data.csv", "figure.png", "figure.svg", "figure.pdf"} {
		path := "results/figure/" + name
		if err := os.WriteFile(path, []byte("content"), 0o666); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), []string{"report", "results", "--out", path}, &stdout, &stderr)
		if code != exitUsage || !strings.Contains(stderr.String(), "--out = "+path+", must not end in .") {
			t.Errorf("%s: exit status %d, %s", path, code, &stderr)
		}
		if text, err := os.ReadFile(path); string(text) != "content" || err != nil {
			t.Errorf("%s holds %q, %v", path, text, err)
		}
	}
}

// namedFiles returns the flags by which a command writes files, and all that name files.
func namedFiles(c *cobra.Command) (written, all []string) {
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		of, _ := pflag.UnquoteUsage(f)
		switch isFile := of == "file" || of == "path"; {
		case isFile && slices.Contains(cli.WrittenFlags(), f.Name):
			written, all = append(written, f.Name), append(all, f.Name)
		case slices.Contains(cli.ReadFlags(), f.Name) && f.Value.Type() != "bool":
			all = append(all, f.Name)
		}
	})
	return written, all
}

// checkApart checks that a command refuses to write a file by one flag that another names.
func checkApart(t *testing.T, c *cobra.Command, written, path, other, same string) {
	t.Helper()
	if other == "compute-time" || other == "latency" {
		same = "trace:" + same
	}
	args := append(strings.Fields(c.CommandPath())[1:], "--"+other, same, "--"+written, path)
	if c.Args != nil && c.Args(c, nil) != nil {
		args = append(args, "argument")
	}
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), args, &stdout, &stderr)
	either := strings.Contains(stderr.String(), "--"+written+" = "+path+", must not be the file of --"+other) ||
		strings.Contains(stderr.String(), "--"+other+" = "+same+", must not be the file of --"+written)
	if code != exitUsage || !either {
		t.Errorf("%s: exit status %d, %s", strings.Join(args, " "), code, &stderr)
	}
}

// The standard streams may be one terminal, and the null device takes and gives all: neither is a file that could be
// lost. Streams that are redirected to one regular file are such a file, so the test cannot run there.
func TestDevicesAreNoFiles(t *testing.T) {
	if info, err := os.Stderr.Stat(); err != nil || info.Mode().IsRegular() {
		t.Skip("stderr is a regular file")
	}
	for _, path := range []string{"/dev/stdin", "/dev/stdout", "/dev/null"} {
		if cli.SameFile(path, "/dev/stderr") {
			t.Errorf("%s is /dev/stderr", path)
		}
	}
	if cli.SameFile(os.DevNull, os.DevNull) {
		t.Errorf("%s can be lost", os.DevNull)
	}
	if !cli.SameFile("/dev/stdout", "/dev/stdout") {
		t.Error("two files on one standard output are not apart")
	}
}

// A flag with two values is refused, whatever the command, and says both; one that is a list,
// or says the same again, is not.
func TestAFlagHasOneValue(t *testing.T) {
	t.Chdir(t.TempDir())
	tried := 0
	for _, c := range commands(newRoot()) {
		args, want := strings.Fields(c.CommandPath())[1:], ""
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !slices.Contains([]string{"numbers", "counts", "stringArray", "stringSlice"}, f.Value.Type()) {
				tried++
				args = append(args, "--"+f.Name+"=1", "--"+f.Name+"=1", "--"+f.Name+"=2")
				want += "--" + f.Name + " is given twice: 1 and 2\n"
			}
		})
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), args, &stdout, &stderr)
		if want != "" && (code != exitUsage || !strings.HasPrefix(stderr.String(), "proactivedp: "+want)) {
			t.Errorf("%s: exit status %d, %s", strings.Join(args, " "), code, &stderr)
		}
	}
	if tried < 300 {
		t.Errorf("%d flags were tried, want at least 300", tried)
	}
	for _, line := range []string{
		"plan --n 1e4 --epsilon 1 --tight=false --n=1e4 --tight=false", "plan --help --help",
		"account --sigma 2 --sample-rate 0.1 --steps 10 --delta 1e-5 --json --json",
		"plan --n 1e4 --method closed-form --tight=false --record kept.json --orders 200 --orders 300",
	} {
		printed(t, line)
	}
	for line, want := range map[string]string{
		"plan --epsilon 1 --json --epsilon=2 --json=false": "--target-epsilon is given twice: 1 and 2\n" +
			"--json is given twice: true and false\n",
		"plan --epsilon 1 --nonsense --epsilon 2": "unknown flag --nonsense\n",
		"plan --epsilon 1 --epsilon":              "--target-epsilon needs a value\n",
	} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), strings.Fields(line), &stdout, &stderr); code != exitUsage ||
			!strings.HasPrefix(stderr.String(), "proactivedp: "+want) {
			t.Errorf("%s: exit status %d, %s", line, code, &stderr)
		}
	}
}
