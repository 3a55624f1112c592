package results

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// write writes a file of a test's folder.
func write(t *testing.T, content string, path ...string) {
	t.Helper()
	at := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(at), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}

// pixel is a small picture.
func pixel(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	if err := png.Encode(&out, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

const tableText = `series,seed,sigma,sample_size,test_accuracy,certified_epsilon_per_record
plain,1,0,26,0.5,
plain,1,0,26,0.9,
plain,2,0,26,0.8,
private,1,19,26,0.75,0.031
`

// results returns a folder with a figure and a page.
func results(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, `{"title": "A <b>figure</b>", "command": "proactivedp figures \"x\"", "seeds": 2,
"scale": 0.5, "runner": "hogwild", "files": ["figure.png", "data.csv"],
"data": {"name": "phishing", "sha256": "0123456789abcdef", "rows": 7, "synthetic": true},
"version": "v1",
	"made": "2026-01-01"}`,
		dir, "a-figure", "manifest.json")
	write(t, tableText, dir, "a-figure", "data.csv")
	write(t, pixel(t), dir, "a-figure", "figure.png")
	write(t, "# Search\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n![a curve](curve.png)\n\n<script>alert(1)</script>\n\n"+
		"[elsewhere](https://example.com) and [here](other.csv), [both\nlines](https://example.com/2 \"a title\")\n",
		dir, "search-a", "README.md")
	write(t, pixel(t), dir, "search-a", "curve.png")
	write(t, "# Bench\n", dir, "bench.md")
	write(t, "# Index\n", dir, "README.md")
	write(t, "{}", dir, ".cells", "x.json")
	return dir
}

// text returns the page of a folder.
func text(t *testing.T, dir string) string {
	t.Helper()
	p, err := ReadPage(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := p.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// address is what a page leads to or takes something from.
var address = regexp.MustCompile(`(?:src|href)="([^"]*)"`)

// checkSelfContained reports what a page needs beside it, and links that lead nowhere.
func checkSelfContained(t *testing.T, page string) {
	t.Helper()
	seen := 0
	for _, found := range address.FindAllStringSubmatch(page, -1) {
		seen++
		at := found[1]
		if id, inside := strings.CutPrefix(at, "#"); inside {
			if !strings.Contains(page, `id="`+id+`"`) {
				t.Errorf("a link to %s leads nowhere", at)
			}
		} else if !strings.HasPrefix(at, "data:image/png;base64,") && !strings.HasPrefix(at, "data:application/gzip;base64,") {
			t.Errorf("the page needs %.60s", at)
		}
	}
	if seen < 5 {
		t.Errorf("%d addresses were looked at", seen)
	}
}

func TestPage(t *testing.T) {
	page := text(t, results(t))
	checkSelfContained(t, page)
	for _, want := range []string{"1 figure and 2 pages", "A &lt;b&gt;figure&lt;/b&gt;",
		"proactivedp figures &#34;x&#34;", "<strong>0.5 of K</strong>", "runner hogwild: no other run has the same",
		"<strong>synthetic</strong>", "0123456789ab",
		"0.8500 ± 0.0707", "<td>0.7500</td><td>0.031</td>", "elsewhere and here", "<h3>Search</h3>",
		"By <code>v1</code>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, bad := range []string{"<b>figure", "alert(1)", "example.com", "ZgotmplZ", "Index</h"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
}

// What is damaged, hostile or missing is an error that names it, and no half of a page.
func TestBadFolders(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(dir string)
		want  string
	}{
		"manifest": {func(dir string) { write(t, `{"title": "x"`, dir, "a-figure", "manifest.json") }, "a-figure"},
		"digest": {func(dir string) {
			write(t, `{"title": "x", "manifest_sha256": "00"}`, dir, "a-figure", "manifest.json")
		},
			"damaged"},
		"table": {func(dir string) { write(t, "a,a\n", dir, "a-figure", "data.csv") }, "appears twice"},
		"escape": {func(dir string) { write(t, "![x](../a-figure/figure.png)", dir, "search-a", "README.md") },
			"in the folder of the page"},
		"picture": {func(dir string) { write(t, "![x](none.png)", dir, "search-a", "README.md") }, "none.png"},
		"nothing": {func(dir string) {
			for _, name := range []string{"a-figure", "search-a", "bench.md"} {
				if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
		}, "has no results"},
	} {
		dir := results(t)
		c.spoil(dir)
		if _, err := ReadPage(dir); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
	if _, err := ReadPage(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a folder that is not there is read")
	}
}

// The page of the committed results has every figure, search and table. How long it takes
// is told, and not tested: it is a matter of the machine.
func TestCommittedResultsAreAPage(t *testing.T) {
	if testing.Short() {
		t.Skip("reads all results, and does one thing at a time")
	}
	begun := time.Now()
	page := text(t, "../../results")
	t.Logf("%d bytes in %v", len(page), time.Since(begun))
	checkSelfContained(t, page)
	if most := 8 << 20; len(page) > most {
		t.Errorf("%d bytes, must be at most %d", len(page), most)
	}
	figures, err := filepath.Glob("../../results/*/figure.png")
	if err != nil || len(figures) < 30 {
		t.Fatalf("%d figures, error %v", len(figures), err)
	}
	for _, path := range figures {
		if name := filepath.Base(filepath.Dir(path)); !strings.Contains(page, fmt.Sprintf(`id="figure-%s"`, name)) &&
			!strings.Contains(page, fmt.Sprintf(`id="text-%s"`, name)) {
			t.Errorf("the page lacks %s", name)
		}
	}
	if !strings.Contains(page, "<em>The paper states an accuracy.</em>") {
		t.Error("the rule of the verdicts is not in HTML")
	}
	at := 0 // of the last figure that was found
	for _, id := range []string{"figure-phishing-logreg-utility", "figure-phishing-logreg-plain-utility", "figure-mnist-lenet-epsilon",
		"figure-mushrooms-logreg-utility", "figure-cifar10-alexnet-epsilon", "figure-cifar10-budget"} {
		if i := strings.Index(page, `id="`+id+`"`); i <= at {
			t.Errorf("%s is not in the order of the paper", id)
		} else {
			at = i
		}
	}
	if n := strings.Count(page, "privacy statement"); n < 20 {
		t.Errorf("%d figures with statements, must be at least 20", n)
	}
}

// A tableText of budgets that lacks a column is read without it: files of others are no reason
// to panic.
func TestTablesThatLackColumns(t *testing.T) {
	header := []string{"series", "seed", "sigma", "sample_size", "gradients_of_all_clients",
		"certified_epsilon_per_record", "test_accuracy"}
	row := []string{"a", "1", "2", "30", "600", "0.1", "0.9"}
	if all := ends(header, [][]string{row}); len(all) != 1 || all[0].Series != "a: σ 2, s 30" {
		t.Errorf("ends %+v, want one of a: σ 2, s 30", all)
	}
	for i, name := range header {
		all := ends(slices.Delete(slices.Clone(header), i, i+1), [][]string{slices.Delete(slices.Clone(row), i, i+1)})
		if want := name != "series" && name != "seed" && name != "test_accuracy"; (len(all) == 1) != want {
			t.Errorf("without %s: ends %+v", name, all)
		}
	}
}

// Of a series whose runs cost differently, as those of sample sizes that adapt, the ε of the
// run that costs most is shown, and none if one of them claims none.
func TestSeriesShowTheLargestEpsilon(t *testing.T) {
	header := []string{"series", "seed", "test_accuracy", "certified_epsilon_per_record"}
	rows := [][]string{{"a", "1", "0.9", "0.099"}, {"a", "2", "0.9", "0.12"}, {"a", "3", "0.9", "0.1"},
		{"b", "1", "0.9", "0.1"}, {"b", "2", "0.9", ""}}
	all := ends(header, rows)
	if len(all) != 2 || all[0].Certified != "0.12" || all[1].Certified != "" {
		t.Errorf("ends %+v, want ε of 0.12, and none", all)
	}
}

// Runs of one series with noise and without are two ends, and what is left of w* under noise
// is none: not what a run ended with.
func TestSeriesOfSeveralSettings(t *testing.T) {
	header := []string{"series", "sigma", "seed", "test_accuracy"}
	rows := [][]string{{"τ = 1", "19.3", "1", "0.8"}, {"τ = 1", "19.3", "2", "0.9"}, {"τ = 1", "0", "1", "0.95"},
		{"τ = 1", "0", "2", "0.97"}}
	all := ends(header, rows)
	if len(all) != 2 || all[0].Series != "τ = 1: σ 19.3" || all[0].Accuracy != "0.8500 ± 0.0707" ||
		all[1].Series != "τ = 1: σ 0" || all[1].Accuracy != "0.9600 ± 0.0141" {
		t.Errorf("ends %+v, want those with noise and those without", all)
	}
	if all := ends(header, rows[:2]); len(all) != 1 || all[0].Series != "τ = 1" {
		t.Errorf("ends %+v of one setting, want τ = 1", all)
	}
	sizes := [][]string{{"a", "2", "1", "0.8"}, {"a", "3", "1", "0.9"}, {"b", "3", "1", "0.7"}}
	all = ends([]string{"series", "sample_size", "seed", "test_accuracy"}, sizes)
	if len(all) != 3 || all[1].Series != "a: s 3" || all[2].Series != "b: s 3" {
		t.Errorf("ends %+v, want one of each size", all)
	}
	graph := [][]string{{"no penalty", "18", "1", "0.95", "0.9"}, {"no penalty", "20", "1", "0.9", "0.8"}}
	if all := ends([]string{"series", "sigma", "seed", "fraction", "test_accuracy"}, graph); all != nil {
		t.Errorf("ends %+v of a graph of w*, want none", all)
	}
}

// A page shows the pictures that the manifest names, in whatever folder they are: not one of
// older data beside them. And it says what a command took for all that it made.
func TestPagesShowWhatWasMade(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "results[1]")
	made := func(files string) {
		write(t, `{"title": "T", "command": "proactivedp figures x", "seeds": 1, "files": [`+files+`], "cells": 9,
"cells_computed": 2, "seconds": 3, "cell_seconds": 40,
"data": {"name": "cifar10", "rows": 7, "note": "the test set is short"}}`,
			dir, "a-figure", "manifest.json")
	}
	write(t, tableText, dir, "a-figure", "data.csv")
	write(t, pixel(t), dir, "a-figure", "figure.png")
	made(`"figure.png", "data.csv", "manifest.json"`)
	page := text(t, dir)
	for _, want := range []string{`alt="T; its numbers`, "(the test set is short)",
		"took 3 s for all that it\nmade: 2 of 9 trainings computed then, all of which took 40 s"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	made(`"figure.pdf", "data.csv", "manifest.json"`)
	if strings.Contains(text(t, dir), `alt="T; its numbers`) {
		t.Error("the page shows a picture that the manifest does not name")
	}
	for _, bad := range []string{`"../figure.png"`, `"other.png"`} {
		made(bad)
		if _, err := ReadPage(dir); err == nil || !strings.Contains(err.Error(), strings.Trim(bad, `"./`)) {
			t.Errorf("files %s: error %v", bad, err)
		}
	}
}

// Nothing of a page is lost or leads away: a picture with a blank in its name, a link with a
// title or over two lines.
func TestUnusualNamesAndLinks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "results [old]*")
	write(t, `{"title": "x", "command": "c", "seeds": 1, "files": ["figure.png"], "data": {"name": "d"}}`, dir, "a [1]", "manifest.json")
	write(t, tableText, dir, "a [1]", "data.csv")
	write(t, pixel(t), dir, "a [1]", "figure.png")
	write(t, pixel(t), dir, "b", "my curve & axes.png")
	write(t, "# B\n\n![c](<my curve & axes.png>)\n\n[one](https://example.com \"a > title\"), [two\nlines](https://"+
		"example.com), <https://example.com>, [![in it](<my curve & axes.png>)](https://example.com)\n", dir, "b",
		"README.md")
	page := text(t, dir)
	for _, found := range address.FindAllStringSubmatch(page, -1) {
		if strings.Contains(found[1], "example.com") {
			t.Errorf("a link leads to %s", found[1])
		}
	}
	if n := strings.Count(page, `src="data:image/png`); n != 3 {
		t.Errorf("%d pictures, want the figure's and two of a page", n)
	}
	if !strings.Contains(page, "two\nlines") {
		t.Error("the words of a link are lost")
	}
}
