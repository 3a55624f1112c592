package train

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The hash in a spec depends on the content of a trace, not on the name of its file.
func TestTraceIsPinnedByContent(t *testing.T) {
	file := filepath.Join(t.TempDir(), "times.csv")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	s := smallSpec()
	s.Clients, s.Compute = 2, "trace:"+file
	write("client,duration\n0,1ms\n1,2ms\n")
	pinned, err := s.Pinned()
	if err != nil || len(pinned.ComputeTrace) != 64 || pinned.LatencyTrace != "" {
		t.Fatalf("%+v, %v", pinned, err)
	}
	p, err := s.Prepare(drawn(), nil)
	if err != nil || p.Spec != pinned {
		t.Fatalf("prepared %+v, pinned %+v, %v", p.Spec, pinned, err)
	}
	write("client,duration\n0,1ms\n1,3ms\n")
	if other, err := s.Pinned(); err != nil || other == pinned {
		t.Errorf("another content is pinned as %+v, %v", other, err)
	}
	if _, err := pinned.Prepare(drawn(), nil); err == nil ||
		!strings.Contains(err.Error(), "must be "+pinned.ComputeTrace) {
		t.Errorf("another content than pinned: %v", err)
	}
	pinned.Compute = "constant:1ms"
	if _, err := pinned.Pinned(); err == nil || !strings.Contains(err.Error(), "not a trace") {
		t.Errorf("a pinned duration that is no trace: %v", err)
	}
}

// Results that were stored before traces and networks existed keep their keys: the default spec has no new
// keys.
func TestDefaultSpecNamesNothingNew(t *testing.T) {
	text, err := json.Marshal(DefaultSpec())
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"model":"logreg","data":"phishing","clients":5,"grad_computations":50000,"sample_size":"26",` +
		`"sigma":19.29962,"clip":0.1,"eta0":0.1,"beta":0.001,"schedule":"linear","delay":"1",` +
		`"partition":"replicate","sampling":"poisson","runner":"virtual","compute_time":"exponential:10µs",` +
		`"latency":"constant:100µs","delta":0,"seed":1}`
	if string(text) != want {
		t.Errorf("%s, want %s", text, want)
	}
}
