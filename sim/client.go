package sim

import (
	"fmt"
	"slices"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/internal/f32"
	"proactivedp/internal/rng"
	"proactivedp/models"
)

// Update is what a client sends: the noised sum U of its round. Whoever holds
// the message owns U.
type Update struct {
	Client, Round int
	U             []float32
}

// Client is a compute node (Algorithms Setup, ISRReceive and LocalSGDwithDP). A
// round is Begin, Compute and Finish; Receive may come at any time between
// them. Not safe for concurrent use, but Compute may run while Receive is
// called: they share no field that is written.
type Client struct {
	id    int
	mech  *dp.Mechanism
	rows  data.Subset
	model models.Model
	delay Delay
	sched *schedule
	root  *rng.Root
	state clientState
}

// clientState is everything about a client that changes.
type clientState struct {
	w       []float32 // ŵ
	newer   []float32 // a global model that came during the round
	pending bool      // newer is to replace ŵ at the end of the round
	k       int       // newest broadcast received
	i       int       // current round
	busy    bool      // between Begin and Finish
	maxLag  int       // largest i − k at a Begin
	ledger  dp.Ledger
}

func newClient(id int, cfg *Config, sched *schedule, initial []float32) *Client {
	return &Client{
		id: id, mech: &cfg.Mechanism, rows: cfg.Rows[id], model: cfg.Model,
		delay: cfg.Delay, sched: sched, root: cfg.Root,
		state: clientState{w: slices.Clone(initial), newer: make([]float32, len(initial))},
	}
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
	c.state.busy = true
	c.state.maxLag = max(c.state.maxLag, c.state.i-c.state.k)
}

// Workspace is the memory of one Compute at a time.
type Workspace struct {
	sampling, noise rng.Stream
	rows            []int32
	sample          dp.SampleScratch
	model           models.Scratch
}

// NewWorkspace returns a workspace for clients of the model.
func NewWorkspace(m models.Model) *Workspace { return &Workspace{model: m.NewScratch()} }

// Compute sets u to the round's release: the sum of the sample's clipped
// gradients at ŵ, plus noise. It is a function of ŵ, the client, the round and
// the seed alone, and may be repeated.
func (c *Client) Compute(u []float32, ws *Workspace) error {
	i := c.state.i
	c.root.Reseed(&ws.sampling, rng.Sampling, uint32(c.id), i)
	ws.rows = c.mech.Sample(ws.rows[:0], i, &ws.sampling, &ws.sample)
	batch := c.rows.Batch(ws.rows)
	if err := c.model.ClippedGradSum(u, c.state.w, batch, c.mech.ClipNorm, ws.model); err != nil {
		return fmt.Errorf("sim: client %d, round %d: %w", c.id, i, err)
	}
	c.root.Reseed(&ws.noise, rng.Noise, uint32(c.id), i)
	c.mech.AddNoise(u, &ws.noise)
	return nil
}

// Finish ends the round with its computed u: it is entered in the ledger,
// applied to the local model, and returned as the message to send.
func (c *Client) Finish(u []float32) Update {
	s := &c.state
	if !s.busy {
		panic("sim: a round ended that had not begun")
	}
	s.ledger.Record(c.mech.Event(s.i))
	if s.pending {
		copy(s.w, s.newer)
		s.pending = false
	}
	f32.Axpy(-c.sched.eta[s.i], u, s.w)
	update := Update{Client: c.id, Round: s.i, U: u}
	s.i++
	s.busy = false
	return update
}

// Receive takes the broadcast of v̂_k (ISRReceive). v is copied. A broadcast no
// newer than one already received is dropped.
func (c *Client) Receive(k int, v []float32) {
	s := &c.state
	if k <= s.k {
		return
	}
	s.k = k
	if s.busy {
		copy(s.newer, v)
		s.pending = true
		return
	}
	copy(s.w, v)
}

func (s *clientState) clone() clientState {
	out := *s
	out.w, out.newer, out.ledger = slices.Clone(s.w), slices.Clone(s.newer), s.ledger.Clone()
	return out
}
