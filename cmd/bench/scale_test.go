//go:build unix

package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"proactivedp/train"
)

// A run of every kind of model and runner costs something, and does as many
// rounds as it says.
func TestScaleRunIsMeasured(t *testing.T) {
	for _, r := range []scaleRun{
		{train.VirtualRunner, train.Ridge, 68, 20, 10},
		{train.HogwildRunner, train.Ridge, 100, 3, 10},
		{train.VirtualRunner, train.LeNetReLU, 0, 2, 3},
	} {
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := measureScale(&out, string(text)); err != nil {
			t.Fatal(err)
		}
		var c scaleCost
		if err := json.Unmarshal(out.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		network := r.Columns == 0
		if c.Updates != r.Clients*r.Rounds || !(c.Seconds > 0) || !(c.Processor >= 0) || (c.Gradient > 0) != network {
			t.Errorf("%+v: %+v", r, c)
		}
		if !network && c.Params != r.Columns+1 {
			t.Errorf("%d parameters for %d columns", c.Params, r.Columns)
		}
	}
	for _, text := range []string{`{"model":"logreg","runner":"virtual","columns":68,"clients":0,"rounds":5}`, `{"model":"logreg","runner":"virtual","columns":29,"clients":1,"rounds":5}`, `{"model":"none"}`, "68"} {
		if err := measureScale(&bytes.Buffer{}, text); err == nil {
			t.Errorf("%s was measured", text)
		}
	}
}

// The rows have 30 entries each, in columns that increase, whatever their number.
func TestDrawnRows(t *testing.T) {
	for _, columns := range []int{entries, 68, 1 << 10} {
		d := drawnRows(columns)
		if err := d.Validate(); err != nil {
			t.Errorf("%d columns: %v", columns, err)
		}
		if len(d.Index) != entries*d.Len() || d.Features != columns {
			t.Errorf("%d entries in %d rows of %d columns", len(d.Index), d.Len(), d.Features)
		}
	}
}

func TestScaleIsWritten(t *testing.T) {
	var points []scalePoint
	for _, r := range scaleRuns() {
		if r.Model != train.Ridge {
			continue
		}
		ns := 1000 + float64(r.Clients) + float64(r.Columns)
		points = append(points, scalePoint{
			Runner: r.Runner, Model: r.Model, Processors: 1, Clients: r.Clients, Params: r.Columns + 1,
			Updates: r.Clients * r.Rounds, Rate: 1e9 / ns, Nanoseconds: ns, Least: ns, Most: ns, MiB: 20 + float64(r.Clients)/100,
		})
	}
	law, err := fitScale(lawful(points))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "scale")
	if err := writeScale(dir, points, law, 3); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	// 10,000 clients take 1e9/11,068 ns: 90 thousand rounds a second, and 120 MiB.
	for _, want := range []string{
		"client rounds per second of one processor | 90351 | ≥ 400000 | missed |",
		"peak memory of the process | 120 MiB | ≤ 1024 MiB | met |",
		"| virtual | logreg | 69 | 100000 |",
	} {
		if !strings.Contains(read(scaleReadme), want) {
			t.Errorf("the page lacks %q:\n%s", want, read(scaleReadme))
		}
	}
	rows, err := csv.NewReader(strings.NewReader(read(scaleTable))).ReadAll()
	if err != nil || len(rows) != len(points)+1 {
		t.Errorf("%d rows for %d points, %v", len(rows), len(points), err)
	}
	var m struct{ Law scaleLaw }
	if err := json.Unmarshal([]byte(read(scaleManifest)), &m); err != nil || m.Law != *law {
		t.Errorf("the manifest's law is %+v, %v, want %+v", m.Law, err, *law)
	}
	read(scalePicture)
	read(scaleMemory)
}
