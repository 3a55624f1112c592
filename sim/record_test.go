package sim

import (
	"context"
	"testing"
)

// The recorded events agree with the result: every round of every client once, with a permitted lag, every
// update and every broadcast. The counts of the result agree with them.
func TestRecordAgreesWithTheResult(t *testing.T) {
	cfg := small(t, exponentialTiming, withDelay(AtMost(3)))
	v, err := NewVirtual(cfg, Perf{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var staleness Staleness
	counts := map[HappeningKind]int{}
	began := make([]Time, cfg.Clients())
	busy := make([]Time, cfg.Clients())
	last := Time(0)
	note := func(h Happening) {
		if h.At < last {
			t.Errorf("%v at %d after %d", h.Kind, h.At, last)
		}
		last = h.At
		counts[h.Kind]++
		switch h.Kind {
		case RoundBegins:
			staleness.Add(h.Lag, 1)
			began[h.Client] = h.At
			if h.Size != 8 {
				t.Errorf("client %d, round %d: size %d, want 8", h.Client, h.Number, h.Size)
			}
		case RoundEnds:
			busy[h.Client] += h.At - began[h.Client]
		}
	}
	v.Record(note)
	r, err := v.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[HappeningKind]int{RoundBegins: 200, RoundEnds: 200, UpdateArrives: 200} {
		if counts[kind] != want {
			t.Errorf("%v %d times, want %d", kind, counts[kind], want)
		}
	}
	if sent := counts[BroadcastSent]; sent == 0 || counts[BroadcastArrives] != 4*sent {
		t.Errorf("%d broadcasts sent and %d arrived, want 4 of each", sent, counts[BroadcastArrives])
	}
	rounds := 0
	for lag, n := range r.Staleness {
		if rounds += n; n != staleness[lag] {
			t.Errorf("%d rounds of lag %d, recorded %d", n, lag, staleness[lag])
		}
	}
	if rounds != r.Updates || r.MaxLag != 3 || len(r.Staleness) != 4 {
		t.Errorf("%d rounds of lags up to %d (%v), want %d up to 3", rounds, r.MaxLag, r.Staleness, r.Updates)
	}
	for i := range busy {
		if r.Busy[i] != busy[i] || busy[i] > r.Clock {
			t.Errorf("client %d: busy for %d, recorded %d, of %d", i, r.Busy[i], busy[i], r.Clock)
		}
	}
	hog, err := Hogwild(context.Background(), cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	rounds = 0
	for _, n := range hog.Staleness {
		rounds += n
	}
	if rounds != hog.Updates || hog.Staleness.Max() != hog.MaxLag || hog.Busy != nil {
		t.Errorf("hogwild: %d rounds in %v, largest lag %d, busy %v", rounds, hog.Staleness, hog.MaxLag, hog.Busy)
	}
}
