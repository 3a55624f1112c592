//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"proactivedp/internal/cpu"
	"proactivedp/internal/results"
	"proactivedp/train"
)

// A run of each kind of model and runner has a cost above 0, and has as many rounds as it reports.
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
	for _, text := range []string{`{"model":"logreg","runner":"virtual","columns":68,"clients":0,"rounds":5}`,
		`{"model":"logreg","runner":"virtual","columns":29,"clients":1,"rounds":5}`, `{"model":"none"}`, "68"} {
		if err := measureScale(&bytes.Buffer{}, text); err == nil {
			t.Errorf("%s was measured", text)
		}
	}
}

// Each row has 30 entries in increasing columns, for any number of columns.
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

// The folder has, for each point, the measured cost and the cost by the law. In this test a round takes
// 600 + 20·log₂ n + d ns, and the memory is 10 MiB plus 4 KiB for each client.
func TestScaleIsWritten(t *testing.T) {
	law := &scaleLaw{A: 600, B: 20, C: 1, Cache: 1 << 30, Base: 10 << 20, Client: 4096, Time: lawFit{0.01, 0.05}}
	points := []scalePoint{
		{Runner: train.VirtualRunner, Model: train.Ridge, Processors: 1, Clients: 8192, Params: 69, Updates: 81920,
			Rate: 2e6, Nanoseconds: 500, Least: 400, Most: 700, MiB: 40},
		{Runner: train.VirtualRunner, Model: train.Ridge, Processors: 1, Clients: manyClients, Params: 69,
			Updates: 100_000, Rate: 250_000, Nanoseconds: 4000, Least: 3000, Most: 4500, MiB: 75},
		{Runner: train.HogwildRunner, Model: train.Ridge, Processors: 2, Clients: 4, Params: 101, Updates: 400,
			Rate: 1e6, Nanoseconds: 2000, Least: 1900, Most: 2100, MiB: 20},
		{Runner: train.VirtualRunner, Model: train.LeNetReLU, Processors: 1, Clients: 2, Params: 300, Updates: 6,
			Rate: 99.5, Nanoseconds: 1e7, Least: 9e6, Most: 2e7, Gradient: 1e6, MiB: 30},
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
	page := read(scaleReadme)
	for _, want := range []string{
		"| 10,000 clients, logistic regression, virtual | client rounds per second of one processor | 250000 | ≥ " +
			"400000 | missed |\n",
		"| 10,000 clients, logistic regression, virtual | peak memory of the process | 75 MiB | ≤ 1024 MiB | met |\n",
		"| virtual | logreg | 69 | 8192 | 2,000,000 | 500 | 929 | 40 | 42 |\n",
		"| hogwild | logreg | 101 | 4 | 1,000,000 | 2,000 | – | 20 | – |\n",
		"| virtual | lenet-relu | 300 | 2 | 99.5 | 10,000,000 | 1,000,920 | 30 | 10 |\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	const header = "runner,model,processors,clients,parameters,client_rounds,client_rounds_per_second," +
		"processor_ns,processor_ns_least,processor_ns_most,gradient_ns,law_ns,peak_mib,law_mib"
	const table = header + `
virtual,logreg,1,8192,69,81920,2e+06,500,400,700,0,929,40,42
virtual,logreg,1,10000,69,100000,2.5e+05,4000,3000,4500,0,934.75,75,49.062
hogwild,logreg,2,4,101,400,1e+06,2000,1900,2100,0,,20,
virtual,lenet-relu,1,2,300,6,99.5,1e+07,9e+06,2e+07,1e+06,1.0009e+06,30,10.008
`
	if got := read(results.TableFile); got != table {
		t.Errorf("the data is\n%swant%s", got, table)
	}
	var m struct {
		Law   scaleLaw
		Runs  int
		Files []string
	}
	if err := json.Unmarshal([]byte(read(results.ManifestFile)), &m); err != nil || m.Law != *law || m.Runs != 3 {
		t.Errorf("the manifest says %+v, %v, want 3 runs and the law %+v", m, err, *law)
	}
	for _, name := range m.Files {
		if len(read(name)) == 0 {
			t.Errorf("%s is empty", name)
		}
	}
	for name, q := range map[string]scaleQuantity{scalePicture: timeCost, scaleMemory: memoryCost} {
		var drawn bytes.Buffer
		if err := q.draw(&drawn, points, law, scaleCaption(&scaleManifest{Machine: cpu.Describe(), CPUs: runtime.NumCPU(), Runs: 3, Law: *law})); err != nil {
			t.Fatal(err)
		}
		if read(name) != drawn.String() {
			t.Errorf("%s is another picture than %q", name, q.title)
		}
	}
}

// The stored data have everything that the pictures show. A table without rows is refused.
func TestStoredScale(t *testing.T) {
	points := []scalePoint{{Runner: train.HogwildRunner, Model: train.Ridge, Processors: 2, Clients: 5, Params: 69, Updates: 50,
		Rate: 1e5, Nanoseconds: 1000, Least: 900, Most: 2000, Gradient: 7, MiB: 20}}
	rows := scaleRecords(points, &scaleLaw{})
	got, err := storedScale(results.Table{Header: rows[0], Rows: rows[1:]})
	if err != nil || !slices.Equal(got, points) {
		t.Errorf("%+v, want %+v, %v", got, points, err)
	}
	if _, err := storedScale(results.Table{Header: rows[0]}); err == nil {
		t.Error("a table without rows was accepted")
	}
}
