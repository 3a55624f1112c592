package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"proactivedp/cluster/broker"
	"proactivedp/cluster/internal/wire"
	"proactivedp/dp"
	"proactivedp/internal/files"
	"proactivedp/models"
	"proactivedp/sim"
	"proactivedp/train"
)

// MaxClients is how many clients a distributed run may have.
const MaxClients = 4096

// ServeOptions says what a server serves, and how.
type ServeOptions struct {
	Prepared *train.Prepared
	Dir      string        // the run's folder: a server that is started again goes on from it
	Engine   broker.Engine // StoreDir "" is a folder in Dir; Allow is set by the server
	Creds    *broker.Credentials
	// ExpelAfter is how long a client may be silent before it is expelled; 0: for ever.
	ExpelAfter time.Duration
	// SaveEvery is the time from one saved state to the next, or longer if saving takes
	// more than a twentieth of the time; 0: two seconds.
	SaveEvery time.Duration
	Log       *slog.Logger // nil: nothing is logged
	// Started is told where clients reach the broker; nil: nobody is.
	Started func(url string)
	// Watch is shown how the run stands, each second or so; nil: nobody is.
	Watch func(*Status)

	now     func() time.Time     // a test's: the clock by which silence is counted; nil: time.Now
	at      func(point)          // a test's: is told what happens
	started func(*broker.Broker) // a test's: is shown the broker
}

// Validate reports every problem of the options.
func (o ServeOptions) Validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf("dist: "+format, args...)) }
	if o.Prepared == nil {
		fail("nothing to serve")
	} else {
		errs = append(errs, o.Prepared.Config.CheckFreeRunning(), checkSpec(o.Prepared.Spec))
	}
	if o.Dir == "" {
		fail(`dir = "", must name a folder`)
	}
	if o.ExpelAfter != 0 && o.ExpelAfter < LeastSilence {
		fail("expel after %v, must be at least %v, or 0 for never", o.ExpelAfter, LeastSilence)
	}
	errs = append(errs, o.Creds.Check(broker.Server))
	if o.SaveEvery < 0 {
		fail("save every %v, must be at least 0", o.SaveEvery)
	}
	return errors.Join(errs...)
}

// LeastSilence is the shortest silence after which the other side may be given up: some beats.
const LeastSilence = 5 * beat

// point is a place in the code at which a test stops a process.
type point string

// The points of a server.
const (
	beforeApply     point = "server before it applies"
	afterApply      point = "server after it applied"
	afterSave       point = "server after its state is saved"
	afterTable      point = "server after clients were told, before the purge"
	insideBroadcast point = "server in the middle of a broadcast"
)

// Serve serves a training to its end, and reports. What is in Dir of the same run is gone
// on from. When the context ends the state is saved and the error is context.Cause(ctx).
func Serve(ctx context.Context, o ServeOptions) (*Report, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := keepsTarget(ctx, o.Prepared); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("dist: %w", err)
	}
	var report *Report
	err := files.InFolder(o.Dir, func() (err error) {
		report, err = serve(ctx, o)
		return err
	})
	return report, err
}

// server is the server's process. All of its fields are of the goroutine in run.
type server struct {
	ServeOptions
	log     *slog.Logger
	about   *Announcement
	run     uint64
	names   names
	machine *sim.Server
	mech    *dp.Mechanism
	record  *record

	broker   *broker.Broker
	conn     *nats.Conn
	js       jetstream.JetStream
	up       *upstream
	failures int            // of the last tries to subscribe
	early    chan *nats.Msg // updates past the stream, see takeEarly
	again    chan struct{}  // carries that the connection was lost and is there again
	asked    chan *nats.Msg

	assemblies []*assembly // by client; nil: nothing has come
	processed  uint64      // the newest message of the stream that was folded
	offered    int         // the k of the broadcast that was published last; -1: none is there
	message    []byte      // of a broadcast that is pushed
	reoffer    time.Time   // when it is published again if somebody lacks it
	clients    []peerState
	waiting    []question // hellos that wait for the stream to be folded

	sent     time.Time     // when the last heartbeat was sent
	pulsed   time.Time     // when the last one came back, by clock
	listens  time.Time     // since when the server listens without a break, by clock
	deaf     time.Duration // how long it has saved in this life, in which it reads nothing
	told     time.Time     // when the log was told last how far it is
	saved    time.Time     // when the state was saved last, or this life began
	saving   time.Duration // how long the last saving took
	unsaved  int           // updates applied since
	pending  int64         // bytes of them
	covered  []int         // by client, rounds below are on disk
	begun    time.Time
	first    time.Time // when the first update of this life came
	trained  time.Duration
	farewell time.Time // when all clients had said goodbye
}

// assembly is an update that has not come whole.
type assembly struct {
	wire.Assembly
	first uint64 // the oldest message of it
}

// peerState is what the server knows of a client in this life.
type peerState struct {
	heard   time.Time // by clock; zero: never
	newest  int
	oldest  int
	lost    time.Time // since when rounds before oldest are lost; zero: none are
	bye     bool
	refused int
}

func serve(ctx context.Context, o ServeOptions) (*Report, error) {
	s, err := newServer(o)
	if err != nil {
		return nil, err
	}
	defer s.record.close()
	if done, err := s.record.report(); err != nil || done != nil {
		s.log.Info("the run has ended before", "run", s.about.Run)
		return done, err
	}
	if err := s.connect(ctx); err != nil {
		return nil, err
	}
	defer s.broker.Close()
	defer s.conn.Close()
	return s.serve(ctx)
}

// newServer sets up a server from its folder.
func newServer(o ServeOptions) (*server, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Engine.StoreDir == "" {
		o.Engine.StoreDir = filepath.Join(o.Dir, "broker")
	}
	if o.SaveEvery == 0 {
		o.SaveEvery = 2 * time.Second
	}
	if o.at == nil {
		o.at = func(point) {}
	}
	if o.now == nil {
		o.now = time.Now
	}
	config := o.Prepared.Config
	machine, err := sim.NewServer(config)
	if err != nil {
		return nil, err
	}
	s := &server{
		ServeOptions: o, log: o.Log, machine: machine, mech: &config.Mechanism, offered: -1, begun: time.Now(),
		saved: time.Now(), again: make(chan struct{}, 1), asked: make(chan *nats.Msg, 1024),
		early: make(chan *nats.Msg, earlyRoom(config.Model.NumParams())), failures: mostFailures,
		assemblies: make([]*assembly, config.Clients()), clients: make([]peerState, config.Clients()),
	}
	if s.record, err = openRecord(o.Dir, o.Engine.Key, o.Prepared, machine); err != nil {
		return nil, err
	}
	s.about = s.record.about
	s.names = s.about.names()
	if s.run, err = s.about.id(); err != nil {
		return nil, err
	}
	s.listens = s.clock()
	s.pulsed = s.listens
	for c := range s.clients {
		s.clients[c].newest = -1
	}
	s.cover()
	return s, nil
}

// connect starts the broker and makes the run's streams.
func (s *server) connect(ctx context.Context) error {
	engine := s.Engine
	engine.Allow = s.names.allow
	var err error
	if s.broker, err = engine.Start(); err != nil {
		return err
	}
	reconnected := func() {
		select {
		case s.again <- struct{}{}:
		default: // one is waiting
		}
	}
	if s.conn, err = s.broker.Connect(ctx, peerOf("server", 0, s.Creds, reconnected)); err != nil {
		s.broker.Close()
		return err
	}
	if err = s.listen(ctx); err != nil {
		s.conn.Close()
		s.broker.Close()
	}
	return err
}

// listen begins to hear questions.
func (s *server) listen(ctx context.Context) error {
	var err error
	if s.js, err = jetstream.New(s.conn, jetstream.WithPublishAsyncMaxPending(window),
		jetstream.WithPublishAsyncTimeout(patience)); err != nil {
		return fmt.Errorf("dist: %w", err)
	}
	for _, subject := range []string{findSubject, s.names.subject("hello", "*"), s.names.status(), s.names.expel(),
		s.names.pulse()} {
		if _, err := s.conn.ChanSubscribe(subject, s.asked); err != nil {
			return fmt.Errorf("dist: %w", err)
		}
	}
	if cap(s.early) > 0 {
		if _, err := s.conn.ChanSubscribe(s.names.subject(s.earlyKind(), ">"), s.early); err != nil {
			return fmt.Errorf("dist: %w", err)
		}
	}
	return s.resubscribe(ctx)
}

// The sizes and times of the exchange with a broker.
const (
	window   = 16                // messages under way at a time
	patience = 10 * time.Second  // for an answer
	upkeep   = 2 * time.Second   // for an answer that nobody needs, when a broker of several has stopped
	beat     = time.Second       // from one hello to the next
	linger   = patience + 5*beat // after the last goodbye, for who asks again as the answer was lost
)

// serve is the server's loop.
func (s *server) serve(ctx context.Context) (*Report, error) {
	defer s.unsubscribe()
	tick := time.NewTicker(beat / 4)
	defer tick.Stop()
	s.log.Info("serving", "run", s.about.Run, "clients", len(s.clients), "rounds", s.about.Rounds, "k", s.machine.K(),
		"url", s.broker.URL())
	if err := s.record.writeAddress(s.broker.URL()); err != nil {
		return nil, err
	}
	if s.Started != nil {
		s.Started(s.broker.URL())
	}
	if s.started != nil {
		s.started(s.broker)
	}
	for {
		if err := s.settle(ctx); err != nil {
			return nil, err
		}
		if report, err := s.ended(ctx); report != nil || err != nil {
			return report, err
		}
		select {
		case <-ctx.Done():
			if report, err := s.ended(ctx); report != nil || err != nil {
				return report, err // nobody waits for goodbyes now
			}
			if err := s.save(); err != nil {
				return nil, errors.Join(context.Cause(ctx), err)
			}
			return nil, fmt.Errorf("dist: stopped at k = %d of %d; the run goes on from %s: %w", s.machine.K(),
				s.about.Rounds, s.Dir, context.Cause(ctx))
		case m := <-s.up.messages:
			s.takeEarlies() // which came before them
			up := s.up
			s.fold(ctx, m)
			for more := len(up.messages); more > 0 && s.up == up; more-- { // then one broadcast for all
				s.fold(ctx, <-up.messages)
			}
		case m := <-s.early:
			s.takeEarly(m)
			s.takeEarlies()
		case m := <-s.asked:
			s.takeEarlies() // which came before it, some of them
			s.reply(ctx, m)
		case <-s.again:
			s.log.Warn("the broker was away")
			if err := s.resubscribe(ctx); err != nil {
				s.log.Warn("the streams cannot be made", "error", err)
				s.retry()
			}
		case <-s.up.failed:
			s.retry()
		case <-tick.C:
			s.pulse()
			if err := s.checkLost(); err != nil {
				return nil, errors.Join(err, s.save())
			}
			s.tell()
			if s.Watch != nil {
				s.Watch(s.status())
			}
		}
	}
}

// tell logs, about once in a beat, how far the run is.
func (s *server) tell() {
	if time.Since(s.told) < beat {
		return
	}
	s.told = time.Now()
	s.log.Debug("progress", "run", s.about.Run, "k", s.machine.K(), "rounds", s.about.Rounds, "updates",
		s.machine.Updates(), "bytes_received", s.record.Received, "seconds", s.record.seconds(s.trained))
}

// retry asks for new subscriptions, a little later.
func (s *server) retry() {
	s.unsubscribe()
	time.AfterFunc(beat/4, func() {
		select {
		case s.again <- struct{}{}:
		default:
		}
	})
}

// settle does what is due: a broadcast, saving, and answers that waited.
func (s *server) settle(ctx context.Context) error {
	s.broadcast(ctx)
	pause := max(s.SaveEvery, 19*s.saving)
	if s.unsaved > 0 && (time.Since(s.saved) >= pause || s.pending >= mostPending || s.machine.Done()) {
		if err := s.save(); err != nil {
			return err
		}
		s.purge(ctx)
	}
	s.answerWaiting()
	return nil
}

// mostPending is how many bytes of updates make saving due, whatever the time.
const mostPending = 1 << 30

// save saves the state and tells clients what it covers.
func (s *server) save() error {
	begun := s.now()
	if err := s.record.save(s.machine, s.trained); err != nil {
		return err
	}
	s.at(afterSave)
	s.unsaved, s.pending, s.saved, s.saving = 0, 0, time.Now(), s.now().Sub(begun)
	s.deaf += s.saving
	s.cover()
	if s.conn != nil {
		_ = s.conn.Publish(s.names.call(), nil) // who does not hear it says hello a little later
	}
	s.at(afterTable)
	return nil
}

// cover notes which rounds are on disk.
func (s *server) cover() {
	s.covered = make([]int, len(s.clients))
	for c := range s.covered {
		s.covered[c] = s.machine.Next(c)
	}
}

// purge takes the messages out of the stream that the saved state covers: all that were
// folded, but for updates that have not come whole.
func (s *server) purge(ctx context.Context) {
	below := s.processed + 1
	for _, a := range s.assemblies {
		if a == nil {
			continue
		}
		if _, begun := a.About(); begun {
			below = min(below, a.first)
		}
	}
	up := s.up
	if up.stream == nil || below <= 1 || !up.purging.CompareAndSwap(false, true) {
		return // the next time is soon enough
	}
	up.done.Go(func() { // a broker takes its time, and nobody waits for that
		defer up.purging.Store(false)
		ctx, cancel := context.WithTimeout(ctx, upkeep)
		defer cancel()
		if err := up.stream.Purge(ctx, jetstream.WithPurgeSequence(below)); err != nil {
			s.log.Warn("the stream was not purged", "error", err)
		}
	})
}

// apply applies a whole update.
func (s *server) apply(h wire.Header, u []float32) error {
	s.at(beforeApply)
	if s.first.IsZero() {
		s.first = time.Now()
	}
	if _, err := s.machine.Receive(sim.Update{Client: h.Client, Round: h.Number, U: u}); err != nil {
		return err
	}
	s.unsaved++
	s.record.Received += wire.Bytes(len(u))
	s.pending += 4 * int64(len(u))
	s.trained = time.Since(s.first)
	if err := s.record.applied(h, s.trained); err != nil {
		return err
	}
	s.at(afterApply)
	return nil
}

// ended returns the report when training is complete and every client that is left has
// said goodbye, or had the time to, for which nobody waits once ctx is done.
func (s *server) ended(ctx context.Context) (*Report, error) {
	if !s.machine.Done() || s.unsaved > 0 {
		return nil, nil
	}
	if err := models.CheckFinite(s.machine.Model()); err != nil {
		return nil, fmt.Errorf("dist: %w", err)
	}
	here := false
	for c, r := range s.record.Clients {
		if !r.Expelled && r.Ledger == nil {
			return nil, nil
		}
		here = here || !r.Expelled && !s.clients[c].bye
	}
	if s.farewell.IsZero() {
		s.farewell = time.Now()
	}
	if here && time.Since(s.farewell) < linger && ctx.Err() == nil {
		return nil, nil
	}
	return s.finish(context.WithoutCancel(ctx))
}
