package sim

import (
	"errors"
	"fmt"
	"slices"

	"proactivedp/data"
	"proactivedp/rng"
)

// NewServer returns the server at the start of a run, for a runner of one's own.
// Virtual and Hogwild drive the same machines.
//
// A client whose CanBegin is true may Begin a round, Compute its release u and
// Finish it; the Update that Finish returns goes to Server.Receive. Where that
// reports a broadcast, a copy of Server.Model goes to every Client.Receive with
// the server's K. Messages may be late, lost and sent again, doubled and
// overtaken: nothing is applied twice, and what is old is dropped. Training is
// complete when Server.Done. The machines do not look whether numbers are finite:
// models.CheckFinite of Server.Model says at the end whether training diverged.
//
// Server and clients may be of different processes. All need the same Config but
// for what is somebody's own: the server reads of Rows only how many there are
// and nothing of Roots.Clients, a client reads of both only what is its own. What
// belongs to others may be zero.
func NewServer(cfg *Config) (*Server, error) {
	if err := cfg.made(); err != nil {
		return nil, err
	}
	if err := errors.Join(cfg.checkShared(), cfg.Roots.checkRun()); err != nil {
		return nil, err
	}
	return newServer(cfg.frame(), cfg.newSchedule(), cfg.initialModel()), nil
}

// NewClient returns client number id, 0 ≤ id < n, at the start of a run. The
// client calls letGo, unless it is nil, for each broadcast that it reads no more,
// the default global model and what Restore makes included, so that a runner can
// use the memory again; a broadcast that several clients were given is free when
// all of them have let go of it.
func NewClient(cfg *Config, id int, letGo func(*Vector)) (*Client, error) {
	if err := cfg.made(); err != nil {
		return nil, err
	}
	errs := []error{cfg.checkShared(), cfg.Roots.checkRun()}
	if id < 0 || id >= cfg.Clients() {
		errs = append(errs, fmt.Errorf("sim: client = %d, must be in [0, %d]", id, cfg.Clients()-1))
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

// initialModel returns v̂_0, drawn if it is not given.
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
		return errors.New("sim: this Server was not made by NewServer")
	}
	return nil
}

// made reports a client that cannot be used.
func (c *Client) made() error {
	if c == nil || c.sched == nil {
		return errors.New("sim: this Client was not made by NewClient")
	}
	return nil
}
