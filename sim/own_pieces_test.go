package sim

import (
	"math"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/models"
)

// says is a model that says of itself what a test has it say.
type says struct {
	models.Model
	params int
	shade  float64
}

func (m says) NumParams() int { return m.params }
func (m says) Shade() float64 { return m.shade }
func (m says) WideGradSum([]float64, []float32, data.Batch, float64, models.Scratch) error {
	return nil
}

// barred is a permissible delay that lets nobody begin the rounds from its own on.
type barred int

func (b barred) Permits(_, i int) bool { return i < int(b) }
func (b barred) String() string        { return "barred" }

// Invalid custom parts of a configuration (such as a model or a delay) are refused by both runners, with
// the reason and without a panic.
func TestPiecesOfOnesOwnAreChecked(t *testing.T) {
	for _, c := range []struct {
		want   string
		change func(*Config)
	}{
		{"no model", func(c *Config) { c.Model = nil }},
		{"no sample sizes", func(c *Config) { c.Mechanism.Sizes = nil }},
		{"no permissible delay", func(c *Config) { c.Delay = nil }},
		{"forbids round 0", func(c *Config) { c.Delay = barred(0) }},
		{"forbids round 2", func(c *Config) { c.Delay = barred(2) }},
		{"parameters of the model = 0", func(c *Config) { c.Model = says{Model: c.Model} }},
		{"parameters of the model = -1", func(c *Config) { c.Model = says{Model: c.Model, params: -1} }},
		{"parameters × clients", func(c *Config) { c.Model = says{Model: c.Model, params: math.MaxInt} }},
		{"reserves for rounding = NaN", func(c *Config) { c.Model = says{c.Model, 3, math.NaN()} }},
		{"reserves for rounding = -1", func(c *Config) { c.Model = says{c.Model, 3, -1} }},
		{"reserves for rounding = +Inf", func(c *Config) { c.Model = says{c.Model, 3, math.Inf(1)} }},
		{"clients = 0", func(c *Config) { c.Rows = nil }},
		{"no model", func(c *Config) { *c = Config{} }},
	} {
		cfg := small(t)
		c.change(cfg)
		_, virtual := NewVirtual(cfg, Perf{}, nil)
		_, hogwild := Hogwild(t.Context(), cfg, nil)
		for runner, err := range map[string]error{"virtual": virtual, "hogwild": hogwild} {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: error %v, want %q", runner, err, c.want)
			}
		}
	}
}
