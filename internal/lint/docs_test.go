package lint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"proactivedp/internal/report"
)

// repository is the root of the repository, from where the tests run.
const repository = "../.."

// markdown is the text of every Markdown file of the repository by its path
// below the root.
func markdown(t *testing.T) map[string]string { return texts(t, ".md") }

// texts reads all files with an extension, but for those of folders that are
// made by the program or that Git keeps for itself.
func texts(t *testing.T, extension string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(repository, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != repository && made(d.Name()) {
			return filepath.SkipDir
		}
		if !d.Type().IsRegular() || filepath.Ext(path) != extension {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(repository, path)
		found[filepath.ToSlash(name)] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Fatalf("no %s files below %s", extension, repository)
	}
	return found
}

// made reports whether a folder is made by a program, or is Git's own.
func made(folder string) bool {
	return strings.HasPrefix(folder, ".") || slices.Contains([]string{"out", "bin", "node_modules"}, folder)
}

// fence is a fenced block of code in a Markdown file.
type fence struct {
	language string
	line     int // of its first line of code, from 1
	code     string
}

// split parts a Markdown file into its prose, with empty lines in the place of
// code, and its fenced blocks.
func split(text string) (prose string, fences []fence) {
	var out strings.Builder
	var open *fence
	for i, line := range strings.Split(text, "\n") {
		mark, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence && open == nil:
			open = &fence{language: mark, line: i + 2}
		case isFence:
			fences, open = append(fences, *open), nil
		case open != nil:
			open.code += line + "\n"
		default:
			out.WriteString(line)
		}
		out.WriteByte('\n')
	}
	return out.String(), fences
}

var (
	codeSpan = regexp.MustCompile("`[^`\n]*`")
	linkTo   = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#{1,6} +(.*)$`)
	linkText = regexp.MustCompile(`\[([^\]]*)\]\([^()\s]+\)`)
)

// anchors lists what a link can point to in a Markdown file: the headings, as
// GitHub names them.
func anchors(text string) []string {
	prose, _ := split(text)
	var list []string
	for _, m := range heading.FindAllStringSubmatch(prose, -1) {
		title := linkText.ReplaceAllString(m[1], "$1")
		name := report.Anchor(title)
		unique := name
		for n := 1; slices.Contains(list, unique); n++ {
			unique = fmt.Sprintf("%s-%d", name, n)
		}
		list = append(list, unique)
	}
	return list
}

// brokenLinks lists the relative links of a Markdown file that lead nowhere:
// to no file or folder, or to no heading of a Markdown file.
func brokenLinks(name string, files map[string]string, exists func(path string) bool) []string {
	prose, _ := split(files[name])
	var broken []string
	for i, line := range strings.Split(codeSpan.ReplaceAllString(prose, "`code`"), "\n") {
		for _, m := range linkTo.FindAllStringSubmatch(line, -1) {
			target, err := url.Parse(m[1])
			if err == nil && target.IsAbs() {
				continue
			}
			say := func(what string) { broken = append(broken, fmt.Sprintf("%s:%d: %s: %s", name, i+1, m[1], what)) }
			if err != nil {
				say(err.Error())
				continue
			}
			path := name
			if target.Path != "" {
				path = filepath.ToSlash(filepath.Join(filepath.Dir(name), target.Path))
			}
			switch {
			case strings.HasPrefix(path, "..") || !exists(path):
				say("no such file")
			case target.Fragment != "" && !slices.Contains(anchors(files[path]), target.Fragment):
				say("no such heading")
			}
		}
	}
	return broken
}

func inRepository(path string) bool {
	_, err := os.Stat(filepath.Join(repository, path))
	return err == nil
}

func TestDocsLinksResolve(t *testing.T) {
	files := markdown(t)
	for name := range files {
		for _, bad := range brokenLinks(name, files, inRepository) {
			t.Error(bad)
		}
	}
}

// pageOf is how comments and messages in the source name a page.
var pageOf = regexp.MustCompile(`\b((?:docs/)?[a-z-]+\.md)(?:#([a-z0-9-]+))?`)

// If a text in the source refers readers to a page, this page exists and has the heading.
func TestDocsNamedInTheSourceExist(t *testing.T) {
	pages := markdown(t)
	for name, source := range texts(t, ".go") {
		for _, m := range pageOf.FindAllStringSubmatch(source, -1) {
			if !strings.HasPrefix(m[1], "docs/") && m[2] == "" {
				continue // a file that the program writes
			}
			page, ok := pages[m[1]]
			if strings.HasPrefix(name, "internal/lint/") {
				continue
			}
			if !ok || m[2] != "" && !slices.Contains(anchors(page), m[2]) {
				t.Errorf("%s names %s", name, m[0])
			}
		}
	}
}

func TestDocsBrokenLinksAreFound(t *testing.T) {
	files := map[string]string{
		"README.md": "[a](docs/a.md#one-two) [b](docs/b.md) ![c](c.png)\n" +
			"`[d](d.md)` [e](https://e.org/x.md)\n```\n[f](f.md)\n```\n",
		"docs/a.md": "# One: two?\n\n[up](../README.md) [self](#one-two) [not](#three)\n" +
			"[out](../../x.md)\n## σ and `x_y`\n[s](#σ-and-x_y)\n",
		"docs/code.md": "```\n# Not a heading\n```\n[n](#not-a-heading)\n",
	}
	exists := func(path string) bool { _, ok := files[path]; return ok }
	var got []string
	for _, name := range []string{"README.md", "docs/a.md", "docs/code.md"} {
		got = append(got, brokenLinks(name, files, exists)...)
	}
	want := []string{
		"README.md:1: docs/b.md: no such file", "README.md:1: c.png: no such file",
		"docs/a.md:3: #three: no such heading", "docs/a.md:4: ../../x.md: no such file",
		"docs/code.md:4: #not-a-heading: no such heading",
	}
	if !slices.Equal(got, want) {
		t.Errorf("found\n%q, want\n%q", got, want)
	}
}

// sourcePath matches, in prose, the path of a file or folder of this repository in code.
var sourcePath = regexp.MustCompile("`([a-z][a-z0-9_.-]*(?:/[a-z0-9_.-]+)+/?)`")

// Files and packages that the pages name by a path that begins with a folder of this repository
// exist.
func TestDocsNameNothingThatIsGone(t *testing.T) {
	paths := 0
	for name, text := range markdown(t) {
		prose, _ := split(text)
		for i, line := range strings.Split(prose, "\n") {
			for _, m := range sourcePath.FindAllStringSubmatch(line, -1) {
				first, _, _ := strings.Cut(m[1], "/")
				if !inRepository(first) || made(first) {
					continue // a file of the user's, or of another program
				}
				paths++
				if !inRepository(m[1]) && !inRepository(filepath.Join(filepath.Dir(name), m[1])) {
					t.Errorf("%s:%d: there is no %s", name, i+1, m[1])
				}
			}
		}
	}
	if paths < 50 {
		t.Errorf("only %d paths were looked at", paths)
	}
}

var (
	target     = regexp.MustCompile(`(?m)^([a-z0-9-]+):.*## `) // a target of the Makefile that says what it does
	makeTarget = regexp.MustCompile("`make ([a-z][a-z0-9-]*)")
)

// Pages name only targets of make that exist.
func TestDocsNameTargetsThatExist(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(repository, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for _, m := range target.FindAllStringSubmatch(string(text), -1) {
		known = append(known, m[1])
	}
	for name, page := range markdown(t) {
		for _, m := range makeTarget.FindAllStringSubmatch(page, -1) {
			if !slices.Contains(known, m[1]) {
				t.Errorf("%s names make %s, which is no target", name, m[1])
			}
		}
	}
}

// Complete programs in Markdown files are run, and must print the block of output that follows them.
func TestDocsProgramsRun(t *testing.T) {
	programs := 0
	for name, text := range markdown(t) {
		_, fences := split(text)
		for i, f := range fences {
			if f.language != "go" || !strings.HasPrefix(f.code, "package main\n") {
				continue
			}
			programs++
			if i+1 == len(fences) || fences[i+1].language != "" {
				t.Errorf("%s:%d: no block with the program's output follows it", name, f.line)
				continue
			}
			got := runProgram(t, f.code)
			if want := fences[i+1].code; got != want {
				t.Errorf("%s:%d prints\n%swant\n%s", name, f.line, got, want)
			}
		}
	}
	if programs == 0 {
		t.Error("there is no program in any Markdown file: the test tests nothing")
	}
}

// runProgram runs source as a program of this module, without writing into it.
func runProgram(t *testing.T, source string) string {
	t.Helper()
	dir := t.TempDir()
	real := filepath.Join(dir, "main.go")
	if err := os.WriteFile(real, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{
		"Replace": {filepath.Join(root, "cmd", "fromdocs", "main.go"): real},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	run := exec.Command("go", "run", "-ldflags=-s -w", "-overlay", filepath.Join(dir, "overlay.json"), "./cmd/fromdocs")
	run.Dir = root
	var stderr bytes.Buffer
	run.Stderr = &stderr
	out, err := run.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	return string(out)
}
