package sim

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"proactivedp/dp"
	"proactivedp/internal/codec"
)

// visit writes or reads the state of a run. The server's counts and the readers of a vector follow
// from the rest, so it does not write them, but computes them when reading.
func (s *virtualState) visit(c *stateCodec) {
	c.frame.visit(c)
	s.server.visit(c)
	each(c, "client", &s.clients, (*clientState).visit)
	codec.Number(c, "time", &s.now, 0, math.MaxInt64)
	codec.Number(c, "sequence", &s.seq, 0, math.MaxInt64)
	codec.List(c, "event", (*[]event)(&s.queue), math.MaxInt32, (*event).visit)
	codec.List(c, "station", &s.stations, c.clients, (*station).visit)
	codec.List(c, "lag", (*[]int)(&s.staleness), c.rounds+1,
		func(n *int, c *stateCodec) { codec.Number(c, "rounds", n, 0, math.MaxInt64) })
}

// each visits a list with an element for each client. Each is visited with the frame of its client.
func each[T any](c *stateCodec, what string, list *[]T, visit func(*T, *stateCodec)) {
	all, next := c.frame, 0
	codec.List(c, what, list, all.clients, func(x *T, c *stateCodec) {
		c.frame = all.of(next)
		next++
		visit(x, c)
	})
	c.frame = all
}

// visit writes the frame, with the sizes of clients if these differ. When reading, it refuses a state with another frame.
func (f *frame) visit(c *stateCodec) {
	codec.Exactly(c, "number of parameters", f.params)
	codec.Exactly(c, "number of clients", f.clients)
	codec.Exactly(c, "number of rounds", f.rounds)
	for i := range f.scheds {
		own := f.of(i)
		codec.Exactly(c, "sample size of a client", own.mech.Sizes.At(0))
		codec.Exactly(c, "number of rounds of a client", own.sched.rounds)
	}
}

func (s *station) visit(c *stateCodec) {
	codec.Number(c, "beginning of the round", &s.began, 0, math.MaxInt64)
	codec.Number(c, "time spent computing", &s.busy, 0, math.MaxInt64)
	codec.Number(c, "time it left", &s.left, 0, math.MaxInt64)
	codec.Number(c, "time spent away", &s.absent, 0, math.MaxInt64)
	codec.Number(c, "rounds given up", &s.aborts, 0, math.MaxInt32) // added to the round's number, it selects a draw
	codec.Number(c, "sendings", &s.sendings, 0, math.MaxUint32)
	codec.Number(c, "departures and returns", &s.turns, 0, math.MaxUint32)
	codec.Boolean(c, "away", &s.away)
}

func (s *serverState) visit(c *stateCodec) {
	c.floats(&s.v)
	if c.momentum != 0 {
		c.floats(&s.u)
	}
	each(c, "server's client", &s.clients, (*progress).visit)
	if c.Reading() && c.Err() == nil {
		s.count(&c.frame)
	}
}

// count sets k, applied and at from the clients' progress.
func (s *serverState) count(f *frame) {
	s.k, s.applied, s.at = f.rounds, 0, make([]int32, 1)
	for i, p := range s.clients {
		s.k = min(s.k, f.schedOf(i).ends(int(p.next)))
		s.applied += int(p.next) + len(p.ahead)
	}
	for i, p := range s.clients {
		*s.waiting(f.schedOf(i).ends(int(p.next)))++
	}
}

func (p *progress) visit(c *stateCodec) {
	rounds := c.sched.rounds
	codec.Number(c, "next round", &p.next, 0, int64(rounds))
	codec.List(c, "round ahead", &p.ahead, rounds,
		func(r *int32, c *stateCodec) { codec.Number(c, "round", r, 0, int64(rounds)-1) })
}

func (s *clientState) visit(c *stateCodec) {
	rounds := int64(c.sched.rounds)
	codec.Number(c, "newest broadcast", &s.k, 0, int64(c.rounds))
	codec.Number(c, "round", &s.i, 0, rounds)
	codec.Boolean(c, "in a round", &s.busy)
	codec.Number(c, "sample size", &s.size, 0, int64(c.mech.DatasetSize))
	codec.Number(c, "lag", &s.lag, 0, int64(c.rounds))
	codec.Number(c, "gradients at its pace", &s.pace.gradients, 0, math.MaxInt64)
	codec.Number(c, "time at its pace", &s.pace.spent, 0, math.MaxInt64)
	visitLedger(c, &s.ledger)
	c.vector(&s.shared, 1)
	if s.shared == nil { // otherwise own is never read again
		c.floats(&s.own)
	}
	c.vector(&s.newer, 1)
}

// visitLedger writes or reads the sizes and counts of a ledger's events. The client's mechanism
// determines the rest of an event.
func visitLedger(c *stateCodec, l *dp.Ledger) {
	var events []dp.Event
	if !c.Reading() {
		events = l.Events()
	}
	codec.List(c, "ledger entry", &events, c.sched.rounds, func(e *dp.Event, c *stateCodec) {
		size := e.SampleSize
		if c.mech.Sampling == dp.Allocation { // its events have no size
			size = c.mech.Sizes.At(0)
		}
		codec.Number(c, "sample size", &size, 1, int64(c.mech.DatasetSize))
		codec.Number(c, "rounds", &e.Count, 1, int64(c.sched.rounds))
		whole := c.mech.EventOf(size)
		whole.Count = e.Count
		if c.Reading() {
			*e = whole
		} else if *e != whole {
			c.Fail("the mechanism does not have %+v", *e)
		}
	})
	if !c.Reading() {
		return
	}
	if c.mech.Sampling == dp.Allocation && len(events) > 1 {
		c.Fail("%d ledger entries, must be one with %s sampling", len(events), dp.Allocation)
		return
	}
	*l = dp.Ledger{}
	for _, e := range events {
		l.Record(e)
	}
}

func (e *event) visit(c *stateCodec) {
	clients := int64(c.clients)
	codec.Number(c, "time", &e.at, 0, math.MaxInt64)
	codec.Number(c, "sequence", &e.seq, 0, math.MaxInt64)
	codec.Number(c, "client", &e.client, 0, clients-1)
	codec.Number(c, "kind", &e.kind, 0, int64(eventKinds)-1)
	codec.Number(c, "number", &e.number, 0, int64(c.rounds))
	readers := 1
	if e.kind == broadcastArrivesAtAll {
		readers = int(clients) - int(e.client)
	}
	c.vector(&e.vector, readers)
}

// check returns an error if a state that was read contradicts itself. The ranges of single numbers
// have been checked already.
func (s *virtualState) check(f *frame) error {
	if err := s.server.check(f.clients); err != nil {
		return fmt.Errorf("server: %w", err)
	}
	for _, n := range []int{len(s.clients), len(s.stations)} {
		if n != f.clients {
			return fmt.Errorf("clients = %d, must be %d", n, f.clients)
		}
	}
	var errs []error
	for i := range s.clients {
		c, p, own := &s.clients[i], &s.server.clients[i], f.of(i)
		if err := errors.Join(c.check(&own), c.checkSent(s.server.k, p)); err != nil {
			errs = append(errs, fmt.Errorf("client %d: %w", i, err))
		}
	}
	computing := make([]bool, len(s.clients))
	for i := range s.queue {
		e := &s.queue[i]
		err := s.checkEvent(e, i)
		if err == nil && e.kind == roundEnds {
			if computing[e.client] || !s.clients[e.client].busy {
				err = errors.New("it ends a round that is not under way")
			}
			computing[e.client] = true
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("event %d: %w", i, err))
		}
	}
	for i := range s.clients {
		if s.clients[i].busy && !computing[i] {
			errs = append(errs, fmt.Errorf("client %d: no event ends its round", i))
		}
		if s.clients[i].busy && s.stations[i].away {
			errs = append(errs, fmt.Errorf("client %d: it is away, but in a round", i))
		}
	}
	return errors.Join(errs...)
}

// check returns an error if a client's state contradicts itself. f is the frame of the client.
func (s *clientState) check(f *frame) error {
	rounds, released := f.sched.rounds, 0
	for _, e := range s.ledger.Events() {
		released += e.Count
	}
	switch {
	case s.k > f.sched.ends(s.i):
		return fmt.Errorf("it has broadcast %d, which contains rounds that it has not computed: it is at round %d", s.k, s.i)
	case s.busy && s.i == rounds:
		return fmt.Errorf("it is in round %d of %d", s.i, rounds)
	case s.busy && s.size == 0:
		return errors.New("it is in a round with no sample")
	case s.newer != nil && !s.busy:
		return errors.New("a broadcast waits for the end of a round, but none is under way")
	case released != s.i:
		return fmt.Errorf("%d rounds in the ledger, %d computed", released, s.i)
	}
	return nil
}

func (s *serverState) check(clients int) error {
	if n := len(s.clients); n != clients {
		return fmt.Errorf("clients = %d, must be %d", n, clients)
	}
	for i := range s.clients {
		if err := s.clients[i].check(); err != nil {
			return fmt.Errorf("client %d: %w", i, err)
		}
	}
	return nil
}

// check returns an error if a client's progress contradicts itself.
func (p *progress) check() error {
	if n := len(p.ahead); n > 0 &&
		(!slices.IsSorted(p.ahead) || len(slices.Compact(slices.Clone(p.ahead))) != n || p.ahead[0] <= p.next) {
		return fmt.Errorf("rounds ahead of %d are %v, must increase", p.next, p.ahead)
	}
	return nil
}

// checkSent returns an error if the client has a broadcast that the server did not send, or the
// server has an update that the client did not send.
func (s *clientState) checkSent(k int, p *progress) error {
	switch {
	case s.k > k:
		return fmt.Errorf("it has broadcast %d, but the newest sent is %d", s.k, k)
	case p.highest() >= s.i:
		return fmt.Errorf("the server has updates of rounds from %d on, which are not computed", s.i)
	}
	return nil
}

// checkEvent returns an error if the event at place i of the queue is impossible.
func (s *virtualState) checkEvent(e *event, i int) error {
	switch {
	case e.at < s.now:
		return fmt.Errorf("time = %d, must be at least the clock's %d", e.at, s.now)
	case e.seq >= s.seq:
		return fmt.Errorf("sequence = %d, must be below the next number %d", e.seq, s.seq)
	case i > 0 && e.before(&s.queue[(i-1)/2]):
		return errors.New("it comes before its parent in the heap")
	case (e.kind.update() || e.kind.broadcast()) != (e.vector != nil):
		return fmt.Errorf("kind = %d with a vector: %v", e.kind, e.vector != nil)
	case e.kind.update() && int(e.number) >= s.clients[e.client].i:
		return fmt.Errorf("update of round %d, which is not computed", e.number)
	case e.kind.broadcast() && int(e.number) > s.server.k:
		return fmt.Errorf("broadcast %d, but the newest sent is %d", e.number, s.server.k)
	}
	return nil
}
