package sim

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"

	"proactivedp/internal/f32"
	"proactivedp/models"
)

func withMomentum(c *Config) { c.Momentum = 0.9 }

// With momentum, the server computes the heavy ball u ← M·u + U, v ← v − η̄_i·u, once for each update in
// the order of arrival, even if updates overtake each other or arrive twice.
func TestMomentumIsTheHeavyBall(t *testing.T) {
	cfg := small(t, withMomentum)
	server, err := NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	v, u := cfg.InitialModel(), make([]float32, cfg.Model.NumParams())
	sched := cfg.frame().sched
	for _, at := range [][2]int{{0, 0}, {2, 1}, {2, 1}, {1, 0}, {2, 0}, {0, 0}, {3, 0}, {0, 1}} {
		client, round := at[0], at[1]
		update := make([]float32, len(v))
		for i := range update {
			update[i] = float32(i+1) / float32(client+2*round+1)
		}
		if !server.Has(client, round) {
			for i := range u {
				u[i] = float32(float32(0.9)*u[i]) + update[i]
			}
			f32.Axpy(-sched.eta(round), u, v)
		}
		if _, err := server.Receive(Update{client, round, update}); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(server.Model(), v) {
			t.Fatalf("after the update of client %d, round %d the model is %v, want %v", client, round, server.Model(),
				v)
		}
	}
}

// Momentum changes the bits, in both runners. A single client that waits for every broadcast gives the
// same result in both; if it continued with its own steps, which have no momentum, it would not.
func TestMomentumDecidesTheResult(t *testing.T) {
	sequential := func(c *Config) { withClients(1)(c); withDelay(AtMost(0))(c); withMomentum(c) }
	with := runVirtual(t, small(t, sequential), Perf{})
	without := runVirtual(t, small(t, withClients(1), withDelay(AtMost(0))), Perf{})
	if with.ParamsSHA256() == without.ParamsSHA256() {
		t.Error("momentum changes nothing")
	}
	free, err := Hogwild(t.Context(), small(t, sequential), nil)
	if err != nil {
		t.Fatal(err)
	}
	if free.ParamsSHA256() != with.ParamsSHA256() {
		t.Error("hogwild with one client gives other bits")
	}
	if err := models.CheckFinite(with.Params); err != nil {
		t.Error(err)
	}
}

// A saved server keeps its velocity. A server without momentum refuses a state with one.
func TestVelocityIsSaved(t *testing.T) {
	cfg := small(t, withMomentum)
	update := func(client int) Update {
		u := make([]float32, cfg.Model.NumParams())
		u[client] = 1
		return Update{client, 0, u}
	}
	one, err := NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	other, err := NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := one.Receive(update(0)); err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := one.Save(&file); err != nil {
		t.Fatal(err)
	}
	saved := bytes.Clone(file.Bytes())
	if err := other.Restore(&file); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Server{one, other} {
		if _, err := s.Receive(update(1)); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(one.state, other.state) {
		t.Error("the restored server is another one")
	}
	plain, err := NewServer(small(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := plain.Restore(bytes.NewReader(saved)); err == nil {
		t.Error("a server without momentum took a velocity")
	}
}

func TestMomentumHasARange(t *testing.T) {
	for _, m := range []float64{-0.1, 1, 1 - 1e-12, math.NaN(), math.Inf(1)} {
		cfg := small(t)
		cfg.Momentum = m
		if _, err := NewVirtual(cfg, Perf{}, nil); err == nil ||
			!strings.Contains(err.Error(), "must be in [0, 1)") {
			t.Errorf("momentum %v: error %v", m, err)
		}
	}
}
