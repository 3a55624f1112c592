package sim

import (
	"fmt"
	"slices"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/internal/f32"
	"proactivedp/models"
	"proactivedp/rng"
)

// Update is what a client sends: the noised sum U of its round. Whoever holds
// the message owns U.
type Update struct {
	Client, Round int
	U             []float32
}

// Client is a compute node (Algorithms Setup, ISRReceive and LocalSGDwithDP). A
// round is Begin, Compute and Finish or Abort; Receive may come at any time between
// them. Not safe for concurrent use, but Compute may run while Receive is
// called: they share no field that is written.
type Client struct {
	id      int
	mech    *dp.Mechanism
	rows    data.Subset
	model   models.Model
	drawing models.Stochastic // model, if its gradient draws; else nil
	delay   Delay
	sched   *schedule
	root    *rng.Root
	compute Release
	adapt   Adapt
	nominal float64       // mean time of a gradient at speed 1, in nanoseconds
	release func(*Vector) // called with each broadcast that the client will not read again
	state   clientState
}

// clientState is everything about a client that changes. A broadcast is read
// where it is: only a client that goes on from it without the server has a
// vector of its own.
type clientState struct {
	shared *Vector   // ŵ, as broadcast; nil: ŵ is own
	own    []float32 // ŵ of the client alone; nil until there is one
	newer  *Vector   // came during the round, to replace ŵ at its end; nil: none
	k      int       // newest broadcast received
	i      int       // current round
	busy   bool      // between Begin and Finish or Abort
	size   int       // of the sample of the newest round to begin, as expected
	lag    int       // i − k when the newest round began
	pace   pace      // if it adapts
	ledger dp.Ledger
}

// newClient returns a client that starts from the default global model, of which
// it becomes a reader.
func newClient(id int, cfg *Config, sched *schedule, initial *Vector, release func(*Vector)) *Client {
	drawing, _ := cfg.Model.(models.Stochastic)
	compute := cfg.Release
	if compute == nil {
		compute = (*Client).Release
	}
	return &Client{
		id: id, compute: compute, mech: &cfg.Mechanism, rows: cfg.Rows[id], model: cfg.Model, drawing: drawing,
		delay: permitted(cfg.Delay, id, sched.before), adapt: cfg.Adapt, nominal: cfg.Timing.Compute.mean(), sched: sched, root: cfg.Roots.Clients[id], release: release,
		state: clientState{shared: initial},
	}
}

// w returns ŵ.
func (s *clientState) w() []float32 {
	if s.shared != nil {
		return s.shared.X
	}
	return s.own
}

// Done reports whether the client has finished its T rounds.
func (c *Client) Done() bool { return c.state.i == c.sched.rounds }

// CanBegin reports whether Υ(k, i) lets the client start its next round now.
func (c *Client) CanBegin() bool {
	return !c.state.busy && !c.Done() && c.delay.Permits(c.state.k, c.state.i)
}

// Begin starts a round. It panics unless CanBegin.
func (c *Client) Begin() {
	if !c.CanBegin() {
		panic("sim: a round began while Υ was false or another was running")
	}
	s := &c.state
	s.busy = true
	s.lag = s.i - s.k
	s.size = c.mech.Sizes.At(s.i)
	if c.adapt != 0 {
		s.size = c.adapt.size(s.size, c.mech.DatasetSize, c.nominal, s.pace)
	}
	if invariants {
		c.assertBegun()
	}
}

// Abort gives up the round under way. Nothing of it was released; it may begin
// again, with the same sample and noise.
func (c *Client) Abort() {
	s := &c.state
	if !s.busy {
		panic("sim: a round was given up that had not begun")
	}
	if s.newer != nil {
		s.replace(s.newer, c.release)
		s.newer = nil
	}
	s.busy = false
}

// Workspace is the memory of one Compute at a time.
type Workspace struct {
	sampling, dropout, noise rng.Stream

	rows   []int32
	sample dp.SampleScratch
	model  models.Scratch
}

// NewWorkspace returns a workspace for clients of the model.
func NewWorkspace(m models.Model) *Workspace { return &Workspace{model: m.NewScratch()} }

// Compute sets u to the round's release: the sum of the sample's clipped
// gradients at ŵ, plus noise. It is a function of ŵ, the client, the round and
// the seed alone, and may be repeated.
func (c *Client) Compute(u []float32, ws *Workspace) error {
	if err := c.compute(c, u, ws); err != nil {
		return fmt.Errorf("sim: client %d, round %d: %w", c.id, c.state.i, err)
	}
	return nil
}

// Release computes what a client sends in its current round. It may read the
// client, but not change it.
type Release func(c *Client, u []float32, ws *Workspace) error

// Release is what the mechanism prescribes: sample, sum, noise.
func (c *Client) Release(u []float32, ws *Workspace) error {
	if err := c.GradSum(u, c.Sample(ws), ws); err != nil {
		return err
	}
	c.AddNoise(u, ws)
	return nil
}

// ID returns the client's number, from 0.
func (c *Client) ID() int { return c.id }

// Round returns the number i of the current round, or T after the last.
func (c *Client) Round() int { return c.state.i }

// Size returns the sample size of the round that began last, as expected.
func (c *Client) Size() int { return c.state.size }

// Took tells the client how long the round took that it finished last.
func (c *Client) Took(t Time) {
	c.state.pace.gradients += c.state.size
	c.state.pace.spent += t
}

// Sample returns the records of the current round; they are valid until the
// workspace's next sample.
func (c *Client) Sample(ws *Workspace) data.Batch {
	c.root.Reseed(&ws.sampling, rng.Sampling, uint32(c.id), c.state.i)
	ws.rows = c.mech.SampleOf(ws.rows[:0], c.state.size, &ws.sampling, &ws.sample)
	return c.rows.Batch(ws.rows)
}

// GradSum sets u to the sum of the batch's gradients at ŵ, each clipped.
func (c *Client) GradSum(u []float32, batch data.Batch, ws *Workspace) error {
	if c.drawing != nil {
		c.root.Reseed(&ws.dropout, rng.Dropout, uint32(c.id), c.state.i)
		c.drawing.Draw(ws.model, &ws.dropout)
	}
	return c.model.ClippedGradSum(u, c.state.w(), batch, c.mech.ClipNorm, ws.model)
}

// AddNoise adds the current round's noise to u.
func (c *Client) AddNoise(u []float32, ws *Workspace) {
	c.root.Reseed(&ws.noise, rng.Noise, uint32(c.id), c.state.i)
	c.mech.AddNoise(u, &ws.noise)
}

// Finish ends the round with its computed u: it is entered in the ledger,
// applied to the local model, and returned as the message to send.
func (c *Client) Finish(u []float32) Update {
	s := &c.state
	if !s.busy {
		panic("sim: a round ended that had not begun")
	}
	s.ledger.Record(c.mech.EventOf(s.size))
	if s.newer != nil {
		s.replace(s.newer, c.release)
		s.newer = nil
	}
	if s.shared != nil {
		if s.own == nil {
			s.own = make([]float32, len(u))
		}
		copy(s.own, s.shared.X)
		s.replace(nil, c.release)
	}
	f32.Axpy(-c.sched.eta[s.i], u, s.own)
	update := Update{Client: c.id, Round: s.i, U: u}
	s.i++
	s.busy = false
	if invariants {
		c.assertFinished()
	}
	return update
}

// Receive takes the broadcast of v̂_k (ISRReceive), which the client reads until
// it releases it. A broadcast no newer than one already received is dropped.
func (c *Client) Receive(k int, v *Vector) {
	s := &c.state
	if invariants {
		defer c.assertReceived(k, s.k)
	}
	switch {
	case k <= s.k:
		c.release(v)
		return
	case !s.busy:
		s.replace(v, c.release)
	default:
		if s.newer != nil {
			c.release(s.newer)
		}
		s.newer = v
	}
	s.k = k
}

// replace makes v the broadcast that ŵ is.
func (s *clientState) replace(v *Vector, release func(*Vector)) {
	if s.shared != nil {
		release(s.shared)
	}
	s.shared = v
}

// clone returns a copy that shares nothing but the broadcasts.
func (s *clientState) clone() clientState {
	out := *s
	out.own, out.ledger = slices.Clone(s.own), s.ledger.Clone()
	return out
}
