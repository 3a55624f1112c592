package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"proactivedp/cluster/broker"
	"proactivedp/cluster/internal/journal"
	"proactivedp/cluster/internal/wire"
	"proactivedp/dp"
	"proactivedp/plan"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/train"
)

// JoinOptions says how a client takes part in a training.
type JoinOptions struct {
	URL    string // the broker, such as nats://127.0.0.1:4222
	Run    string // the run's id; "": the only one that is there
	Client int    // the client's number, from 0
	// Replace lets a new folder take over the client's number from a folder that is lost for good.
	// The process that used the lost folder must have stopped.
	Replace bool
	Dir     string // the client's folder, which holds its journal and secret
	Key     []byte // the journal is encrypted under it; nil: it is not
	Creds   *broker.Credentials
	// GiveUpAfter is how long the server may be silent before the client ends with ErrSilent,
	// at least five seconds; 0: for ever. Nothing is lost by it: another Join goes on.
	GiveUpAfter time.Duration
	// MaxEpsilon is the largest ε that a record of this client may cost, certified, in all rounds
	// of all clients that hold it. The δ is that of the run, or 1/N for the N records here if that
	// is less. 0 accepts any finite ε, but only for the client's part of the run's data set: a
	// client with its own records must set it. math.Inf(1) accepts any run, even if no ε can be
	// certified for it.
	MaxEpsilon float64
	// Prepare prepares the client's part of the run that the server has announced, with the
	// client's part of the run's data or with its own data (see Announcement). It may refuse.
	Prepare func(*Announcement) (*train.Prepared, error)
	// Agree is shown what all rounds would cost, those of lost journals included, when the server has
	// accepted the client and before anything is released; nil: nobody is. It may refuse.
	Agree func(*Announcement, Statement) error
	Log   *slog.Logger // nil: nothing is logged
	// Watch is shown the client's round now and then; nil: nobody is.
	Watch func(round, of int)

	root    *rng.Root                                              // a test's: takes the place of the secret's
	at      func(point)                                            // a test's: is told what happens
	connect func(context.Context, broker.Peer) (*nats.Conn, error) // a test's: nil: by URL
	release func(journal.Release, []float32)                       // a test's: is shown what is released
}

// The points of a client.
const (
	beforeJournal point = "client before it writes its journal"
	afterJournal  point = "client after it wrote its journal"
	beforePublish point = "client before it publishes"
	beforeStream  point = "client before the stream gets what the server was sent"
	insidePublish point = "client in the middle of publishing"
	afterAck      point = "client after the acknowledgement"
)

var (
	// ErrExpelled reports that the client was expelled.
	ErrExpelled = errors.New("dist: the client was expelled")
	// ErrRefused reports that the server refuses the client. Its answer says why: another journal
	// has the client's number, for example, or the journal is an older copy.
	ErrRefused = errors.New("dist: refused by the server")
	// ErrSecondRelease reports that going on could release rounds a second time: the
	// journal is a copy or an old one, or somebody else sends in the client's name.
	ErrSecondRelease = errors.New("dist: rounds could be released twice")
)

// client is a client's process. The journal is under disk, which is held while it is flushed,
// what follows mu is under that, writing is the writer's and sending the sender's; all else is
// of the goroutine of run.
type client struct {
	JoinOptions
	log      *slog.Logger
	about    *Announcement
	id       uint64
	names    names
	prepared *train.Prepared
	machine  *sim.Client
	ws       *sim.Workspace
	instance string
	begun    time.Time
	server   *silence

	conn *nats.Conn
	js   jetstream.JetStream

	disk    sync.Mutex
	journal *journal.Journal

	mu     sync.Mutex
	acked  map[int]ack // releases that the stream has acknowledged, by round
	folded uint64      // up to which message the server has folded the stream, as it said last
	newest int         // the k of the newest broadcast that came whole
	sent   int64
	resent int

	writer *writer
	out    *sender
	models *mailbox
	beats  chan struct{} // asks for a hello now
	heard  chan answer   // answers that the loop must know
}

// ack is when a stream acknowledged a release.
type ack struct {
	message uint64
	at      time.Time
}

// JoinReport is what a client says of its part.
type JoinReport struct {
	Run     string       `json:"run"`
	Client  int          `json:"client"`
	Rounds  int          `json:"rounds"`
	Records int          `json:"records"` // N_c
	MaxLag  int          `json:"max_lag"`
	MeanLag float64      `json:"mean_lag"`
	Sent    int64        `json:"bytes_sent"`
	Resent  int          `json:"resent"`
	Lives   int          `json:"lives"`
	Seconds float64      `json:"seconds"`  // of this life
	Release []dp.Release `json:"releases"` // of this client
	Privacy Statement    `json:"privacy"`
	Notes   []string     `json:"notes,omitempty"` // what is to be known of the releases beside them
}

// Join takes part in a training to its end. It waits for a broker and a server that are not
// up yet, or are away, for as long as GiveUpAfter says. When the context ends the error is
// context.Cause(ctx), and nothing is lost. A part that has ended in Dir before is reported
// again, and needs no server.
func Join(ctx context.Context, o JoinOptions) (_ *JoinReport, err error) {
	c, err := newClient(o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(c.whyLeft(err), c.journal.Close()) }()
	if err := c.owns(); err != nil {
		return nil, err
	}
	if r, err := c.ended(); r != nil || err != nil {
		return r, err
	}
	ctx, c.server = newSilence(ctx, o.GiveUpAfter, c.log)
	defer c.server.stop()
	if err := c.connectTo(ctx); err != nil {
		return nil, err
	}
	defer c.conn.Close()
	if err := c.agree(ctx); err != nil {
		return nil, err
	}
	return c.run(ctx)
}

func newClient(o JoinOptions) (*client, error) {
	var errs []error
	if o.Client < 0 || o.Client >= MaxClients {
		errs = append(errs, fmt.Errorf("dist: client = %d, must be in [0, %d]", o.Client, MaxClients-1))
	}
	if o.Dir == "" {
		errs = append(errs, errors.New(`dist: dir = "", must name a folder`))
	}
	if o.Prepare == nil {
		errs = append(errs, errors.New("dist: prepare = nil, must be given: what the client trains on"))
	}
	if o.MaxEpsilon != 0 && !math.IsInf(o.MaxEpsilon, 1) {
		if err := plan.CheckEpsilon(o.MaxEpsilon); err != nil {
			errs = append(errs, fmt.Errorf("dist: max-epsilon: %w, or 0 or +Inf", err))
		}
	}
	if o.Creds != nil && (o.Creds.Role != broker.Client || o.Creds.Client != o.Client) {
		errs = append(errs, fmt.Errorf("dist: credentials of %s %d, must be of client %d", o.Creds.Role, o.Creds.Client,
			o.Client))
	}
	if o.GiveUpAfter != 0 && o.GiveUpAfter < LeastSilence {
		errs = append(errs, fmt.Errorf("dist: give up after %v, must be at least %v, or 0 for never", o.GiveUpAfter,
			LeastSilence))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.at == nil {
		o.at = func(point) {}
	}
	if o.connect == nil {
		o.connect = func(ctx context.Context, p broker.Peer) (*nats.Conn, error) { return broker.Dial(ctx, o.URL, p) }
	}
	instance, err := newRun()
	if err != nil {
		return nil, err
	}
	j, err := journal.Open(o.Dir, o.Key)
	if err != nil {
		return nil, err
	}
	return &client{JoinOptions: o, log: o.Log, journal: j, instance: instance, begun: time.Now(), acked: map[int]ack{},
		beats: make(chan struct{}, 1), heard: make(chan answer, 1), models: newMailbox()}, nil
}

// owns refuses another client's folder: what its journal holds would be sent again, and
// counted, as rounds of this client.
func (c *client) owns() error {
	if text, owner := c.journal.Pinned(); text != nil && owner != c.Client {
		return fmt.Errorf("dist: client = %d, must be %d: the folder %s is that client's, and each needs one of its "+
			"own", c.Client, owner, c.Dir)
	}
	return nil
}

// connectTo connects to the broker.
func (c *client) connectTo(ctx context.Context) error {
	var err error
	c.conn, err = c.connect(ctx, peerOf(broker.Client, c.Client, c.Creds, c.reconnected))
	return err
}

// reconnected is called when the connection was away. What the broker acknowledged before
// may be lost: the server's next answer says what it has.
func (c *client) reconnected() {
	c.mu.Lock()
	for round, a := range c.acked {
		a.at = time.Time{}
		c.acked[round] = a
	}
	c.folded = 0
	c.mu.Unlock()
	c.ask()
}

// agree finds the run and prepares the client's part of it.
func (c *client) agree(ctx context.Context) error {
	if text, _ := c.journal.Pinned(); text != nil {
		was, _, _, err := readPinned(text)
		if err != nil {
			return fmt.Errorf("the journal's run: %w", err)
		}
		if c.Run == "" {
			c.Run = was.Run
		}
	}
	var err error
	if c.about, err = Find(ctx, c.conn, c.Run); err != nil {
		return err
	}
	if c.Client >= c.about.Spec.Clients {
		return fmt.Errorf("dist: client = %d, the run has %d: must be in [0, %d]", c.Client, c.about.Spec.Clients,
			c.about.Spec.Clients-1)
	}
	c.names = c.about.names()
	if c.id, err = c.about.id(); err != nil {
		return err
	}
	c.server.pause() // reading records may take its time, in which nothing is asked
	if c.prepared, err = c.Prepare(c.about); err != nil {
		return err
	}
	if err := errors.Join(keepsTarget(ctx, c.prepared), c.affords(ctx)); err != nil {
		return err
	}
	c.server.heard()
	if err := c.pin(); err != nil {
		return err
	}
	if c.Replace { // a server that is an older copy may not know of the lost journal
		if err := c.journal.Replace(1); err != nil {
			return err
		}
	}
	return c.build()
}

// build makes the machine, which draws from the root of the journal's opening.
func (c *client) build() error {
	root := cmp.Or(c.root, c.journal.Root())
	config := *c.prepared.Config
	config.Roots.Clients = slices.Clone(config.Roots.Clients)
	config.Roots.Clients[c.Client] = root
	c.prepared.Config = &config
	var err error
	if c.machine, err = sim.NewClient(&config, c.Client, c.models.letGo); err != nil {
		return err
	}
	c.ws = sim.NewWorkspace(config.Model)
	wait := patience
	if wire.Chunks(c.about.Params) == 1 {
		wait = 3 * beat // an answer is lost with the broker that led; sending again costs little
	}
	c.js, err = jetstream.New(c.conn, jetstream.WithPublishAsyncMaxPending(mostFlying),
		jetstream.WithPublishAsyncTimeout(wait))
	if err != nil {
		return fmt.Errorf("dist: %w", err)
	}
	return nil
}

// run takes part until the server has all that the client released, and its ledger.
func (c *client) run(ctx context.Context) (*JoinReport, error) {
	first, err := c.greet(ctx)
	if err != nil {
		return nil, err
	}
	known := c.journal.Replaced()
	if err := c.takeOver(first); err != nil {
		return nil, err
	}
	if c.journal.Replaced() > known { // the server knows of more lost journals
		if err := c.affords(ctx); err != nil {
			return nil, err
		}
	}
	if highest := first.Highest; highest >= c.journal.Next() {
		return nil, fmt.Errorf("%w: the server has round %d of client %d, the journal in %s ends before round %d: "+
			"it is lost or an old copy. Let an operator expel the client", ErrSecondRelease, highest, c.Client, c.Dir,
			c.journal.Next())
	}
	if err := c.showCost(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var helpers sync.WaitGroup
	defer helpers.Wait()
	defer cancel(errEnded)
	help := func(f func(context.Context) error) {
		helpers.Go(func() {
			if err := f(ctx); err != nil {
				cancel(err)
			}
		})
	}
	c.out = newSender(c)
	c.writer = newWriter(c)
	stop, err := c.listen()
	if err != nil {
		return nil, err
	}
	defer stop()
	help(c.writer.run)
	help(c.out.run)
	help(c.keepInTouch)
	help(c.models.fetchLong(c))
	if err := c.resume(ctx, first); err != nil {
		return nil, err
	}
	if err := c.compute(ctx); err != nil {
		return nil, err
	}
	return c.takeLeave(ctx)
}

// errEnded ends the helpers of a client that has ended.
var errEnded = errors.New("dist: the client has ended")

// pause waits; the error is the context's.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// resume sends again what the journal holds, and goes on behind it.
func (c *client) resume(ctx context.Context, first *answer) error {
	c.disk.Lock()
	releases, next := c.journal.Releases(), c.journal.Next()
	sizes := c.journal.Sizes()
	c.disk.Unlock()
	lacking := 0
	for _, r := range releases {
		if r.Round >= first.Next {
			lacking++
		}
		c.out.again(r)
	}
	c.mu.Lock()
	c.resent += lacking
	c.mu.Unlock()
	if next == 0 {
		c.models.want(first.K)
		return nil
	}
	c.log.Info("going on", "round", next, "lacking", lacking)
	m := c.mechanism()
	var ledger dp.Ledger
	for _, e := range m.Events(c.journal.First()) { // of the journal that this one replaces
		ledger.Record(e)
	}
	for _, s := range sizes {
		e := m.EventOf(s.Size)
		e.Count = s.Rounds
		ledger.Record(e)
	}
	k, v := 0, c.models.initial(c.prepared.Config)
	if first.K > 0 {
		c.models.want(first.K)
		got, err := c.models.wait(ctx, nil)
		if err != nil {
			return err
		}
		k, v = got.k, got.v
	}
	c.saw(k)
	return c.machine.Resume(&ledger, k, v)
}

// mechanism is the client's.
func (c *client) mechanism() *dp.Mechanism {
	return &c.prepared.Config.Mechanism
}

// saw notes the k of a broadcast that the machine has.
func (c *client) saw(k int) {
	c.mu.Lock()
	c.newest = max(c.newest, k)
	c.mu.Unlock()
}

// compute does the rounds that are left.
func (c *client) compute(ctx context.Context) error {
	defer c.writer.handOver()
	var told time.Time // when the log was told last how far it is
	for !c.machine.Done() {
		if err := c.receive(ctx); err != nil {
			return err
		}
		if err := c.round(ctx); err != nil {
			return err
		}
		if c.Watch != nil {
			c.Watch(c.machine.Round(), c.about.Rounds)
		}
		if time.Since(told) >= beat {
			told = time.Now()
			c.log.Debug("a client's progress", "run", c.about.Run, "client", c.Client, "round", c.machine.Round(),
				"rounds", c.about.Rounds)
		}
	}
	return nil
}

// receive takes the broadcasts that came, and waits for one until a round can begin.
func (c *client) receive(ctx context.Context) error {
	for got, ok := c.models.take(); ok || !c.machine.CanBegin(); got, ok = c.models.take() {
		if !ok {
			var err error
			if got, err = c.await(ctx); err != nil {
				return err
			}
		}
		if err := c.received(ctx, got); err != nil {
			return err
		}
	}
	return nil
}

// received takes a broadcast. One that has rounds which the client has not released may come to a
// client that was suspended, and was expelled or replaced meanwhile. The server's answer to a hello
// says so, and comes later than the broadcast.
func (c *client) received(ctx context.Context, got broadcastOf) error {
	err := c.machine.Receive(got.k, got.v)
	if err == nil {
		c.saw(got.k)
		return nil
	}
	err = fmt.Errorf("%w: %w", ErrSecondRelease, err)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for ctx.Err() == nil {
		_, why := c.hello(ctx, hello{})
		if errors.Is(why, ErrExpelled) || errors.Is(why, ErrRefused) {
			return why
		}
		if !silent(why) {
			break
		}
		_ = pause(ctx, beat/4)
	}
	if why := context.Cause(ctx); errors.Is(why, ErrExpelled) || errors.Is(why, ErrRefused) {
		return why // another hello has heard it
	}
	return err
}

// await waits for a broadcast, and lets what is held be written first, or after a while.
func (c *client) await(ctx context.Context) (broadcastOf, error) {
	if d := c.writer.patience(c.machine.Newest()); d > 0 {
		got, err := c.models.wait(ctx, time.After(d))
		if !errors.Is(err, errLate) {
			return got, err
		}
	}
	c.writer.handOver()
	return c.models.wait(ctx, nil)
}

// round computes a release and hands it to the writer.
func (c *client) round(ctx context.Context) error {
	u := c.out.vector()
	if u == nil {
		c.writer.handOver()
		var err error
		if u, err = c.out.waitVector(ctx); err != nil {
			return err
		}
	}
	begun := time.Now()
	c.machine.Begin()
	r := journal.Release{Round: c.machine.Round(), Newest: c.machine.Round() - c.machine.Lag(), Size: c.machine.Size()}
	if err := c.machine.Compute(u, c.ws); err != nil {
		return err
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	c.machine.Finish(u)
	c.writer.hold(journal.Entry{Release: r, U: u}, time.Since(begun))
	return nil
}
