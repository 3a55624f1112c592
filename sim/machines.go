package sim

import (
	"errors"
	"fmt"
	"slices"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/rng"
)

// NewServer returns the server at the start of a run. Use it with NewClient to write your own runner, the program
// that moves messages between the server and the clients, as Virtual and Hogwild do. A runner works like this:
//
//  1. If Client.CanBegin is true, it calls Begin, then Compute, which writes the noisy sum of gradients to
//     the slice u, and then Finish with u.
//  2. It brings the Update that Finish returns to Server.Receive.
//  3. If Receive reports a broadcast, it brings a copy of Server.Model and Server.K, the number of this broadcast, to
//     Client.Receive of every client.
//  4. It stops when Server.Done is true.
//
// Messages may be late, duplicated, or lost and sent again, and they may overtake each other. No update is applied
// twice, and old broadcasts are dropped. The server and the clients do not check that numbers are finite. At the end,
// models.CheckFinite of Server.Model reports whether training diverged.
//
// Server and clients may run in different processes. All of them need the same Config, with two exceptions. The
// server uses only the length of Rows, and nothing of Roots.Clients (the seeds of the clients' batches and noise). A
// client uses only its own element of Rows and Roots.Clients. The other elements may be zero.
func NewServer(cfg *Config) (*Server, error) {
	if err := cfg.made(); err != nil {
		return nil, err
	}
	errs := []error{cfg.checkShared(), cfg.Roots.checkRun()}
	if cfg.Mechanism.Sizes != nil { // the next check needs them
		errs = append(errs, cfg.checkOwn())
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return newServer(cfg.frame(), cfg.InitialModel()), nil
}

// NewClient returns client number id (counted from 0) at the start of a run. For its use see [NewServer]. letGo may be
// nil. Otherwise the client calls it with the vector of each global model that it will not read again, so that a
// runner can reuse the memory. These vectors include the initial global model and those that Restore allocated. A
// vector that several clients received is free only when each of them has called letGo.
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
	if cfg.Mechanism.Sizes != nil { // the next check needs them
		errs = append(errs, cfg.checkOwn())
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
	return newClient(id, cfg, cfg.frame(), new(rng.Heads), &Vector{X: cfg.InitialModel(), readers: 1}, letGo), nil
}

// newMachines returns the server and the clients at the start of a run in one process. All clients
// read the same default global model.
func (c *Config) newMachines(letGo func(*Vector)) (*Server, []*Client) {
	f := c.frame()
	initial := &Vector{X: c.InitialModel(), readers: int32(c.Clients())}
	clients, samples := make([]*Client, c.Clients()), rng.NewManyHeads(c.Clients())
	for i := range clients {
		clients[i] = newClient(i, c, f, samples.Of(i), initial, letGo)
	}
	return newServer(f, initial.X), clients
}

// frame returns the frame of all machines of the configuration. Clients of equal sizes share a schedule.
func (c *Config) frame() frame {
	f := frame{
		params: c.Model.NumParams(), clients: c.Clients(), rounds: c.Run().Rounds, mech: &c.Mechanism,
		sched: c.newSchedule(&c.Mechanism), own: c.Own, momentum: float32(c.Momentum),
	}
	if !c.OwnSizes() {
		return f
	}
	made := map[string]*schedule{c.Mechanism.Sizes.String(): f.sched}
	f.scheds = make([]*schedule, len(c.Own))
	for i := range c.Own {
		sizes := c.Own[i].Sizes.String()
		if made[sizes] == nil {
			made[sizes] = c.newSchedule(&c.Own[i])
			made[sizes].most = f.rounds
		}
		f.scheds[i] = made[sizes]
	}
	return f
}

func (c *Config) newSchedule(m *dp.Mechanism) *schedule {
	_, counted := c.Delay.(Dependent)
	return newSchedule(m.Sizes, dp.Cut(m.Sizes, c.GradComps).Rounds, c.Steps, counted)
}

// InitialModel returns a copy of the global model with which training begins: Config.Initial or, if that is nil, the
// model's default parameters, drawn from the random stream of [Config.InitStream].
func (c *Config) InitialModel() []float32 {
	if c.Initial != nil {
		return slices.Clone(c.Initial)
	}
	x := make([]float32, c.Model.NumParams())
	c.Model.Init(x, c.InitStream())
	return x
}

func (s *Server) made() error {
	if s == nil || s.frame.sched == nil {
		return errors.New("this Server was not made by NewServer")
	}
	return nil
}

func (c *Client) made() error {
	if c == nil || c.sched == nil {
		return errors.New("this Client was not made by NewClient")
	}
	return nil
}
