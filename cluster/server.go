package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
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

// MaxClients is the largest number of clients in a distributed training.
const MaxClients = 4096

// ServeOptions are the options of [Serve]: the training (Prepared), the folder for its state, and the message broker.
type ServeOptions struct {
	Prepared *train.Prepared // the training to run
	Dir      string          // folder for the state of the run; after an interruption, Serve continues from it
	// Engine is the broker to use or to start. If its StoreDir is "", the broker stores its messages in Dir. Leave
	// its field Allow nil: the server sets it.
	Engine broker.Engine
	Creds  *broker.Credentials // credentials of the server at a broker that runs elsewhere; nil means none
	// ExpelAfter is how long a client may be silent before the server expels it, at least five seconds. 0 never expels.
	// While a client is away, there is no new global model, and the others wait as soon as theirs is too old for the
	// run's permissible delay (sim.Delay).
	ExpelAfter time.Duration
	// SaveEvery is the time between two saves of the server's state; 0 means two seconds. Clients keep their rounds
	// until the server has saved them. The server saves less often if saving would take more than a twentieth of its
	// time.
	SaveEvery time.Duration
	Log       *slog.Logger // receives log messages; nil means no log
	// Started, unless it is nil, is called with the URL at which clients reach the broker.
	Started func(url string)
	// Watch, unless it is nil, is called about four times a second with the state of the run, for example
	// [Exporter.Watch].
	Watch func(*Status)

	// Only tests set these.
	now     func() time.Time     // the clock that measures silence, instead of time.Now
	at      func(point)          // is called at each point
	started func(*broker.Broker) // is called with the broker
}

// Validate returns one error that lists every problem of the options.
func (o ServeOptions) Validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
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

// LeastSilence (5 seconds) is the smallest value, other than 0, of ServeOptions.ExpelAfter and
// JoinOptions.GiveUpAfter. A client sends a message to the server about every second, so a shorter silence may only
// mean that a few messages are late.
const LeastSilence = 5 * beat

// point is a place in the code at which a test stops a process.
type point string

// These are the points at which a test may stop a server.
const (
	beforeApply     point = "server before it applies"
	afterApply      point = "server after it applied"
	afterSave       point = "server after its state is saved"
	afterTable      point = "server after clients were told, before the purge"
	insideBroadcast point = "server in the middle of a broadcast"
)

// Serve runs the server of a distributed training until its end and returns its report. It keeps its state in o.Dir:
// if the folder already has the same run, Serve continues it, and if the run has ended, Serve returns its report. If
// ctx is cancelled, Serve saves the state and returns an error that wraps context.Cause(ctx).
func Serve(ctx context.Context, o ServeOptions) (*Report, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := keepsTarget(ctx, o.Prepared); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	var report *Report
	err := files.InFolder(o.Dir, func() (err error) {
		report, err = serve(ctx, o)
		return err
	})
	return report, err
}

// server is the server's process. All of its fields belong to the goroutine in serve.
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
	failures int            // how many attempts to subscribe in a row had no answer
	stopping sync.WaitGroup // of subscriptions that end
	refusal  string         // why subscribing failed, as logged last
	early    chan *nats.Msg // updates sent directly, see takeEarly
	again    chan struct{}  // receives when the connection returns after a loss
	asked    chan *nats.Msg

	assemblies []*assembly // by client; nil before the first part of an update
	processed  uint64      // the newest message of the stream that is folded
	offered    int         // the k of the last broadcast that was published, or -1
	message    []byte      // buffer for a broadcast that is pushed
	reoffer    time.Time   // the earliest time to publish it again if a client lacks it
	clients    []peerState
	waiting    []question // hellos that wait for the stream to be folded

	sent     time.Time     // when the last heartbeat was sent
	pulsed   time.Time     // when the last one returned, by clock
	listens  time.Time     // when the server began to listen without a break, by clock
	deaf     time.Duration // how long saving took in this life; the server reads nothing then
	told     time.Time     // when the progress was last logged
	saved    time.Time     // when the state was last saved, or this life began
	saving   time.Duration // how long the last saving took
	unsaved  int           // updates applied since the last save
	pending  int64         // bytes of these updates
	covered  []int         // by client, the first round that is not on disk
	first    time.Time     // when the first update of this life came
	trained  time.Duration
	farewell time.Time // when all clients had said goodbye
}

// assembly is an update with missing parts.
type assembly struct {
	wire.Assembly
	first uint64 // the number of its oldest message
}

// peerState holds the facts that the server has learned about a client in this life.
type peerState struct {
	heard   time.Time // by clock; zero if never
	newest  int
	oldest  int
	lost    time.Time // when the server noticed that rounds before oldest are lost; zero if none are
	bye     bool
	refused int
}

func serve(ctx context.Context, o ServeOptions) (*Report, error) {
	s, err := newServer(ctx, o)
	if err != nil {
		return nil, err
	}
	defer s.record.close()
	if done, err := s.record.report(); err != nil {
		return nil, err
	} else if done != nil {
		s.log.Info("the run has ended before", "run", s.about.Run)
		return done, done.Attach(s.machine.Model())
	}
	if err := s.connect(ctx); err != nil {
		return nil, err
	}
	defer s.broker.Close()
	defer s.stopping.Wait()
	defer s.conn.Close() // ends all questions
	return s.serve(ctx)
}

// newServer sets up a server from its folder.
func newServer(ctx context.Context, o ServeOptions) (*server, error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.Engine.StoreDir = cmp.Or(o.Engine.StoreDir, filepath.Join(o.Dir, "broker"))
	o.SaveEvery = cmp.Or(o.SaveEvery, 2*time.Second)
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
		ServeOptions: o, log: o.Log, machine: machine, mech: &config.Mechanism, offered: -1,
		saved: time.Now(), again: make(chan struct{}, 1), asked: make(chan *nats.Msg, 1024),
		failures:   mostFailures,
		assemblies: make([]*assembly, config.Clients()), clients: make([]peerState, config.Clients()),
	}
	if s.record, err = openRecord(o.Dir, o.Engine.Key, o.Prepared, machine, func() (wire.Chunk, error) {
		most, err := o.Engine.MaxMessage(ctx, peerOf(broker.Server, 0, o.Creds, o.Log, nil))
		if err != nil {
			return 0, err
		}
		return chunkFor(most)
	}); err != nil {
		return nil, err
	}
	s.about = s.record.about
	s.early = make(chan *nats.Msg, s.about.earlyRoom())
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
	if s.broker, err = engine.Start(ctx); err != nil {
		return err
	}
	reconnected := func() { signal(s.again) }
	if s.conn, err = s.broker.Connect(ctx, peerOf(broker.Server, 0, s.Creds, s.log, reconnected)); err != nil {
		s.broker.Close()
		return err
	}
	if err = s.about.checkBroker(s.conn); err == nil {
		err = s.listen(ctx)
	}
	if err != nil {
		s.conn.Close()
		s.broker.Close()
	}
	return err
}

// listen subscribes to questions.
func (s *server) listen(ctx context.Context) error {
	var err error
	if s.js, err = jetstream.New(s.conn, jetstream.WithPublishAsyncMaxPending(window),
		jetstream.WithPublishAsyncTimeout(patience)); err != nil {
		return err
	}
	for _, subject := range []string{findSubject, s.names.subject("hello", "*"), s.names.status(), s.names.expel(),
		s.names.pulse()} {
		if _, err := s.conn.ChanSubscribe(subject, s.asked); err != nil {
			return err
		}
	}
	if cap(s.early) > 0 {
		if _, err := s.conn.ChanSubscribe(s.names.subject(s.earlyKind(), ">"), s.early); err != nil {
			return err
		}
	}
	return s.resubscribe(ctx)
}

// These are the sizes and times of the exchange with a broker.
const (
	window   = 16                // messages under way at a time
	patience = 10 * time.Second  // time to wait for an answer
	upkeep   = 2 * time.Second   // time to wait for an answer in the background; short, because one of several brokers may have stopped
	beat     = time.Second       // time from one hello to the next
	linger   = patience + 5*beat // time after the last goodbye, for a client that asks again because an answer was lost
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
				return report, err
			}
			if err := s.save(); err != nil {
				return nil, errors.Join(context.Cause(ctx), err)
			}
			return nil, fmt.Errorf("stopped at k = %d of %d; the run continues from %s: %w", s.machine.K(),
				s.about.Rounds, s.Dir, context.Cause(ctx))
		case m := <-s.up.messages:
			s.takeEarlies() // these came before the messages of the stream
			up := s.up
			s.fold(ctx, m)
			for more := len(up.messages); more > 0 && s.up == up; more-- { // handle all, then broadcast once
				s.fold(ctx, <-up.messages)
			}
		case m := <-s.early:
			s.takeEarly(m)
			s.takeEarlies()
		case m := <-s.asked:
			s.takeEarlies() // some of these came before the question
			s.reply(ctx, m)
		case <-s.again:
			err := s.resubscribe(ctx)
			if err == nil {
				s.log.Warn("the broker was unreachable")
				s.refusal = ""
				continue
			}
			if why := err.Error(); why != s.refusal { // it is tried again four times a second
				s.log.Warn("the streams cannot be created", "error", err)
				s.refusal = why
			}
			s.retry()
		case <-s.up.failed:
			s.retry()
		case <-tick.C:
			s.pulse()
			if err := errors.Join(s.about.checkBroker(s.conn), s.checkLost()); err != nil {
				return nil, errors.Join(err, s.save())
			}
			s.tell()
			if s.Watch != nil {
				s.Watch(s.status())
			}
		}
	}
}

// tell logs the progress of the run, about once per beat.
func (s *server) tell() {
	if time.Since(s.told) < beat {
		return
	}
	s.told = time.Now()
	s.log.Debug("progress", "run", s.about.Run, "k", s.machine.K(), "rounds", s.about.Rounds, "updates",
		s.machine.Updates(), "bytes_received", s.record.Received, "seconds", s.record.seconds(s.trained))
}

// retry makes the server subscribe to the stream of updates again after a short time.
func (s *server) retry() {
	s.unsubscribe()
	time.AfterFunc(beat/4, func() { signal(s.again) })
}

// settle does whatever is due: it sends a broadcast, saves the state, and answers waiting hellos.
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

// mostPending is how many bytes of unsaved updates make a save due, whatever the time.
const mostPending = 1 << 30

// save saves the state and then asks clients to say hello. The answers say which rounds are covered.
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
		_ = s.conn.Publish(s.names.call(), nil) // a client that misses it says hello a little later
	}
	s.at(afterTable)
	return nil
}

// cover records, for each client, which rounds the saved state has.
func (s *server) cover() {
	s.covered = make([]int, len(s.clients))
	for c := range s.covered {
		s.covered[c] = s.machine.Next(c)
	}
}

// purge deletes the messages that the saved state covers from the stream: all that were folded,
// except those from the first part of an incomplete update on.
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
		return // the next save will purge
	}
	up.purges.Go(func() { // it may take long, and nothing depends on it
		defer up.purging.Store(false)
		ctx, cancel := context.WithTimeout(ctx, upkeep)
		defer cancel()
		if err := up.stream.Purge(ctx, jetstream.WithPurgeSequence(below)); err != nil {
			s.log.Warn("the stream was not purged", "error", err)
		}
	})
}

// apply applies a complete update.
func (s *server) apply(h wire.Header, u []float32) error {
	s.at(beforeApply)
	if s.first.IsZero() {
		s.first = time.Now()
	}
	if _, err := s.machine.Receive(sim.Update{Client: h.Client, Round: h.Number, U: u}); err != nil {
		return err
	}
	s.unsaved++
	s.record.Received += s.about.chunk().Bytes(len(u))
	s.pending += 4 * int64(len(u))
	s.trained = time.Since(s.first)
	if err := s.record.applied(h, s.trained); err != nil {
		return err
	}
	s.at(afterApply)
	return nil
}

// ended returns the report if training is complete and every remaining client has said goodbye or
// had enough time to. After ctx is done, it does not wait for goodbyes.
func (s *server) ended(ctx context.Context) (*Report, error) {
	if !s.machine.Done() || s.unsaved > 0 {
		return nil, nil
	}
	if err := models.CheckFinite(s.machine.Model()); err != nil {
		return nil, err
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
