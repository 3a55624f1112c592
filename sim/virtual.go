package sim

import (
	"context"
	"errors"
	"fmt"

	"proactivedp/rng"
)

// Virtual runs a configuration on a virtual clock, event by event in the order
// (time, client, sequence). Everything happens in the caller's goroutine but,
// with Perf.Workers above 1, the gradients of models large enough to be worth
// it: a round's Compute starts at its start event and is joined at its end
// event, so clients whose rounds overlap on the virtual clock compute at the
// same time. The result does not depend on Perf.
type Virtual struct {
	cfg     *Config
	perf    Perf
	sched   *schedule
	server  *Server
	clients []*Client
	observe Observer

	now        Time
	seq        uint64
	queue      queue
	stations   []station // by client
	staleness  Staleness
	record     func(Happening) // nil: not wanted
	vectors    vectorPool
	frame      frame
	draws      rng.Stream // of durations and of what befalls messages
	slower     []float64  // by client, the factor on its compute time; nil: 1
	unreliable bool       // messages may meet more than their latency
	ws         *Workspace // of computing here; nil until needed
	failed     error      // why the run cannot go on
	crew       *crew      // nil: compute here
}

// NewVirtual prepares a run. observe may be nil.
func NewVirtual(cfg *Config, perf Perf, observe Observer) (*Virtual, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	v := &Virtual{cfg: cfg, perf: perf, observe: observe}
	v.frame = cfg.frame()
	v.vectors.length = v.frame.params
	v.server, v.clients, v.sched = cfg.newMachines(v.vectors.put)
	v.stations = make([]station, len(v.clients))
	v.slower = cfg.Speeds.factors(len(v.clients), cfg.Roots.Run)
	v.unreliable = cfg.unreliable()
	for _, c := range v.clients {
		v.turn(c, clientLeaves, cfg.Churn.Present)
		v.begin(c)
	}
	return v, nil
}

// pollWork is about how many operations of gradients pass between looks at the
// context.
const pollWork = paramFLOPs << 22

// Run processes events until training is complete. Cancelling the context
// stops it between events; the run can then go on with another call.
func (v *Virtual) Run(ctx context.Context) (*Result, error) {
	if _, err := v.RunUntil(ctx, func() bool { return false }); err != nil {
		return nil, err
	}
	return v.result()
}

// RunUntil processes events until none is left, and reports true, or until stop
// returns true, which is asked before each. stop may look at the run (Now, Model,
// Updates, Next, Snapshot); the run can go on with another call.
func (v *Virtual) RunUntil(ctx context.Context, stop func() bool) (finished bool, err error) {
	if workers := v.cfg.Computing(v.perf); workers > 1 {
		v.crew = newCrew(workers, v.cfg.Model, len(v.clients))
		for _, c := range v.clients {
			if c.state.busy {
				v.crew.start(c, v.vectors.get(1))
			}
		}
		defer func() {
			v.crew.wait()
			v.crew = nil
		}()
	}
	pollEvery := max(1, int(pollWork/v.cfg.work()))
	for n := 0; !stop(); n++ {
		if n%pollEvery == 0 {
			if err := context.Cause(ctx); err != nil {
				return false, fmt.Errorf("sim: %w", err)
			}
		}
		if more, err := v.Step(); err != nil || !more {
			return err == nil, err
		}
	}
	return false, nil
}

// Now returns the virtual time of the last event.
func (v *Virtual) Now() Time { return v.now }

// Next returns the time of the next event; false if there is none.
func (v *Virtual) Next() (Time, bool) {
	if len(v.queue) == 0 {
		return 0, false
	}
	return v.queue[0].at, true
}

// Model returns the global model v as it is, to be neither kept nor changed.
func (v *Virtual) Model() []float32 { return v.server.Model() }

// Updates returns how many updates the server has applied.
func (v *Virtual) Updates() int { return v.server.state.applied }

// ErrStalled reports that clients are left waiting and nothing is under way:
// the permissible delay was not true for k ≥ i.
var ErrStalled = errors.New("sim: every client waits and no message is under way: Υ(k, i) is false for some k ≥ i")

func (v *Virtual) result() (*Result, error) {
	if !v.server.Done() {
		return nil, ErrStalled
	}
	r, err := newResult(v.server, v.clients, v.cfg.Run(), v.staleness)
	if err != nil {
		return nil, err
	}
	r.Clock = v.now
	for i := range v.stations {
		r.Busy = append(r.Busy, v.stations[i].busy)
		r.Absent = append(r.Absent, v.stations[i].absent)
	}
	return r, nil
}

// Step processes the next event and reports whether there was one. A run that
// has failed fails again.
func (v *Virtual) Step() (bool, error) {
	if v.failed != nil || len(v.queue) == 0 {
		return false, v.failed
	}
	e := v.queue.pop()
	v.now = e.at
	if err := v.happen(e); err != nil {
		v.failed = err
	}
	return v.failed == nil, v.failed
}

func (v *Virtual) happen(e event) error {
	switch e.kind {
	case roundEnds:
		c := v.clients[e.client]
		u, err := v.computed(c)
		if err != nil {
			return err
		}
		st := &v.stations[e.client]
		st.end(v.now)
		v.staleness.add(c.state.lag, 1)
		round := c.Finish(u.X).Round
		if v.cfg.Adapt != 0 {
			c.Took(v.now - st.began)
		}
		v.note(RoundEnds, c.id, round, false)
		v.send(event{client: e.client, kind: updateArrives, number: int32(round), vector: u})
		if c.Done() && v.cfg.Churn != (Churn{}) {
			v.stay(c)
		}
		v.begin(c)
		if invariants {
			v.assertAwake(c)
		}
	case updateArrives:
		v.note(UpdateArrives, int(e.client), int(e.number), false)
		broadcast, err := v.server.Receive(Update{Client: int(e.client), Round: int(e.number), U: e.vector.X})
		if err != nil {
			return err
		}
		v.vectors.put(e.vector)
		if broadcast {
			v.broadcast()
		}
	case broadcastArrives:
		return v.deliver(e)
	case broadcastArrivesAtAll:
		return v.deliverToAll(e)
	case updateResent, broadcastResent:
		v.resend(e)
	case clientLeaves:
		v.leave(v.clients[e.client])
	case clientReturns:
		v.rejoin(v.clients[e.client])
	}
	return nil
}

func (v *Virtual) deliver(e event) error {
	c := v.clients[e.client]
	if v.stations[c.id].away {
		v.note(MessageLost, c.id, int(e.number), true)
		v.vectors.put(e.vector)
		return nil
	}
	v.note(BroadcastArrives, c.id, int(e.number), true)
	if err := c.Receive(int(e.number), e.vector); err != nil {
		return err
	}
	v.begin(c)
	if invariants {
		v.assertAwake(c)
	}
	return nil
}

// deliverToAll delivers a broadcast to its client and goes on to the next ones
// as long as theirs is the first event; the rest waits its turn in the queue.
func (v *Virtual) deliverToAll(e event) error {
	for {
		if err := v.deliver(e); err != nil {
			return err
		}
		if e.client++; int(e.client) == len(v.clients) {
			return nil
		}
		if len(v.queue) > 0 && !e.before(&v.queue[0]) {
			v.queue.push(e)
			return nil
		}
	}
}

// ErrClock reports that something would happen beyond the end of the virtual
// clock, some 292 years: a draw from a heavy tail.
var ErrClock = errors.New("sim: the virtual clock cannot hold a time so late")

// schedule enters an event that happens after the given time.
func (v *Virtual) schedule(after Time, e event) {
	if after > beyond-1-v.now {
		v.failed = ErrClock
		return
	}
	e.at = v.now + after
	e.seq = v.seq
	v.seq++
	v.queue.push(e)
}

// begin starts the client's next round if it may.
func (v *Virtual) begin(c *Client) {
	st := &v.stations[c.id]
	if st.away || !c.CanBegin() {
		return
	}
	c.Begin()
	if v.crew != nil {
		v.crew.start(c, v.vectors.get(1))
	}
	st.began = v.now
	if v.record != nil {
		v.record(v.begun(c))
	}
	scale := float64(c.state.size)
	if v.slower != nil {
		scale *= v.slower[c.id]
	}
	// A round that was given up is not as long again as it was.
	took := v.cfg.Timing.Compute.sample(scale, v.cfg.Roots.Run, &v.draws, rng.ComputeTime, c.id, c.state.i+int(st.aborts))
	v.schedule(took, event{client: uint32(c.id), kind: roundEnds})
}

// computed returns the round's release, waiting for the worker that has it or
// computing it now.
func (v *Virtual) computed(c *Client) (*Vector, error) {
	if v.crew != nil {
		if u, err := v.crew.join(c); u != nil || err != nil {
			return u, err
		}
	}
	if v.ws == nil {
		v.ws = NewWorkspace(v.cfg.Model)
	}
	u := v.vectors.get(1)
	return u, c.Compute(u.X, v.ws)
}

// broadcast sends v̂_k to every client, one shared copy.
func (v *Virtual) broadcast() {
	k := v.server.K()
	shared := v.vectors.get(len(v.clients))
	copy(shared.X, v.server.Model())
	if v.observe != nil {
		v.observe(Broadcast{K: k, GradComps: v.sched.before[k], At: v.now, V: shared.X})
	}
	v.note(BroadcastSent, AllClients, k, true)
	if v.cfg.Timing.Downlink.Kind == ConstantDuration && !v.unreliable {
		// One event stands for the n that would happen at one time.
		v.schedule(Time(v.cfg.Timing.Downlink.Mean), event{kind: broadcastArrivesAtAll, number: int32(k), vector: shared})
		return
	}
	for _, c := range v.clients {
		v.send(event{client: uint32(c.id), kind: broadcastArrives, number: int32(k), vector: shared})
	}
}
