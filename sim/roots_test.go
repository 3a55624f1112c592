package sim

import (
	"slices"
	"strings"
	"testing"

	"proactivedp/rng"
)

// A root that is missing, or has no key, is an error that says whose it is, in
// both runners, and of every root at once.
func TestMissingRootsAreErrors(t *testing.T) {
	whole := small(t).Roots
	without := func(change func(*Roots)) Roots {
		r := Roots{Run: whole.Run, Clients: slices.Clone(whole.Clients)}
		change(&r)
		return r
	}
	for name, c := range map[string]struct {
		roots Roots
		want  []string
	}{
		"none": {Roots{}, []string{"roots: of the run", "roots: of 0 clients, must be one for each of 4"}},
		"no run's": {without(func(r *Roots) { r.Run = nil }),
			[]string{"roots: of the run: rng: the root has no key"}},
		"zero run's": {without(func(r *Roots) { r.Run = new(rng.Root) }),
			[]string{"roots: of the run: rng: the root has no key"}},
		"no client's": {without(func(r *Roots) { r.Clients[2] = nil }),
			[]string{"roots: of client 2: rng: the root has no key"}},
		"zero clients": {without(func(r *Roots) { r.Clients[0] = new(rng.Root) }),
			[]string{"roots: of client 0: rng: the root has no key"}},
		"too few": {without(func(r *Roots) { r.Clients = r.Clients[:3] }),
			[]string{"roots: of 3 clients, must be one for each of 4"}},
		"two": {without(func(r *Roots) { r.Run, r.Clients[1] = nil, nil }),
			[]string{"roots: of the run", "roots: of client 1"}},
	} {
		cfg := small(t)
		cfg.Roots = c.roots
		_, virtual := NewVirtual(cfg, Perf{}, nil)
		_, hogwild := Hogwild(t.Context(), cfg, nil)
		for runner, err := range map[string]error{"virtual": virtual, "hogwild": hogwild} {
			if err == nil {
				t.Errorf("%s: accepted by %s", name, runner)
				continue
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v, want %q", name, err, want)
				}
			}
		}
	}
}

// A client draws samples and noise from its own root and from no other: with
// another root for one client its first update alone is another.
func TestEachClientDrawsFromItsOwnRoot(t *testing.T) {
	updates := func(change func(*Roots)) [][]float32 {
		first := make([][]float32, 4)
		cfg := small(t, func(c *Config) {
			change(&c.Roots)
			c.Substitute = func(c *Client, u []float32, ws *Workspace) error {
				err := c.Release(u, ws)
				if c.Round() == 0 {
					first[c.ID()] = slices.Clone(u)
				}
				return err
			}
		})
		runVirtual(t, cfg, Perf{})
		return first
	}
	want := updates(func(*Roots) {})
	got := updates(func(r *Roots) { r.Clients[2] = rng.New(99) })
	for client := range want {
		if same := slices.Equal(got[client], want[client]); same == (client == 2) {
			t.Errorf("client %d: the same update: %v, with another root for client 2", client, same)
		}
	}
}
