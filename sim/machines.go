package sim

import (
	"errors"
	"fmt"
	"slices"

	"proactivedp/data"
	"proactivedp/rng"
)

// NewServer returns the server at the start of a run, for a custom runner. Virtual and Hogwild drive the
// same machines.
//
// A client whose CanBegin is true may Begin a round, Compute its release u and
// Finish it; the Update that Finish returns goes to Server.Receive. Where that
// reports a broadcast, a copy of Server.Model goes to every Client.Receive with
// the server's K. Messages may be late, doubled, or lost and sent again, and they may overtake each
// other: no update is applied twice, and old broadcasts are dropped. Training is complete when
// Server.Done. The machines do not check whether numbers are finite; at the end,
// models.CheckFinite of Server.Model reports whether training diverged.
//
// Server and clients may run in different processes. All need the same Config, except for data and
// secrets of others: the server uses only the length of Rows and nothing of Roots.Clients, and a
// client uses only its own element of both. The other elements may be zero.
func NewServer(cfg *Config) (*Server, error) {
	if err := cfg.made(); err != nil {
		return nil, err
	}
	if err := errors.Join(cfg.checkShared(), cfg.Roots.checkRun()); err != nil {
		return nil, err
	}
	return newServer(cfg.frame(), cfg.newSchedule(), cfg.initialModel()), nil
}

// NewClient returns client number id, 0 ≤ id < n, at the start of a run. Unless letGo is nil, the client
// calls it for each broadcast that it does not read any more, so that a runner can use the memory
// again. These include the default global model and vectors that Restore made. A broadcast that
// several clients were given is free when all of them have let go of it.
func NewClient(cfg *Config, id int, letGo func(*Vector)) (*Client, error) {
	if err := cfg.made(); err != nil {
		return nil, err
	}
	errs := []error{cfg.checkShared(), cfg.Roots.checkRun()}
	if id < 0 || id >= cfg.Clients() {
		errs = append(errs, fmt.Errorf("client = %d, must be in [0, %d]", id, cfg.Clients()-1))
	} else {
		errs = append(errs, cfg.Roots.checkClient(id), cfg.checkRows(id),
			cfg.Partition.Check([]data.Subset{cfg.Rows[id]}))
	}
	if cfg.Adapt != 0 {
		errs = append(errs, cfg.Adapt.Validate(), cfg.Timing.Validate(cfg.Clients()))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if letGo == nil {
		letGo = func(*Vector) {}
	}
	return newClient(id, cfg, cfg.newSchedule(), new(rng.Heads), &Vector{X: cfg.initialModel(), readers: 1}, letGo), nil
}

// newMachines returns the server and the clients at the start of a run in one
// process, where all clients read one default global model.
func (c *Config) newMachines(letGo func(*Vector)) (*Server, []*Client, *schedule) {
	sched := c.newSchedule()
	initial := &Vector{X: c.initialModel(), readers: int32(c.Clients())}
	clients, samples := make([]*Client, c.Clients()), rng.NewManyHeads(c.Clients())
	for i := range clients {
		clients[i] = newClient(i, c, sched, samples.Of(i), initial, letGo)
	}
	return newServer(c.frame(), sched, initial.X), clients, sched
}

func (c *Config) newSchedule() *schedule {
	return newSchedule(c.Mechanism.Sizes, c.Run().Rounds, c.Steps)
}

// initialModel returns v̂_0. It draws the model if the configuration does not give one.
func (c *Config) initialModel() []float32 {
	if c.Initial != nil {
		return slices.Clone(c.Initial)
	}
	x := make([]float32, c.Model.NumParams())
	c.Model.Init(x, c.InitStream())
	return x
}

// made reports a server that cannot be used.
func (s *Server) made() error {
	if s == nil || s.sched == nil {
		return errors.New("this Server was not made by NewServer")
	}
	return nil
}

// made reports a client that cannot be used.
func (c *Client) made() error {
	if c == nil || c.sched == nil {
		return errors.New("this Client was not made by NewClient")
	}
	return nil
}
