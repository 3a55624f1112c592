package experiments

import (
	"strings"
	"testing"

	"proactivedp/data/synth"
	"proactivedp/dp/claim"
	"proactivedp/experiments/presets"
	"proactivedp/rng"
	"proactivedp/train"
)

// A caption says who holds a record as the partition deals it: what a record pays for hangs
// on that, and with shards it is the rounds of one client.
func TestCaptionsSayWhoHoldsARecord(t *testing.T) {
	s := convexSetting(presets.Convex(train.Ridge, "phishing"))
	d, err := synth.Make("synth-phishing", rng.New(1))
	if err != nil {
		t.Fatal(err)
	}
	f := &frame{source: train.NewSource(d), seeds: 1, scale: 1}
	for _, c := range []struct {
		partition string
		clients   int
		want      string
	}{
		{"replicate", 5, "per record, which all 5 clients hold. "},
		{"replicate", 1, "per record, which the client holds. "},
		{"shard", 5, "per record, which one client alone holds. "},
		{"dirichlet:0.5", 3, "per record, which one client alone holds. "},
	} {
		spec := s.Train
		spec.Partition, spec.Clients = c.partition, c.clients
		if got := s.curveCaption(f, []member{{spec: spec}}, []claim.Report{{}}); !strings.Contains(got, c.want) {
			t.Errorf("%s of %d: %s, want %s", c.partition, c.clients, got, c.want)
		}
	}
}
