package cluster

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"proactivedp/cluster/internal/wire"
	"proactivedp/train"
)

// changed returns the run's announcement after a hostile server has changed it.
func changed(t *testing.T, change func(*Announcement)) []byte {
	t.Helper()
	a, err := announce("0123456789abcdef", prepare(t, smallSpec(5), drawn()), wire.MaxChunk)
	if err != nil {
		t.Fatal(err)
	}
	change(a)
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A number in an announcement that no run can have is refused before it is used. A setting that only
// runners in one process have (adapt) is refused, too: it would let the server choose sample sizes during
// the run, which the ε that a client states before it joins does not count.
func TestAnnouncementsOutOfRangeAreRefused(t *testing.T) {
	if _, err := parseAnnouncement(changed(t, func(*Announcement) {})); err != nil {
		t.Fatalf("the honest announcement: %v", err)
	}
	for what, change := range map[string]func(*Announcement){
		"10⁶ clients":          func(a *Announcement) { a.Spec.Clients = 1_000_000 },
		"4,097 clients":        func(a *Announcement) { a.Spec.Clients = MaxClients + 1 },
		"no clients":           func(a *Announcement) { a.Spec.Clients = 0 },
		"the virtual runner":   func(a *Announcement) { a.Spec.Runner = train.VirtualRunner },
		"sizes that adapt":     func(a *Announcement) { a.Spec.Runner, a.Spec.Adapt = train.VirtualRunner, 1000 },
		"the hogwild runner":   func(a *Announcement) { a.Spec.Runner = train.HogwildRunner },
		"2⁴⁰ records":          func(a *Announcement) { a.Records = 1 << 40 },
		"no records":           func(a *Announcement) { a.Records = 0 },
		"10⁹ rounds":           func(a *Announcement) { a.Rounds = 1_000_000_000 },
		"2⁶² gradients":        func(a *Announcement) { a.Spec.GradComps = 1 << 62 },
		"2³¹ parameters":       func(a *Announcement) { a.Params = 1 << 31 },
		"no features":          func(a *Announcement) { a.Features = 0 },
		"2⁴⁰ features":         func(a *Announcement) { a.Features = 1 << 40 },
		"δ = 0":                func(a *Announcement) { a.Delta = 0 },
		"another δ":            func(a *Announcement) { a.Spec.Delta = a.Delta / 2 },
		"a digest":             func(a *Announcement) { a.Data = "x" },
		"a digest of v̂_0":     func(a *Announcement) { a.Initial = strings.Repeat("Z", 64) },
		"a seed of the system": func(a *Announcement) { a.Spec.SeedFromOS = true },
		"an average":           func(a *Announcement) { a.Spec.Average = "ema:0.9" },
		"a huge step":          func(a *Announcement) { a.Spec.Eta0 = math.MaxFloat64 },
		"one label":            func(a *Announcement) { a.Labels = []string{"1"} },
		"no labels":            func(a *Announcement) { a.Labels = nil },
		"a label twice":        func(a *Announcement) { a.Labels = []string{"1", "+1"} },
		"10,001 labels": func(a *Announcement) {
			a.Labels = make([]string, 10_001)
			for i := range a.Labels {
				a.Labels[i] = fmt.Sprint(i)
			}
		},
		"fewer rounds": func(a *Announcement) { a.Rounds-- },
	} {
		if _, err := parseAnnouncement(changed(t, change)); err == nil {
			t.Errorf("an announcement of %s is believed", what)
		}
	}
}

// An announcement may contain text that changes how a terminal shows other text. It is refused.
func TestAnnouncementsCannotForgeText(t *testing.T) {
	for what, change := range map[string]func(*Announcement){
		"line breaks":   func(a *Announcement) { a.Spec.Data = "phishing, all its rounds:\nε ≤ 0.01, certified" },
		"escapes":       func(a *Announcement) { a.Spec.Data = "x\x1b[2K\x1b[1A" },
		"C1 escapes":    func(a *Announcement) { a.Spec.Data = "x\u009b2K" },
		"reading order": func(a *Announcement) { a.Spec.Data = "\u202e10.0 ≤ ε" },
		"a label":       func(a *Announcement) { a.Labels = []string{"0", "1\nε ≤ 0.01"} },
		"a long name":   func(a *Announcement) { a.Spec.Data = strings.Repeat("a", 5000) },
	} {
		if _, err := parseAnnouncement(changed(t, change)); err == nil ||
			strings.ContainsAny(err.Error(), "\x1b\u009b\u202e") || len(err.Error()) > 2000 {
			t.Errorf("%s: %.100q", what, err)
		}
	}
}

// An expulsion without the field for the client is refused. If the missing field were read as 0, client 0
// would be expelled.
func TestExpulsionNamesAClient(t *testing.T) {
	s := newTestRun(t, smallSpec(12), drawn()).newServer()
	for _, text := range []string{"{}", "null", `{"client":null}`, `{"client":"0"}`, "[]", ""} {
		if got := s.expelAsked([]byte(text)); got.Error == "" {
			t.Errorf("%q expels a client", text)
		}
	}
	for c, of := range s.record.Clients {
		if of.Expelled {
			t.Errorf("client %d is expelled", c)
		}
	}
}

// An announcement without one of its required fields is refused.
func TestAnnouncementsAreWhole(t *testing.T) {
	text := changed(t, func(*Announcement) {})
	var keys, config map[string]json.RawMessage
	if err := json.Unmarshal(text, &keys); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(keys["config"], &config); err != nil {
		t.Fatal(err)
	}
	without := func(all map[string]json.RawMessage, key string, value json.RawMessage) []byte {
		out := map[string]json.RawMessage{}
		for k, v := range all {
			out[k] = v
		}
		if value == nil {
			delete(out, key)
		} else {
			out[key] = value
		}
		text, err := json.Marshal(out)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	null := json.RawMessage("null")
	for key := range keys {
		for _, value := range []json.RawMessage{nil, null} {
			if _, err := parseAnnouncement(without(keys, key, value)); err == nil {
				t.Errorf("an announcement with %s = %s is believed", key, value)
			}
		}
	}
	for _, key := range []string{"sigma", "clip", "delta", "sample_size", "sampling", "seed", "clients", "partition"} {
		for _, value := range []json.RawMessage{nil, null} {
			if _, err := parseAnnouncement(without(keys, "config", without(config, key, value))); err == nil {
				t.Errorf("an announcement with config.%s = %s is believed", key, value)
			}
		}
	}
}
