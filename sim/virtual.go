package sim

import (
	"context"
	"errors"

	"proactivedp/dp"
	"proactivedp/rng"
)

// Virtual runs a configuration as a discrete-event simulation on a virtual clock. It processes events one by one, in
// the order of their times. Events of the same time are ordered by client, and those of one client by their creation.
// All of this happens in the caller's goroutine, except for gradients: if Perf.Workers is above 1 and a round has
// enough work (Perf.MinWork), worker goroutines compute them, from the event that begins the round to the event that
// ends it. So the rounds of clients that overlap on the virtual clock are computed at the same time. [Perf], the
// settings for the speed, does not change the result.
//
// Use NewVirtual to make one. The methods of a zero Virtual return an error or, if they have no error result,
// may panic.
type Virtual struct {
	// Beside has numbers of the caller, for example what an observer computes from the global models. Checkpoints
	// save them together with the run. Checkpoint.Restore overwrites its elements, so the length must be the same as
	// when the checkpoint was written.
	Beside []float64

	cfg     *Config
	perf    Perf
	server  *Server
	clients []*Client
	observe Observer

	now        Time
	seq        uint64
	agenda     agenda
	stations   []station // how each client spends its time
	staleness  Staleness
	record     func(Happening) // unless it is nil, is called with each event
	vectors    vectorPool
	frame      frame
	draws      rng.Stream    // draws durations and what happens to messages
	durations  rng.ManyHeads // of each client's rounds
	slower     []float64     // factor on each client's compute time; nil means 1 for all
	unreliable bool          // whether messages may be lost or doubled
	ws         *Workspace    // for computing in the caller's goroutine; nil until needed
	failed     error         // why the run cannot continue; nil if it can
	crew       *crew         // computes rounds; if nil, the caller's goroutine does
}

// NewVirtual prepares a run of the configuration on the virtual clock. The error lists everything that is wrong with
// the configuration. perf has the settings for the speed, such as the number of goroutines; they do not change the
// result. observe, unless it is nil, is called with every broadcast, a global model that the server sends to the
// clients.
func NewVirtual(cfg *Config, perf Perf, observe Observer) (*Virtual, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	v := &Virtual{cfg: cfg, perf: perf, observe: observe}
	v.vectors.length = cfg.Model.NumParams()
	v.server, v.clients = cfg.newMachines(v.vectors.put)
	v.frame = v.server.frame
	v.stations = make([]station, len(v.clients))
	v.agenda.queue = make(queue, 0, len(v.clients)) // for the end of each client's round
	v.durations = rng.NewManyHeads(len(v.clients))
	v.slower = cfg.Speeds.Factors(len(v.clients), cfg.Roots.Run)
	v.unreliable = cfg.unreliable()
	for _, c := range v.clients {
		v.turn(c, clientLeaves, cfg.Churn.Present)
		v.begin(c)
	}
	return v, nil
}

// pollWork is about how many operations of gradients are computed between two checks of the context.
const pollWork = paramFLOPs << 22

// Run processes events until training is complete, and returns the result. If ctx is cancelled, Run stops between two
// events and returns context.Cause(ctx); another call continues the run. The error is ErrStalled if all clients wait
// forever.
func (v *Virtual) Run(ctx context.Context) (*Result, error) {
	if _, err := v.RunUntil(ctx, func() bool { return false }); err != nil {
		return nil, err
	}
	return v.result()
}

// RunUntil processes events until none is left, and then returns true, or until stop returns true. It calls stop
// before each event. stop may call Now, Model, Updates, Next and WriteCheckpoint. If ctx is cancelled, the error is
// context.Cause(ctx). Another call continues the run.
func (v *Virtual) RunUntil(ctx context.Context, stop func() bool) (finished bool, err error) {
	if err := v.made(); err != nil {
		return false, err
	}
	if workers := v.cfg.Computing(v.perf); workers > 1 {
		v.crew = newCrew(workers, v.cfg.Model, len(v.clients))
		for _, e := range *v.agenda.all() {
			if e.kind == roundEnds {
				v.crew.start(v.clients[e.client], v.vectors.get(1), e.at)
			}
		}
		defer func() {
			v.crew.wait()
			v.crew = nil
		}()
	}
	pollEvery := max(1, int(pollWork/max(v.cfg.work(), 1)))
	for left := 0; !stop(); left-- {
		if left == 0 {
			left = pollEvery
			if err := context.Cause(ctx); err != nil {
				return false, err
			}
		}
		if more, err := v.Step(); err != nil || !more {
			return err == nil, err
		}
	}
	return false, nil
}

// Ledgers returns, for each client, a copy of its ledger, which lists all rounds that the client has finished so far.
// An accountant computes from a ledger what the client's rounds cost a record.
func (v *Virtual) Ledgers() []dp.Ledger {
	out := make([]dp.Ledger, len(v.clients))
	for i, c := range v.clients {
		out[i] = c.Ledger()
	}
	return out
}

// Now returns the current time on the virtual clock: that of the event that was processed last.
func (v *Virtual) Now() Time { return v.now }

// Next returns the time of the next event on the virtual clock, or false if no event is left.
func (v *Virtual) Next() (Time, bool) {
	if e := v.agenda.next(); e != nil {
		return e.at, true
	}
	return 0, false
}

// Model returns the current global model v. The caller must not keep or change it.
func (v *Virtual) Model() []float32 { return v.server.Model() }

// Updates returns how many updates of all clients the server has applied so far.
func (v *Virtual) Updates() int { return v.server.state.applied }

// ErrStalled is the error for a run that cannot continue: all clients wait, and no message is under way. This happens
// only with a wrong custom [Delay]: Permits(k, i), which says whether a client whose newest global model contains all
// rounds below k may compute round i, returns false for some k ≥ i. The client then waits for a newer model, but the
// server sends none before it has this round.
var ErrStalled = errors.New("every client waits and no message is under way: Υ(k, i) is false for some k ≥ i")

func (v *Virtual) result() (*Result, error) {
	if !v.server.Done() {
		return nil, ErrStalled
	}
	r, err := newResult(v.server, v.clients, v.cfg.Run(), v.staleness)
	if err != nil {
		return nil, err
	}
	r.Clock, r.Busy, r.Absent = v.now, make([]Time, 0, len(v.stations)), make([]Time, 0, len(v.stations))
	for i := range v.stations {
		r.Busy = append(r.Busy, v.stations[i].busy)
		r.Absent = append(r.Absent, v.stations[i].absent)
	}
	return r, nil
}

// Step processes the next event. It returns false if no event is left or if there is an error. After an error, every
// later call returns the same error.
func (v *Virtual) Step() (bool, error) {
	if err := v.made(); err != nil {
		return false, err
	}
	next := v.agenda.next()
	if v.failed != nil || next == nil {
		return false, v.failed
	}
	var e event
	v.agenda.take(next, &e)
	v.now = e.at
	if err := v.happen(&e); err != nil {
		v.failed = err
	}
	return v.failed == nil, v.failed
}

func (v *Virtual) made() error {
	if v == nil || v.cfg == nil {
		return errors.New("this Virtual was not made by NewVirtual")
	}
	return nil
}

// virtualState is the part of a Virtual that changes during a run and cannot be computed from other
// fields.
type virtualState struct {
	server    serverState
	clients   []clientState
	now       Time
	seq       uint64
	queue     queue
	stations  []station
	staleness Staleness
}

// state returns the run's state itself, not a copy.
func (v *Virtual) state() virtualState {
	s := virtualState{server: v.server.state, now: v.now, seq: v.seq, queue: *v.agenda.all(), stations: v.stations,
		staleness: v.staleness}
	s.clients = make([]clientState, len(v.clients))
	for i, c := range v.clients {
		s.clients[i] = c.state
	}
	return s
}

// setState is the inverse of state.
func (v *Virtual) setState(s virtualState) {
	v.server.state, v.now, v.seq, v.agenda = s.server, s.now, s.seq, agenda{queue: s.queue}
	v.stations, v.staleness = s.stations, s.staleness
	for i, c := range v.clients {
		c.state = s.clients[i]
	}
}
