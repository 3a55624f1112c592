package sim

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"proactivedp/dp"
	"proactivedp/rng"
)

// A missing root, or one without a key, is an error that names the client. Both runners report all such
// roots at once.
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
		"none": {Roots{}, []string{"root of the run", "number of client roots = 0, must be 4"}},
		"no run's": {without(func(r *Roots) { r.Run = nil }),
			[]string{"root of the run: the root has no key"}},
		"zero run's": {without(func(r *Roots) { r.Run = new(rng.Root) }),
			[]string{"root of the run: the root has no key"}},
		"no client's": {without(func(r *Roots) { r.Clients[2] = nil }),
			[]string{"root of client 2: the root has no key"}},
		"zero clients": {without(func(r *Roots) { r.Clients[0] = new(rng.Root) }),
			[]string{"root of client 0: the root has no key"}},
		"too few": {without(func(r *Roots) { r.Clients = r.Clients[:3] }),
			[]string{"number of client roots = 3, must be 4, one for each client"}},
		"two": {without(func(r *Roots) { r.Run, r.Clients[1] = nil, nil }),
			[]string{"root of the run", "root of client 1"}},
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

// A client draws samples and noise only from its own root. If one client gets another root, only the first
// update of this client changes.
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

// anonymous returns the ledger's events without whose noise they have.
func anonymous(l dp.Ledger) []dp.Event {
	l = l.Named(dp.Noise{})
	return l.Events()
}

// firstUpdates returns what the clients of a run release in round 0, at the default
// global model, one after another, and the run's ledgers.
func firstUpdates(t *testing.T, sigma float64, roots func(Roots) Roots, runner func(*Config) (*Result, error),
) ([]float32, []dp.Ledger) {
	t.Helper()
	first := make([][]float32, 4)
	cfg := small(t, func(c *Config) {
		c.Mechanism.NoiseMultiplier = sigma
		c.Roots = roots(c.Roots)
		c.Substitute = func(c *Client, u []float32, ws *Workspace) error {
			err := c.Release(u, ws)
			if c.Round() == 0 {
				first[c.ID()] = slices.Clone(u)
			}
			return err
		}
	})
	r, err := runner(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat(first...), r.Ledgers
}

// Noise is a function of (root, run, client, round) and scales with σ. Of two trainings
// of one run, at σ = 10 and 20, 2U − U′ is the sum of clipped gradients without noise:
// the hazard, whatever the runner and however secret the root. Between two runs, of one
// seed or of one secret, it keeps noise of variance (20² + 20²)C²: over 52 coordinates
// the sum of its squares falls below a fifth of its mean, 10.4 of 52, with probability
// below 1e-10. And what is refused is the hazard.
func TestReleasesOfOneRunShareNoiseAndOfTwoDoNot(t *testing.T) {
	secret, err := rng.NewFromSecret(make([]byte, rng.MinSecret))
	if err != nil {
		t.Fatal(err)
	}
	same := func(r Roots) Roots { return r }
	private := func(r Roots) Roots { return Roots{Run: r.Run, Clients: SharedRoots(secret, 4).Clients} }
	run := func(n uint64, of func(Roots) Roots) func(Roots) Roots {
		return func(r Roots) Roots { return of(r).ForRun(n) }
	}
	virtual := func(c *Config) (*Result, error) { return runVirtual(t, c, Perf{}), nil }
	hogwild := func(c *Config) (*Result, error) { return Hogwild(t.Context(), c, nil) }
	for _, c := range []struct {
		name   string
		a, b   func(Roots) Roots
		runner func(*Config) (*Result, error)
		shared bool
	}{
		{"one seed", same, same, virtual, true},
		{"one seed, free-running", same, same, hogwild, true},
		{"one run", run(3, same), run(3, same), virtual, true},
		{"one secret", private, private, virtual, true},
		{"two runs of a seed", same, run(1, same), virtual, false},
		{"two runs of a seed, free-running", run(1, same), run(2, same), hogwild, false},
		{"two runs of a secret", private, run(1, private), virtual, false},
		{"a seed and a secret", same, private, virtual, false},
		{"run 1 of both", run(1, same), run(1, private), virtual, false},
	} {
		u10, ledgers := firstUpdates(t, 10, c.a, c.runner)
		u20, others := firstUpdates(t, 20, c.b, c.runner)
		s, _ := firstUpdates(t, 0, c.a, c.runner)
		s2, _ := firstUpdates(t, 0, c.b, c.runner)
		noise, largest := 0.0, 0.0
		for j := range s {
			left := 2*(float64(u10[j])-float64(s[j])) - (float64(u20[j]) - float64(s2[j]))
			noise += left * left
			largest = max(largest, left, -left)
		}
		n, want := len(s), 800*0.25
		if c.shared && largest > 2e-5 || !c.shared && noise < 0.2*float64(n)*want || n != 52 {
			t.Errorf("%s: 2U − U′ keeps noise up to %.3g, its squares sum up to %.4g of %d·%v", c.name, largest, noise,
				n, want)
		}
		for i := range ledgers {
			_, err := dp.Compose(ledgers[i].Events(), others[i].Events())
			if errors.Is(err, dp.ErrSharedNoise) != c.shared {
				t.Errorf("%s: composing client %d: %v", c.name, i, err)
			}
		}
	}
}

// Another run number changes samples, noise and dropout, and nothing else. Model, times and messages are
// those of run 0, so that releases can be compared.
func TestForRunKeepsTheWorld(t *testing.T) {
	roots := small(t).Roots
	second := roots.ForRun(2)
	if second.Run != roots.Run || second.Clients[0] == roots.Clients[0] || second.Clients[3] != second.Clients[0] {
		t.Errorf("%+v", second)
	}
	if names := second.Names(); len(names) != 1 || names[0] != (rng.Name{Root: "seed:5", Run: 2}) {
		t.Errorf("named %v", names)
	}
	if first := second.ForRun(0); !slices.Equal(first.Names(), roots.Names()) {
		t.Errorf("run 0 is %v", first.Names())
	}
	second.Clients[1], second.Clients[2] = rng.New(8), rng.New(9)
	if names := second.Names(); len(names) != 3 || names[2].Root != "seed:9" {
		t.Errorf("named %v", names)
	}
}

// A client resumes only from a ledger with its own noise. With other noise, rounds that were sent would be
// released twice.
func TestResumeChecksWhoseNoise(t *testing.T) {
	cfg := small(t)
	client := func(roots Roots, id int) *Client {
		c := *cfg
		c.Roots = roots
		made, err := NewClient(&c, id, nil)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	c := client(cfg.Roots, 1)
	c.Begin()
	u := make([]float32, cfg.Model.NumParams())
	if err := c.Compute(u, NewWorkspace(cfg.Model)); err != nil {
		t.Fatal(err)
	}
	c.Finish(u)
	ledger := c.Ledger()
	for name, other := range map[string]*Client{
		"another run":  client(cfg.Roots.ForRun(1), 1),
		"another root": client(SharedRoots(rng.New(6), 4), 1),
		"another one":  client(cfg.Roots, 2),
	} {
		err := other.Resume(&ledger, 0, &Vector{X: cfg.InitialModel()})
		if err == nil || !strings.Contains(err.Error(), "noise of the ledger = seed 5, run 0, client 1, must be") {
			t.Errorf("%s: %v", name, err)
		}
	}
	again := client(cfg.Roots, 1)
	if err := again.Resume(&ledger, 0, &Vector{X: cfg.InitialModel()}); err != nil {
		t.Error(err)
	}
	resumed := again.Ledger()
	if !slices.Equal(resumed.Events(), ledger.Events()) {
		t.Errorf("resumed with %v of %v", resumed.Events(), ledger.Events())
	}
}
