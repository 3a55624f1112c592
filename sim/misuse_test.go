package sim

import (
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/models"
	"proactivedp/models/logreg"
	"proactivedp/nn"
	"proactivedp/sim/clock"
)

// A model that cannot be evaluated on the clients' rows, and invalid batch sizes, are errors before
// anything is computed, however a run is begun.
func TestUnfitPartsAreErrors(t *testing.T) {
	d := small(t).Rows[0].Data
	narrow, err := logreg.NewPlain(d.Features - 1)
	if err != nil {
		t.Fatal(err)
	}
	network := func(features, classes int) models.Model {
		net, err := nn.New(nn.Shape{Channels: features, Height: 1, Width: 1}, nn.Dense{Out: classes})
		if err != nil {
			t.Fatal(err)
		}
		return models.NewNetwork("own", net)
	}
	inThree := *d
	inThree.Name, inThree.Classes = "three", 3
	three := make([]data.Subset, small(t).Clients())
	for i, r := range small(t).Rows {
		three[i] = data.Subset{Data: &inThree, Rows: r.Rows}
	}
	for name, c := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"narrow regression":   {func(c *Config) { c.Model = narrow }, "the model needs rows of at most"},
		"regression on three": {func(c *Config) { c.Rows = three }, `in 2 classes: "three" has`},
		"network of few":      {func(c *Config) { c.Model = network(d.Features-1, 2) }, "own needs images of"},
		"network of many":     {func(c *Config) { c.Model = network(d.Features+1, 2) }, "own needs images of"},
		"network of two": {func(c *Config) { c.Model, c.Rows = network(d.Features, 2), three },
			"in 2 classes"},
		"empty list of sizes": {func(c *Config) { c.Mechanism.Sizes = dp.ListSizes{} },
			"sample size of round 0 = 0"},
		"sizes of no records": {func(c *Config) { c.Mechanism.Sizes = dp.ConstantSizes(0) },
			"sample size of round 0 = 0"},
		"nothing in the list": {func(c *Config) { c.Mechanism.Sizes = dp.ListSizes(nil) },
			"sample size of round 0 = 0"},
		"adapting without any": {func(c *Config) { c.Adapt, c.Timing = 2, clock.Timing{} }, "duration kind"},
	} {
		cfg := small(t)
		c.change(cfg)
		_, virtual := NewVirtual(cfg, Perf{}, nil)
		_, client := NewClient(cfg, 0, nil)
		for by, err := range map[string]error{"NewVirtual": virtual, "NewClient": client} {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %s says %v, want %q", name, by, err, c.want)
			}
		}
	}
}

// Hogwild, and a client in a custom runner, have no virtual clock, so they ignore the Timing.
func TestWithoutAClockNoTimingIsRead(t *testing.T) {
	cfg := small(t)
	cfg.Timing.Compute = clock.Duration{Kind: clock.Own}
	if _, err := Hogwild(t.Context(), cfg, nil); err != nil {
		t.Error(err)
	}
	if _, err := NewClient(cfg, 0, nil); err != nil {
		t.Error(err)
	}
}

// A broadcast without a vector, and a nil ledger, are errors.
func TestMessagesWithoutContentAreErrors(t *testing.T) {
	c, err := NewClient(small(t), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Receive(0, nil); err == nil || !strings.Contains(err.Error(), "has no vector") {
		t.Errorf("no vector: %v", err)
	}
	if err := c.Resume(nil, 0, &Vector{}); err == nil || !strings.Contains(err.Error(), "ledger or broadcast = nil") {
		t.Errorf("no ledger: %v", err)
	}
	if err := c.Resume(&dp.Ledger{}, 0, nil); err == nil || !strings.Contains(err.Error(), "ledger or broadcast = nil") {
		t.Errorf("no broadcast: %v", err)
	}
}

// Compute outside of a round is an error, and Finish with a vector of another length panics. Neither
// leaves a release that no ledger counts, or a partly updated model.
func TestRoundsAreWholeOrRefused(t *testing.T) {
	cfg := small(t)
	c, err := NewClient(cfg, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	u, ws := make([]float32, cfg.Model.NumParams()), NewWorkspace(cfg.Model)
	if err := c.Compute(u, ws); err == nil || !strings.Contains(err.Error(), "call Begin before Compute") {
		t.Errorf("before Begin: %v", err)
	}
	c.Begin()
	if err := c.Compute(u, ws); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if recover() == nil || c.Round() != 0 || c.state.ledger.Run().Rounds != 0 {
			t.Errorf("a short vector ended round %d", c.Round())
		}
	}()
	c.Finish(u[1:])
}

// A configuration for persons says how many records each has, and every client holds at most so many.
func TestPersonsFitTheirMechanism(t *testing.T) {
	config := func(change func(c *Config, d *data.Dataset)) error {
		c := small(t)
		c.Partition, c.Adapt, c.Mechanism.Sampling, c.Mechanism.Adjacency = data.Replicate, 0, dp.Poisson, dp.AddOrRemove
		c.Mechanism.Group = 2
		d := *c.Rows[0].Data
		d.Person = make([]data.PersonKey, d.Len())
		for i := range d.Person {
			d.Person[i] = data.PersonKey{byte(i / 2), byte(i / 512)}
		}
		for i := range c.Rows {
			c.Rows[i] = data.Subset{Data: &d, Rows: c.Rows[0].Rows}
		}
		change(c, &d)
		return c.Validate()
	}
	for want, change := range map[string]func(c *Config, d *data.Dataset){
		"": func(*Config, *data.Dataset) {},
		"client 0: a person has more than 2 records": func(c *Config, d *data.Dataset) {
			for _, i := range c.Rows[0].Rows[:3] {
				d.Person[i] = data.PersonOf("one")
			}
		},
		"client 0: the data set does not say whose record":     func(_ *Config, d *data.Dataset) { d.Person = nil },
		"client 0: group = 0, must be the largest number":      func(c *Config, _ *data.Dataset) { c.Mechanism.Group = 0 },
		`partition = "shard", must be "replicate" for persons`: func(c *Config, _ *data.Dataset) { c.Partition = data.Shard },
		"adapt = 2, must be 0 for persons":                     func(c *Config, _ *data.Dataset) { c.Adapt = 2 },
		"group = 2 with fixed sampling": func(c *Config, _ *data.Dataset) {
			c.Mechanism.Sampling, c.Mechanism.Adjacency = dp.FixedSize, dp.ReplaceOne
		},
		"group = 2 with poisson sampling under replace-one": func(c *Config, _ *data.Dataset) { c.Mechanism.Adjacency = dp.ReplaceOne },
		"group = -1, must be in [1, 1000]":                  func(c *Config, _ *data.Dataset) { c.Mechanism.Group = -1 },
	} {
		err := config(change)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
