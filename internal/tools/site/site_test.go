package main

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"proactivedp/internal/tools/checkout"
)

// repository is the root of the repository, from where the tests run.
const repository = "../../.."

// stub is a planner that nothing was compiled for.
const stub = `<!doctype html><html lang="en"><title>p</title><p id="answer">planner</p></html>`

// The site of this repository has every guide and figure, and none of its
// links is broken.
func TestSiteOfTheRepository(t *testing.T) {
	tree, err := checkout.Read(repository)
	if err != nil {
		t.Fatal(err)
	}
	// The page of results packs each picture, which takes long. Package results tests that with the real ones.
	folder := t.TempDir()
	quick := checkout.Tree{}
	for name, text := range tree {
		if ok := strings.HasPrefix(name, "results/"); ok && path.Ext(name) == ".png" {
			quick[name] = pixel(t)
		} else if ok {
			quick[name] = text
		}
	}
	if err := quick.Write(folder); err != nil {
		t.Fatal(err)
	}
	files, err := made(tree, filepath.Join(folder, "results"), []byte(stub))
	if err != nil {
		t.Fatal(err)
	}
	seen, err := check(files)
	if err != nil {
		t.Error(err)
	}
	t.Logf("%d pages, %d links within, %d to elsewhere", seen.pages, seen.inner, seen.outer)
	if seen.pages < 40 || seen.inner < 1500 || seen.outer < 3 {
		t.Errorf("only %d pages, %d links within and %d to elsewhere were looked at", seen.pages, seen.inner,
			seen.outer)
	}
	var listed []string
	for _, g := range groups {
		for _, l := range g.guides {
			listed = append(listed, l.file)
			if tree[l.file] == nil {
				t.Errorf("the list of guides has %s, which is not there", l.file)
			}
		}
	}
	cards := 0
	for name := range tree {
		if ok, _ := path.Match("docs/*.md", name); ok && !slices.Contains(listed, name) {
			t.Errorf("the list of guides lacks %s", name)
		}
		if ok, _ := path.Match("results/*/figure.png", name); ok &&
			tree[path.Join(path.Dir(name), "README.md")] == nil {
			cards++
			if files[name] == nil {
				t.Errorf("the site lacks %s", name)
			}
			figure := path.Base(path.Dir(name))
			if !bytes.Contains(files[resultsAt], []byte(`<img src="`+figure+`/figure.png"`)) {
				t.Errorf("the page of results lacks %s", figure)
			}
		}
	}
	if cards < 30 {
		t.Errorf("%d figures were looked for", cards)
	}
	for at, want := range map[string][]string{
		home: {`<h1 id="proactivedp">`, `href="docs/planning.html"`, `href="planner.html"`,
			`id="two-commands"`, `<a href="#two-commands">`, `src="results/mushrooms-budget/figure.png"`},
		"docs/notation.html": {`aria-current="page">Symbols and names`, `role="region"`},
		"models/mlp/mlp.go.html": {`<pre class="source" tabindex="0">`,
			`<span>package mlp`},
		"results/bench.html": {`<h1`},
	} {
		for _, part := range want {
			if !bytes.Contains(files[at], []byte(part)) {
				t.Errorf("%s lacks %q", at, part)
			}
		}
	}
}

// pixel is a small picture.
func pixel(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := png.Encode(&out, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// small is a repository with little in it.
func small(t *testing.T) checkout.Tree {
	return checkout.Tree{
		"README.md": []byte(
			"# Title: `m`\n\n## One two?\n\n## One two?\n\n[own](#one-two-1) [guide](guide/a.md#σ-here) " +
				"[code](p/p.go) [package](p) [folder](q/)\n[outside](https://example.org/x)\n"),
		"guide/a.md": []byte("# A\n\n## σ *here*\n\n| | b |\n|---|---|\n| <b>1</b> | 2 |\n\n" +
			"![picture](../results/f/figure.png) [up](../README.md) [licence](../LICENSE) " +
			"[results](../results/README.md)\n\n```\n<code>\n```\n"),
		"docs/extend.md": []byte("# Extend\n"),
		"docs/paper.md":  []byte("# Figures\n"),
		"guide/.b.md":    []byte("no page"),
		"LICENSE":        []byte("as & you <like>\n"),
		"p/p.go":         []byte("// Package p is small.\npackage p\n"),
		"q/x.py":         []byte("print('<x>')\n"),
		"results/f/manifest.json": []byte(
			`{"title": "A <figure>", "command": "make it", "files": ["figure.png", "data.csv"]}`),
		"results/f/data.csv":   []byte("a,b\n1,2\n"),
		"results/f/figure.png": pixel(t),
		"results/README.md": []byte("# Index\n\n<img src=\"f/figure.png\" width=\"160\" alt=\"\"> " +
			"[data](f/data.csv) [bench](bench.md)\n"),
		"results/bench.md": []byte("# Bench\n"),
	}
}

// madeOf makes the site of a tree, whose results must lie in a folder, too.
func madeOf(t *testing.T, tree checkout.Tree) (checkout.Tree, error) {
	t.Helper()
	dir := t.TempDir()
	if err := tree.Write(dir); err != nil {
		t.Fatal(err)
	}
	return made(tree, filepath.Join(dir, "results"), []byte(stub))
}

func TestSmallSite(t *testing.T) {
	files, err := madeOf(t, small(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := check(files); err != nil {
		t.Error(err)
	}
	for at, want := range map[string][]string{
		home: {`<h1 id="title-m">Title: <code>m</code></h1>`, `<h2 id="one-two-1">`,
			`<a href="guide/a.html#%CF%83-here">`,
			`<a href="p/p.go.html">`, `<a href="p/index.html">`, `<a href="q/index.html">`,
			`<a href="https://example.org/x">`},
		"guide/a.html": {`<h2 id="σ-here">`, `<img src="../results/f/figure.png" alt="picture"`,
			`<a href="../index.html">`,
			`<a href="../LICENSE.html">`, `aria-label="A, table 1"`, `<pre tabindex="0"><code>&lt;code&gt;`,
			`<a href="../results/index.html">`, `<td></td>`},
		"LICENSE.html": {`as &amp; you &lt;like&gt;`},
		"q/index.html": {`<a href="x.py.html">x.py</a>`},
		"q/x.py.html":  {`print(&#39;&lt;x&gt;&#39;)`},
		"p/index.html": {`<a href="p.go.html">p.go</a>`},
		resultsAt:      {`<img src="f/figure.png" width="160" alt="">`, `href="f/data.csv"`, `<a href="bench.html">bench</a>`},
	} {
		for _, part := range want {
			if !bytes.Contains(files[at], []byte(part)) {
				t.Errorf("%s lacks %q:\n%s", at, part, files[at])
			}
		}
	}
	if bad := "guide/.b.html"; files[bad] != nil {
		t.Errorf("there is a page %s", bad)
	}
}

// What leads nowhere stops the site, and is named.
func TestBrokenLinksStopTheSite(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"file":     {"guide/a.md", "# A\n[x](none.md)\n", "guide/none.md is not in the repository"},
		"heading":  {"guide/a.md", "# A\n[x](../README.md#three)\n", `index.html has nothing named "three"`},
		"own":      {"guide/a.md", "# A\n[x](#b)\n", `guide/a.html has nothing named "b"`},
		"outside":  {"guide/a.md", "# A\n[x](../../x)\n", "outside of the repository"},
		"scheme":   {"guide/a.md", "# A\n[x](javascript:1)\n", "not the address of a web page"},
		"host":     {"guide/a.md", "# A\n[x](https:///y)\n", "not the address of a web page"},
		"raw":      {"guide/a.md", "# A\n<img src=\"none.png\" alt=\"\">\n", "there is no file guide/none.png"},
		"absolute": {"guide/a.md", "# A\n<a href=\"/etc\">x</a>\n", "leads out of the site"},
		"twice":    {"guide/a.md", "# A\n<a id=\"a\"></a>\n", `the name "a" appears twice`},
		"title":    {"guide/a.md", "no heading\n", "no heading of the first level"},
		"outline":  {"guide/a.md", "# A\n## b\n#### c\n", "a heading of level 4 follows one of level 2"},
		"titles":   {"guide/a.md", "# A\n## b\n# c\n", "a heading of level 1 follows one of level 2"},
		"orphan":   {"guide/b.md", "# B\n", "guide/b.html: no page links to it"},
		"manifest": {"results/f/manifest.json", "{", "manifest"},
	} {
		tree := small(t)
		tree[c.file] = []byte(c.text)
		if c.file != "guide/a.md" {
			tree["guide/a.md"] = []byte("# A\n")
		}
		files, err := madeOf(t, tree)
		if err == nil {
			_, err = check(files)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}

func TestRelative(t *testing.T) {
	for _, c := range [][3]string{
		{"index.html", "guide/a.html", "guide/a.html"}, {"guide/a.html", "index.html", "../index.html"},
		{"guide/a.html", "guide/b.html", "b.html"}, {"a/b/c.html", "a/d/e.html", "../d/e.html"},
		{"a/a/a.html", "a/a.html", "../a.html"},
		{"a/b.html", "b/b.html", "../b/b.html"}, {"index.html", "index.html", "index.html"},
	} {
		if got := relative(c[0], c[1]); got != c[2] {
			t.Errorf("from %s to %s: %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

// A folder of other files is left alone; an older site is replaced as a whole.
func TestOtherFoldersStay(t *testing.T) {
	dir := t.TempDir()
	mine := filepath.Join(dir, "mine")
	if err := (checkout.Tree{home: []byte("my own page")}).Write(mine); err != nil {
		t.Fatal(err)
	}
	if err := run(context.Background(), dir, mine, "", os.Stdout); err == nil || !strings.Contains(err.Error(),
		"mine") {
		t.Errorf("error %v, want one that names the folder", err)
	}
	out := filepath.Join(dir, "new", "site")
	for _, files := range []checkout.Tree{{home: []byte(mark), "old.html": nil},
		{home: []byte(mark), "a/b.html": nil}} {
		if err := checkPlace(out); err != nil {
			t.Fatal(err)
		}
		if err := place(files, out); err != nil {
			t.Fatal(err)
		}
	}
	got, err := filepath.Glob(filepath.Join(dir, "new", "*", "*"))
	if want := []string{filepath.Join(out, "a"), filepath.Join(out, home)}; err != nil || !slices.Equal(got, want) {
		t.Errorf("files %q, error %v, want %q", got, err, want)
	}
	left, err := os.ReadDir(filepath.Join(dir, "new"))
	if err != nil || len(left) != 1 {
		t.Errorf("%d entries beside the site, error %v", len(left), err)
	}
}

// Only a page that proactivedp page has written is taken for the planner.
func TestPlannerOfAnother(t *testing.T) {
	file := filepath.Join(t.TempDir(), "planner.html")
	if err := os.WriteFile(file, []byte(stub), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := plannerPage(context.Background(), repository, file); err == nil || !strings.Contains(err.Error(),
		file) {
		t.Errorf("error %v, want one that names the file", err)
	}
}
