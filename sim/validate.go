package sim

import (
	"errors"
	"fmt"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/models"
	"proactivedp/sim/clock"
)

// Validate reports every problem of the configuration for a run of Virtual.
func (c *Config) Validate() error {
	if err := c.made(); err != nil {
		return err
	}
	n := c.Clients()
	errs := []error{c.checkWithoutClock(), c.Timing.Validate(n), c.Speeds.Validate(n),
		c.Network.Validate(), c.Churn.Validate(), c.Adapt.Validate()}
	if errors.Join(errs...) == nil { // the next check needs valid fields
		errs = append(errs, c.checkClock())
	}
	return errors.Join(errs...)
}

// checkWithoutClock reports every problem of the configuration for a run in one process without a
// virtual clock.
func (c *Config) checkWithoutClock() error {
	n := c.Clients()
	errs := []error{c.checkShared(), c.Roots.check(n)}
	if c.Model == nil || c.Mechanism.Sizes == nil { // the next checks need both
		return errors.Join(errs...)
	}
	if n > 0 && c.Model.NumParams() > MaxClientParams/n {
		errs = append(errs, fmt.Errorf("parameters × clients = %d × %d, must be at most %d", c.Model.NumParams(),
			n, MaxClientParams))
	}
	errs = append(errs, c.checkOwn())
	for i := range c.Rows {
		if err := c.checkRows(i); err != nil {
			errs = append(errs, err)
			break
		}
	}
	if _, err := data.ParsePartition(string(c.Partition)); err == nil {
		errs = append(errs, c.Partition.Check(c.Rows))
	}
	return errors.Join(errs...)
}

// checkShared reports every problem of the fields that server and clients share.
func (c *Config) checkShared() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	errs = append(errs, checkModel(c.Model))
	if n := c.Clients(); n < 1 || n > MaxClients {
		fail("clients = %d, must be in [1, %d]", n, MaxClients)
	}
	if _, err := data.ParsePartition(string(c.Partition)); err != nil {
		errs = append(errs, err)
	}
	errs = append(errs, c.Steps.Validate(), CheckMomentum(c.Momentum))
	if c.Mechanism.Sizes == nil {
		fail("no sample sizes")
		return errors.Join(errs...)
	}
	run := c.Run()
	errs = append(errs, c.Mechanism.Validate(min(run.Rounds, dp.MaxRounds)))
	switch {
	case c.GradComps < 1:
		fail("gradient computations per client = %d, must be at least 1", c.GradComps)
	case run.Rounds < 1:
		fail("gradient computations per client = %d, must be at least the first sample size %d, or there are no rounds",
			c.GradComps, c.Mechanism.Sizes.At(0))
	case run.Rounds > dp.MaxRounds:
		fail("gradient computations per client = %d, must give at most %d rounds of sizes %v", c.GradComps,
			dp.MaxRounds, c.Mechanism.Sizes)
		return errors.Join(errs...)
	}
	if c.Own != nil && len(c.Own) != c.Clients() {
		fail("number of own mechanisms = %d, must be %d, one for each client", len(c.Own), c.Clients())
	}
	if c.Own != nil && c.Adapt != 0 {
		fail("adapt = %v, must be 0 if clients have their own mechanisms", float64(c.Adapt))
	}
	if c.Adapt != 0 && c.Mechanism.Sampling == dp.Allocation {
		fail("adapt = %v, must be 0 with %s sampling, whose rounds have no sizes", float64(c.Adapt), dp.Allocation)
	}
	if c.Mechanism.Group > 0 {
		if c.Adapt != 0 {
			fail("adapt = %v, must be 0 for persons: that larger samples cost at least as much is proved for a record", float64(c.Adapt))
		}
		if c.Clients() > 1 && c.Partition.Disjoint() {
			fail("partition = %q, must be %q for persons: several clients could hold records of one person", c.Partition,
				data.Replicate)
		}
	}
	if c.Initial != nil && c.Model != nil {
		if n := c.Model.NumParams(); len(c.Initial) != n {
			fail("initial model has %d parameters, must have %d", len(c.Initial), n)
		}
		errs = append(errs, models.CheckFinite(c.Initial))
	}
	errs = append(errs, checkDelay(c.Delay, c.Clients(), run.Rounds))
	return errors.Join(errs...)
}

// checkModel returns an error if there is no model, or if its methods return impossible values.
func checkModel(m models.Model) error {
	if m == nil {
		return errors.New("no model")
	}
	var errs []error
	if n := m.NumParams(); n < 1 {
		errs = append(errs, fmt.Errorf("parameters of the model = %d, must be at least 1", n))
	}
	if b, ok := m.(models.Bounded); ok && !(b.Shade() >= 0 && b.Shade() <= 1) {
		errs = append(errs, fmt.Errorf("share of C that the model reserves for rounding = %v, must be in [0, 1]",
			b.Shade()))
	}
	return errors.Join(errs...)
}

// CheckMomentum returns an error if m is not in [0, 1), or is so close to 1 that it rounds to 1 as a float32.
func CheckMomentum(m float64) error {
	if !(m >= 0 && float32(m) < 1) {
		return fmt.Errorf("momentum = %v, must be in [0, 1)", m)
	}
	return nil
}

// checkOwn returns an error if a client's own mechanism is invalid, or if no client has as many rounds as Mechanism.
func (c *Config) checkOwn() error {
	if len(c.Own) != c.Clients() { // checkShared reports it, unless there are none
		return nil
	}
	all, most := c.Run().Rounds, 0
	for i := range c.Own {
		rounds, err := c.checkMechanism(i, all)
		if err != nil {
			return fmt.Errorf("client %d: %w", i, err)
		}
		most = max(most, rounds)
	}
	if most != all {
		return fmt.Errorf("sizes of all clients = %v give %d rounds, must give %d, the most rounds of a client", c.Mechanism.Sizes,
			all, most)
	}
	return nil
}

// checkMechanism returns an error if the client's own mechanism is invalid or differs in what all clients must share. It
// returns the client's number of rounds, of which Mechanism has most.
func (c *Config) checkMechanism(client, most int) (rounds int, err error) {
	m, all := &c.Own[client], &c.Mechanism
	if m.Sampling != all.Sampling || m.Adjacency != all.Adjacency || m.Exact != all.Exact || m.Batches != all.Batches ||
		m.Group != all.Group {
		return 0, errors.New("batches, group, sampling, adjacency and exactness must be those of all clients")
	}
	if rounds = most; !sameSizes(m.Sizes, all.Sizes) {
		_, constant := m.Sizes.(dp.ConstantSizes)
		if _, too := all.Sizes.(dp.ConstantSizes); !constant || !too || m.Sampling == dp.Allocation {
			return 0, fmt.Errorf("sizes = %v, must be those of all clients, %v: only constant sizes may differ, and not with %s "+
				"sampling", m.Sizes, all.Sizes, dp.Allocation)
		}
		rounds = c.RunOf(client).Rounds
	}
	if err := m.Validate(min(rounds, dp.MaxRounds)); err != nil {
		return 0, err
	}
	if rounds < 1 {
		return 0, fmt.Errorf("sizes = %v, must be at most the %d gradient computations per client, or there are no rounds",
			m.Sizes, c.GradComps)
	}
	if rounds > most {
		return 0, fmt.Errorf("sizes = %v give %d rounds, must give at most the %d of all clients", m.Sizes, rounds, most)
	}
	return rounds, nil
}

// checkRows returns an error if the client's records do not fit its mechanism or the model.
func (c *Config) checkRows(client int) error {
	m := c.mechanism(client)
	if n := c.Rows[client].Len(); n != m.DatasetSize {
		return fmt.Errorf("client %d holds %d records, its mechanism accounts for N = %d", client, n,
			m.DatasetSize)
	}
	if err := c.checkPersons(client, m.Group); err != nil {
		return fmt.Errorf("client %d: %w", client, err)
	}
	if m, ok := c.Model.(models.Checker); ok && c.Rows[client].Data != nil {
		if err := m.Check(c.Rows[client].Data); err != nil {
			return fmt.Errorf("client %d: %w", client, err)
		}
	}
	return nil
}

// checkPersons returns an error unless no person has more records of the client than its mechanism accounts
// for. A data set with persons needs a mechanism for persons.
func (c *Config) checkPersons(client, group int) error {
	rows := c.Rows[client]
	switch {
	case rows.Data == nil: // another process holds them
		return nil
	case group == 0 && rows.Data.Person != nil:
		return errors.New("group = 0, must be the largest number of records of a person: the data set has persons")
	case group == 0:
		return nil
	case client > 0 && rows.Len() > 0 && rows.Data == c.Rows[0].Data && rows.Len() == c.Rows[0].Len() && &rows.Rows[0] == &c.Rows[0].Rows[0]:
		return nil // the rows that were checked for client 0
	}
	return rows.CheckPersons(group)
}

// maxClock bounds the expected length of a run on the virtual clock, in nanoseconds (about three
// years). It is a hundredth of the clock's range, so exponential times do not exceed the clock. A
// heavier tail may: see ErrClock.
const maxClock = 1e17

// maxTries bounds how often a client is expected to begin a round, or the server to send it a
// broadcast, until the client stays long enough.
const maxTries = 100

// unreliable reports whether messages may be lost or duplicated.
func (c *Config) unreliable() bool { return c.Network != clock.Network{} || c.Churn != clock.Churn{} }

// gradientTimes returns the mean time of a gradient for each client, in nanoseconds.
func (c *Config) gradientTimes() []float64 {
	slower := c.Speeds.Factors(c.Clients(), c.Roots.Run)
	times := make([]float64, c.Clients())
	for client := range times {
		times[client] = c.Timing.Compute.ExpectedOf(client)
		if slower != nil {
			times[client] *= slower[client]
		}
	}
	return times
}

// checkClock returns an error if the run would not end in time: it is expected to be longer than
// maxClock, or a client is not expected to stay for a round or a broadcast.
func (c *Config) checkClock() error {
	if c.Adapt != 0 && c.Timing.Compute.Expected() == 0 {
		return errors.New("adapt needs gradients that take time, but their mean time is 0")
	}
	down := c.Network.Travel(&c.Timing.Downlink)
	messages := c.Network.Travel(&c.Timing.Uplink) + down
	longest, tries := 0.0, 1.0
	run, own := c.Run(), c.OwnSizes()
	for client, gradient := range c.gradientTimes() {
		if own {
			run = c.RunOf(client)
		}
		if c.Adapt != 0 { // A fast client's rounds become as long as expected; a slow one's first is long.
			gradient *= max(1, min(c.Timing.Compute.Expected()/gradient, float64(c.Adapt)))
		}
		// In the worst case, a client begins every round as often as its largest.
		again := max(c.Churn.Tries(gradient*float64(run.Max)), c.Churn.Tries(down))
		tries = max(tries, again)
		longest = max(longest, again*(gradient*float64(run.Computed)+messages*float64(run.Rounds)))
	}
	longest *= c.Churn.Stretch()
	var errs []error
	if !(longest <= maxClock) {
		errs = append(errs, fmt.Errorf("expected virtual time = %.3g ns, must be at most %.3g", longest, maxClock))
	}
	if tries > maxTries {
		errs = append(errs, fmt.Errorf("churn = %v: a round or a broadcast would begin %.3g times until a "+
			"client stays for it, must be at most %d: raise the mean presence", c.Churn, tries, maxTries))
	}
	return errors.Join(errs...)
}

// CheckFreeRunning returns an error if fields of c are set that need the virtual clock, so that Hogwild cannot run c.
// The error lists all of them.
func (c *Config) CheckFreeRunning() error {
	if err := c.made(); err != nil {
		return err
	}
	var errs []error
	for _, part := range []struct {
		name string
		on   bool
	}{
		{"speeds", !c.Speeds.AllOne()},
		{"loss", c.Network.Loss != 0},
		{"duplicate", c.Network.Duplicate != 0},
		{"churn", c.Churn != clock.Churn{}},
		{"adapt", c.Adapt != 0},
		{"wire", c.Wire != nil},
	} {
		if part.on {
			errs = append(errs, fmt.Errorf("%s needs the virtual clock, which hogwild does not have", part.name))
		}
	}
	return errors.Join(errs...)
}

func (c *Config) made() error {
	if c == nil {
		return errors.New("no Config")
	}
	return nil
}
