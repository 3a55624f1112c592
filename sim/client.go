package sim

import (
	"fmt"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/internal/decimal"
	"proactivedp/internal/f32"
	"proactivedp/models"
	"proactivedp/rng"
)

// Update is the message that a client sends after a round: the sum U of the batch's clipped gradients, plus noise.
// The receiver of the message owns the slice U and may overwrite it.
type Update struct {
	Client, Round int       // the numbers of the client and of its round, from 0
	U             []float32 // the message, of the model's length
}

// Client is one participant of the training (the paper's compute node; Algorithms Setup, ISRReceive and
// LocalSGDwithDP). It is a state machine: a runner, such as [Virtual], calls its methods and delivers its messages (see
// [NewServer]). A round consists of a call of Begin, one of Compute, and one of Finish or Abort. Receive may be called
// at any time between them. A Client is not safe for concurrent use, with one exception: Compute may run during a call
// of Receive, because neither writes a field that the other reads.
//
// Use NewClient to make one. The methods of a zero Client return an error or, if they have no error result, may
// panic.
type Client struct {
	frame
	id      int
	rows    data.Subset
	drawing models.Stochastic // the model, if its gradients are random; else nil
	delay   Delay
	root    *rng.Root
	compute Substitute
	adapt   Adapt
	nominal float64       // mean time of a gradient at speed 1, in nanoseconds
	letGo   func(*Vector) // called with each broadcast that the client will not read again
	samples *rng.Heads    // used only by Compute
	// allotted is the newest epoch of allocation that was drawn, or nil. Only Compute uses it. It follows
	// from the root, so no checkpoint has it.
	allotted *allotted
	state    clientState
}

// allotted holds which records belong to which round, in one epoch of a client whose mechanism samples by allocation.
type allotted struct {
	dp.Allotment
	client *Client // nil if no epoch was drawn
	epoch  int
}

// allot returns the records of the round. It draws the round's epoch first, unless a already holds that epoch.
func (a *allotted) allot(c *Client, round int, ws *Workspace) []int32 {
	t := c.mech.Batches
	if epoch := round / t; a.client != c || a.epoch != epoch {
		c.root.Reseed(&ws.sampling, rng.Sampling, uint32(c.id), epoch)
		c.mech.Allot(&a.Allotment, &ws.sampling, &ws.sample)
		a.client, a.epoch = c, epoch
	}
	return a.Of(round % t)
}

// clientState is everything about a client that changes. A broadcast is not copied: several clients
// may read the same Vector. After its first step, a client has its own vector.
type clientState struct {
	shared *Vector   // ŵ, if it is a broadcast as it came; nil if ŵ is own
	own    []float32 // ŵ after a step of this client; nil before the first step
	newer  *Vector   // a broadcast that came during the round and replaces ŵ at its end; or nil
	k      int       // k of the newest broadcast received
	i      int       // the current round
	busy   bool      // whether a round is under way, between Begin and Finish or Abort
	size   int       // expected sample size of the newest round that began
	lag    int       // i − k when the newest round began (see Client.Lag)
	pace   pace      // how fast it has been, if it adapts
	ledger dp.Ledger // without the name of its noise: that is the root's name
}

// newClient returns a client that starts from the default global model and becomes one of
// its readers.
func newClient(id int, cfg *Config, f frame, h *rng.Heads, initial *Vector, letGo func(*Vector)) *Client {
	before := f.sched.before // Υ counts the rounds of Config.Mechanism
	f = f.of(id)
	drawing, _ := cfg.Model.(models.Stochastic)
	nominal := 0.0 // used only by clients that adapt; else Timing may be invalid
	if cfg.Adapt != 0 {
		nominal = cfg.Timing.Compute.Expected()
	}
	compute := cfg.Substitute
	if compute == nil {
		compute = (*Client).Release
	}
	return &Client{
		frame: f, id: id, compute: compute, rows: cfg.Rows[id], drawing: drawing,
		delay: permitted(cfg.Delay, id, before), adapt: cfg.Adapt, nominal: nominal,
		root: cfg.Roots.Clients[id], letGo: letGo, samples: h,
		state: clientState{shared: initial},
	}
}

// w returns ŵ, the client's own parameters.
func (s *clientState) w() []float32 {
	if s.shared != nil {
		return s.shared.X
	}
	return s.own
}

// Done reports whether the client has finished all its rounds. Their number is T, or T_c if clients have their own
// batch sizes (see Config.Own).
func (c *Client) Done() bool { return c.state.i == c.sched.rounds }

// CanBegin reports whether the client may start its next round now. No round may be under way, rounds must be left,
// and the permissible delay must allow the next round i with the newest global model that the client has.
func (c *Client) CanBegin() bool { return !c.state.busy && !c.Done() && c.permits() }

// permits reports whether the permissible delay allows the current round, which is not the last.
func (c *Client) permits() bool {
	at := c.sched.begins(c.state.i)
	return c.delay.Permits(min(c.state.k, at), at)
}

// Begin starts the next round. It panics if CanBegin is false.
func (c *Client) Begin() {
	if !c.CanBegin() {
		panic("sim: a round began while Υ was false or another was running")
	}
	s := &c.state
	s.busy = true
	s.lag = max(0, c.sched.begins(s.i)-s.k)
	s.size = c.mech.Sizes.At(s.i)
	if c.adapt != 0 {
		s.size = c.adapt.size(s.size, c.mech.DatasetSize, c.nominal, s.pace)
	}
	if invariants {
		c.assertBegun()
	}
}

// Abort gives up the round under way, as when a client leaves. Nothing of the round was released, so the client may
// begin the round again, with the same batch and the same noise. Abort panics if no round is under way.
func (c *Client) Abort() {
	s := &c.state
	if !s.busy {
		panic("sim: a round was given up that had not begun")
	}
	if s.newer != nil {
		s.replace(s.newer, c.letGo)
		s.newer = nil
	}
	s.busy = false
}

// Workspace is working memory for Client.Compute, which therefore need not allocate memory in each round. Several
// clients can use one Workspace in turn, but two calls of Compute that run at the same time need two.
type Workspace struct {
	sampling, dropout, noise rng.Stream
	rows                     []int32
	sample                   dp.SampleScratch
	sums                     *models.Sums
	model                    models.Scratch
}

// NewWorkspace returns a workspace for clients of the model.
func NewWorkspace(m models.Model) *Workspace {
	return &Workspace{sums: models.NewSums(m), model: m.NewScratch()}
}

// Sum returns a vector of the model's length as working memory, for a [Substitute], which is a function that runs in
// place of Client.Release. It can pass the vector to Client.GradSum and then to Client.AddNoise, and need not allocate
// one. Each call returns the same memory and does not clear it. Client.Release may overwrite it.
func (ws *Workspace) Sum() []float64 { return ws.sums.Wide() }

// Compute sets u to the message of the round under way: the sum of the batch's clipped gradients at the client's
// parameters ŵ, plus noise. u must have the model's length. ws is working memory. The result depends only on ŵ, the
// client, the round and the client's root (the seed of its randomness), so a repeated call computes the same bits. It
// is an error if no round is under way.
func (c *Client) Compute(u []float32, ws *Workspace) error {
	if err := c.made(); err != nil {
		return err
	}
	if !c.state.busy {
		return fmt.Errorf("client %d is in no round: call Begin before Compute", c.id)
	}
	if err := c.compute(c, u, ws); err != nil {
		return fmt.Errorf("client %d, round %d: %w", c.id, c.state.i, err)
	}
	return nil
}

// Substitute is a function that computes the message of the client's current round instead of Client.Release (the
// usual noisy sum of clipped gradients), for example with a deliberate fault that an audit must find. Set it in
// Config.Substitute. It writes the message to u, of the model's length. It may read the client, but must not change
// it. ws is working memory, to pass to methods of the client such as GradSum.
type Substitute func(c *Client, u []float32, ws *Workspace) error

// Release sets u, of the model's length, to the message of the current round: the sum of the clipped gradients of a
// random batch, plus noise. ws is working memory. Compute calls Release, unless Config.Substitute has a function that
// replaces it (see [Substitute]). Such a function may call Release and then change u.
func (c *Client) Release(u []float32, ws *Workspace) error {
	if err := c.made(); err != nil {
		return err
	}
	batch := c.Sample(ws)
	ws.sums.Ahead(batch) // load the records from memory while the noise is drawn
	c.root.Reseed(&ws.noise, rng.Noise, uint32(c.id), c.state.i)
	if c.mech.Exact { // the sum is rounded before it is noised
		err := c.GradSum(ws.Sum(), batch, ws)
		c.mech.AddNoise(u, ws.Sum(), &ws.noise)
		return err
	}
	c.mech.Noise(u, &ws.noise)
	c.draw(ws)
	return ws.sums.AddGradSum(u, c.state.w(), batch, c.mech.ClipNorm, ws.model)
}

// ID returns the client's number, from 0.
func (c *Client) ID() int { return c.id }

// Round returns the number i of the round under way or, between rounds, of the next one. After the last round it is
// the client's number of rounds.
func (c *Client) Round() int { return c.state.i }

// Size returns the expected sample size (batch size) of the current round or, between rounds, of the last one.
func (c *Client) Size() int { return c.state.size }

// Took tells the client how long its newest finished round took, so that it can adapt its batch sizes to its speed. A
// runner (a program that moves messages, see [NewServer]) must call Took after each round if Config.Adapt is set.
func (c *Client) Took(t Time) {
	c.state.pace.gradients += c.state.size
	c.state.pace.spent += t
}

// InRound reports whether a round is under way: after Begin, and before Finish or Abort.
func (c *Client) InRound() bool { return c.state.busy }

// Newest returns the number k of the newest broadcast (global model) that the client has received. At the start it is
// 0, the number of the initial model.
func (c *Client) Newest() int { return c.state.k }

// Lag returns i − k for the newest round i that the client has begun, where k is the number of the newest global
// model that the client had at that time. That model contains all updates of the rounds below k, so Lag says by how
// many rounds it was behind.
//
// If clients have their own batch sizes (Config.Own), both i and k count the T rounds of the clients with the most
// rounds. One round of another client counts as several of the T rounds, and i is the first of them, see Config.Own.
// For example, if T = 6 and this client has 2 rounds, its round 1 counts as rounds 3, 4 and 5, so that i = 3. The server
// needs it only for the model v̂_6. So when the client begins it, the newest model may be v̂_5, if the other clients have
// finished rounds 3 and 4. Then k = 5 is above i, and Lag returns 0.
func (c *Client) Lag() int { return c.state.lag }

// Ledger returns a copy of the client's ledger: all its finished rounds as events for an accountant, with the name of
// the root (seed) of their noise.
func (c *Client) Ledger() dp.Ledger { return c.state.ledger.Named(c.noise()) }

// noise returns the name of the noise in the client's rounds.
func (c *Client) noise() dp.Noise { return dp.Noise{Name: c.root.Name(), Client: c.id} }

// Sample returns the batch of the current round: the records that the mechanism draws from the client's records. The
// batch is stored in the working memory ws, and is valid until the next call with the same ws.
func (c *Client) Sample(ws *Workspace) data.Batch {
	if c.mech.Sampling == dp.Allocation {
		if c.allotted == nil {
			c.allotted = new(allotted)
		}
		ws.rows = append(ws.rows[:0], c.allotted.allot(c, c.state.i, ws)...)
		return c.rows.Batch(ws.rows)
	}
	c.samples.Reseed(&ws.sampling, c.root, rng.Sampling, uint32(c.id), c.state.i)
	ws.rows = c.mech.SampleOf(ws.rows[:0], c.state.size, &ws.sampling, &ws.sample)
	return c.rows.Batch(ws.rows)
}

// GradSum sets sum, of the model's length, to the sum of the batch's clipped gradients at the client's parameters ŵ. It
// adds no noise. ws is working memory. Use GradSum, and AddNoise after it, in a [Substitute]: a function that computes
// a client's message instead of Release, for example with a fault that an audit must find.
func (c *Client) GradSum(sum []float64, batch data.Batch, ws *Workspace) error {
	if err := c.made(); err != nil {
		return err
	}
	c.draw(ws)
	return ws.sums.GradSum(sum, c.state.w(), batch, c.mech.ClipNorm, ws.model)
}

// draw gives the round's stream of random numbers to a model whose gradients are random.
func (c *Client) draw(ws *Workspace) {
	if c.drawing != nil {
		c.root.Reseed(&ws.dropout, rng.Dropout, uint32(c.id), c.state.i)
		c.drawing.Draw(ws.model, &ws.dropout)
	}
}

// AddNoise sets u to sum plus the noise of the client's current round. u and sum have the model's length, and
// ws is working memory. Use AddNoise after GradSum in a [Substitute], a function that replaces Release in an audit.
// Release itself samples a batch and does both.
func (c *Client) AddNoise(u []float32, sum []float64, ws *Workspace) {
	c.root.Reseed(&ws.noise, rng.Noise, uint32(c.id), c.state.i)
	c.mech.AddNoise(u, sum, &ws.noise)
}

// Finish ends the round under way. u is the message U that Compute set, ŵ is the client's model, and η̄_i
// the step size. In this order, Finish
//
//  1. counts the round in the ledger (the list of rounds from which ε is computed),
//  2. replaces ŵ by the newest broadcast that came during the round, if one came,
//  3. takes the round's step, ŵ ← ŵ − η̄_i·U,
//  4. returns the message to send.
//
// Step 2 comes before step 3 because the broadcast cannot contain this round: its update is not sent yet.
// Finish panics if no round is under way, or u is not of the model's length.
func (c *Client) Finish(u []float32) Update {
	s := &c.state
	if !s.busy {
		panic("sim: a round ended that had not begun")
	}
	if len(u) != c.params {
		panic(fmt.Sprintf("sim: a round of %d parameters ended with %d", c.params, len(u)))
	}
	if !s.ledger.Repeat(s.size) {
		s.ledger.Record(c.mech.EventOf(s.size))
	}
	if s.newer != nil {
		s.replace(s.newer, c.letGo)
		s.newer = nil
	}
	w := s.w()
	if s.own == nil {
		s.own = make([]float32, len(u))
	}
	f32.AxpyTo(s.own, -c.sched.eta(s.i), u, w)
	s.replace(nil, c.letGo)
	s.i++
	s.busy = false
	if invariants {
		c.assertFinished()
	}
	return Update{Client: c.id, Round: s.i - 1, U: u}
}

// Receive takes the broadcast v̂_k: the global model with all rounds below k (ISRReceive in the paper).
// The client reads the vector v until it no longer needs it, and then calls letGo (see NewClient). Until
// then, nobody may write v. In the following, ŵ is the client's own model, and Υ the permissible delay.
//
// Broadcasts may be late, overtake each other, or come twice. For example:
//
//  1. The client begins round 2. Compute reads ŵ, perhaps in another goroutine, so ŵ must not
//     change before Finish.
//  2. v̂_2 comes. The client keeps it for the end of the round. Υ uses k = 2 from now on.
//  3. v̂_1 comes, which the server sent before v̂_2. The client drops it, as it drops every broadcast
//     that is not newer than the newest one: it may lack updates that v̂_2 has.
//  4. Finish(U) sets ŵ ← v̂_2 − η̄_2·U.
//  5. In round 3, v̂_4 comes. That is an error and changes nothing: the server sends v̂_4 only when
//     it has rounds 0 to 3 of every client, and this client has not finished round 3. So k is never
//     above Round, unless the client was expelled or somebody else sent rounds in its name.
//
// If clients have their own batch sizes (Config.Own), k counts the T rounds of the clients with the most rounds. Then
// one round of this client counts as several of the T rounds. Until this round is finished, a k above the last of
// them is an error, because v̂_k would have to contain the round. After its last round, the client accepts every k up
// to T.
//
// v̂_k may lack updates that the client has sent and the server has not yet received, of rounds from k on.
// After step 4, ŵ lacks these steps too, until a later broadcast has them. The server loses nothing.
func (c *Client) Receive(k int, v *Vector) error {
	if err := c.made(); err != nil {
		return err
	}
	s := &c.state
	if v == nil {
		return fmt.Errorf("client %d in round %d: broadcast k = %d has no vector", c.id, s.i, k)
	}
	if most := c.sched.ends(s.i); k < 0 || k > most || len(v.X) != c.params {
		return fmt.Errorf("client %d in round %d: broadcast k = %d of %d parameters, must be in [0, %d], of %d",
			c.id, s.i, k, len(v.X), most, c.params)
	}
	if invariants {
		defer c.assertReceived(k, s.k)
	}
	switch {
	case k <= s.k:
		c.letGo(v)
		return nil
	case !s.busy:
		s.replace(v, c.letGo)
	default:
		c.keep(v)
	}
	s.k = k
	return nil
}

// keep makes v the broadcast that replaces ŵ at the end of the round.
func (c *Client) keep(v *Vector) {
	if c.state.newer != nil {
		c.letGo(c.state.newer)
	}
	c.state.newer = v
}

// Resume makes a new client continue for a client that was lost. Only the lost client's ledger is needed. The new
// client must have the number and the root (seed of the samples and the noise) of the lost one. The new client
// continues with the round after those in the ledger, as if the broadcast v̂_k had just arrived. It is an error if
// the new client is in a round, if it has finished more rounds than the ledger has, or if the ledger or the broadcast
// cannot belong to this run. A client that adapts its sample sizes measures its speed again.
//
// The ledger must count every round whose update was sent, even in part. Otherwise:
//
//  1. The client computes round 5 and sends U = G + Z: G is the sum of clipped gradients
//     at the client's model ŵ, and Z is the noise that the root gives for this client and round 5.
//  2. The client is lost before its ledger counts round 5. Another client resumes in round 5.
//  3. ŵ is v̂_k now. The root gives the same sample and the same Z, but the gradients differ. The
//     client sends U′ = G′ + Z.
//  4. Anybody who has both updates computes U − U′ = G − G′, without noise.
//
// So write a round to the ledger on disk before any part of its update is sent, as package cluster
// does.
func (c *Client) Resume(ledger *dp.Ledger, k int, v *Vector) error {
	if err := c.made(); err != nil {
		return err
	}
	fail := func(format string, args ...any) error {
		return fmt.Errorf("client %d cannot resume: %w", c.id, fmt.Errorf(format, args...))
	}
	if ledger == nil || v == nil {
		return fail("ledger or broadcast = nil, must be set")
	}
	rounds, ok := 0, true
	for _, e := range ledger.Events() {
		if rounds, ok = decimal.Sum(rounds, e.Count); !ok {
			return fail("rounds in the ledger, such as %d of one size, must be at most %d together", e.Count, c.sched.rounds)
		}
	}
	if c.state.busy || rounds < c.state.i || rounds > c.sched.rounds {
		return fail("it is in round %d (under way: %v), the ledger counts %d rounds, must be in [%d, %d], between "+
			"rounds",
			c.state.i, c.state.busy, rounds, c.state.i, c.sched.rounds)
	}
	for _, e := range ledger.Events() {
		if whole := c.mech.EventOf(e.SampleSize); !e.Alike(whole) {
			return fail("the ledger has %+v, which the mechanism does not have", e)
		}
		if e.Noise.Known() && e.Noise != c.noise() {
			return fail("noise of the ledger = %s, must be %s: with other noise, rounds would be released twice", e.Noise,
				c.noise())
		}
	}
	if most := c.sched.ends(rounds); k < c.state.k || k > most || len(v.X) != c.params {
		return fail("broadcast k = %d of %d parameters, must be in [%d, %d], of %d", k, len(v.X), c.state.k, most,
			c.params)
	}
	own := ledger.Named(dp.Noise{})
	if c.mech.Sampling == dp.Allocation && rounds > 0 { // the root gives the same draws, so the epochs go on
		whole := c.mech.Event(0)
		whole.Count, own = rounds, dp.Ledger{}
		own.Record(whole)
	}
	c.state.replace(v, c.letGo)
	c.state = clientState{shared: v, own: c.state.own, k: k, i: rounds, ledger: own}
	return nil
}

// replace makes the broadcast v the client's ŵ. If v is nil, ŵ is the client's own vector.
func (s *clientState) replace(v *Vector, letGo func(*Vector)) {
	if s.shared != nil {
		letGo(s.shared)
	}
	s.shared = v
}
