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
	"proactivedp/dp"
	"proactivedp/plan"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/train"
)

// JoinOptions are the options of [Join]: how a client finds its training, where it stores its state, and which
// privacy cost it accepts.
type JoinOptions struct {
	URL    string // URL of the broker, such as nats://127.0.0.1:4222
	Run    string // id of the run to join; "" means the only run at the broker
	Client int    // number of this client in the run, from 0; another client must not have it
	// Replace lets a new folder take over the client's number, if the client's folder is lost for good. Otherwise the
	// server refuses a second folder with the same number. The process that used the lost folder must have stopped.
	// The lost folder may have released any of its rounds, so a record then pays for all of them in addition.
	Replace bool
	Dir     string              // the client's folder, with its journal (the rounds that it has released) and its secret
	Key     []byte              // key with which the journal's files are encrypted; nil means no encryption
	Creds   *broker.Credentials // credentials of this client at the broker; nil means none
	// GiveUpAfter is how long the server may be silent before the client ends with ErrSilent, at
	// least five seconds. 0 waits forever. Nothing is lost: another call of Join continues.
	GiveUpAfter time.Duration
	// MaxEpsilon is the largest ε that a record of this client may pay; the client does not join a run that could
	// cost more. The ε is certified for all rounds of the run, including those of other clients that hold the same
	// record. δ is the run's δ, or 1/N for the N records of this client if that is smaller.
	//
	// If MaxEpsilon is 0, any finite ε is accepted, but only if the client trains on its part of the
	// run's data set. A client with its own records must set MaxEpsilon. math.Inf(1) accepts any
	// run, even if no ε can be certified.
	MaxEpsilon float64
	// Prepare prepares the client for the run that the server announced: usually it reads the data and returns the
	// result of Announcement.Prepare or Announcement.PrepareOwn. It may refuse the run by returning an error. It must
	// be given.
	Prepare func(*Announcement) (*train.Prepared, error)
	// Agree, unless it is nil, asks for the user's consent. It is called before anything is released, with the
	// announcement and the privacy cost of all rounds, including those of lost folders that this one replaces. It
	// refuses the run by returning an error.
	Agree func(*Announcement, Statement) error
	Log   *slog.Logger // receives log messages; nil means no log
	// Watch, unless it is nil, is called after each round, with the number of finished rounds and the number of all
	// rounds.
	Watch func(round, of int)

	// Only tests set these.
	root    *rng.Root                                              // replaces the root of the secret
	at      func(point)                                            // is called at each point
	connect func(context.Context, broker.Peer) (*nats.Conn, error) // replaces the dial to URL
	release func(journal.Release, []float32)                       // is called with each release
}

// These are the points at which a test may stop a client.
const (
	beforeJournal point = "client before it writes its journal"
	afterJournal  point = "client after it wrote its journal"
	beforePublish point = "client before it publishes"
	beforeStream  point = "client before the stream gets what the server was sent"
	insidePublish point = "client in the middle of publishing"
	afterAck      point = "client after the acknowledgement"
)

var (
	// ErrExpelled is wrapped by the error of [Join] if an operator or the server has removed the client from the run.
	// It cannot come back.
	ErrExpelled = errors.New("the client was expelled")
	// ErrRefused is wrapped by the error of [Join] if the server refuses the client. Its text has the server's
	// reason: for example, another folder already has the client's number, or the client's journal (its record of
	// released rounds) is an older copy.
	ErrRefused = errors.New("refused by the server")
	// ErrSecondRelease is wrapped by the error of [Join] if the client stops because it might release a round a
	// second time with other noise, which would cost more privacy. The reason is that its journal (its record of
	// released rounds) is a copy or an old version, or that another process uses its client number.
	ErrSecondRelease = errors.New("rounds could be released twice")
)

// client is a client's process. A release goes this way:
//
//  1. round computes it and gives it to the writer. Nobody else has seen any part of it. If the
//     client stops here, the release is lost, and the next life computes the round with
//     other noise.
//  2. The writer appends it to the journal and flushes that to disk. From now on the round is
//     released, and no life of this journal computes it again.
//  3. If the release is short, the writer sends it directly to the server. The sender publishes it to the
//     stream, until the stream acknowledges it.
//  4. The server applies it. From then on, its answers to hellos do not list the round as missing.
//     If an answer does although the stream acknowledged the round, the sender reads it from the
//     journal and sends the same bytes again (learn).
//  5. The server saves its state and answers that it covers the round. The journal forgets it.
//
// The mutex disk guards the journal, also during a flush. The mutex mu guards the fields below mu.
// The writer's fields belong to the writer's goroutine, the sender's to the sender's, and all other
// fields to the goroutine of run.
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
	folded uint64      // the newest message that the server has read from the stream, by its last answer
	newest int         // the k of the newest broadcast that the machine has
	sent   int64
	resent int

	writer *writer
	out    *sender
	models *mailbox
	beats  chan struct{} // requests a hello now
	heard  chan answer   // answers that the loop must handle
}

// ack is the stream's acknowledgement of a release.
type ack struct {
	message uint64 // its number in the stream
	at      time.Time
}

// JoinReport is what [Join] returns: the client's part in a run, its releases and their privacy. A client may be
// stopped and started several times. Each start is called a life, and some fields are about the last life only.
type JoinReport struct {
	Run     string `json:"run"`
	Client  int    `json:"client"`
	Rounds  int    `json:"rounds"`  // number of rounds that this client has released, without those of a folder that it replaced
	Records int    `json:"records"` // number of records of this client
	// MaxLag is the largest staleness: the largest i − k, where round i was computed from global model k.
	MaxLag  int          `json:"max_lag"`
	MeanLag float64      `json:"mean_lag"`   // mean staleness: the mean of i − k over the client's rounds
	Sent    int64        `json:"bytes_sent"` // bytes of updates sent since the last start
	Resent  int          `json:"resent"`     // number of updates that were sent again since the last start
	Lives   int          `json:"lives"`      // how often the client was started in this run
	Seconds float64      `json:"seconds"`    // time since the last start
	Release []dp.Release `json:"releases"`   // rounds of this client, and which secret and run their noise came from
	Privacy Statement    `json:"privacy"`
	Notes   []string     `json:"notes,omitempty"` // warnings about the releases, for example about old copies of a folder
}

// Join takes part in a run (a distributed training) as a client until the training ends, and returns the client's
// report. It keeps its state in o.Dir: after an interruption, another call with the same options continues. If the
// broker or the server is down, Join waits, as long as o.GiveUpAfter allows. If ctx is cancelled, the error wraps
// context.Cause(ctx). If the client in Dir has already finished, Join returns its report again and needs no server.
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
	errs := []error{dp.CheckCount("client", o.Client, 0, MaxClients-1)}
	if o.Dir == "" {
		errs = append(errs, errors.New(`dir = "", must name a folder`))
	}
	if o.Prepare == nil {
		errs = append(errs, errors.New("prepare = nil, must be a function that returns what the client trains on"))
	}
	if o.MaxEpsilon != 0 && !math.IsInf(o.MaxEpsilon, 1) {
		if err := plan.CheckEpsilon(o.MaxEpsilon); err != nil {
			errs = append(errs, fmt.Errorf("max-epsilon: %w, or 0 or +Inf", err))
		}
	}
	if o.Creds != nil && (o.Creds.Role != broker.Client || o.Creds.Client != o.Client) {
		errs = append(errs, fmt.Errorf("credentials of %s %d, must be of client %d", o.Creds.Role, o.Creds.Client,
			o.Client))
	}
	if o.GiveUpAfter != 0 && o.GiveUpAfter < LeastSilence {
		errs = append(errs, fmt.Errorf("give up after %v, must be at least %v, or 0 for never", o.GiveUpAfter,
			LeastSilence))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
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

// owns returns an error if the folder belongs to another client. Its releases would be sent again
// and counted as rounds of this client.
func (c *client) owns() error {
	if text, owner := c.journal.Pinned(); text != nil && owner != c.Client {
		return fmt.Errorf("client = %d, must be %d: the folder %s is that client's, and each needs one of its "+
			"own", c.Client, owner, c.Dir)
	}
	return nil
}

// connectTo connects to the broker.
func (c *client) connectTo(ctx context.Context) error {
	var err error
	c.conn, err = c.connect(ctx, peerOf(broker.Client, c.Client, c.Creds, c.log, c.reconnected))
	return err
}

// reconnected is called when the connection returns. The broker may have lost messages that it had
// acknowledged:
//
//  1. The stream acknowledges round 7 as its message 40.
//  2. The broker stops before message 40 is on its disk, and starts again. It gives the same
//     numbers to other messages now.
//  3. The server answers that it lacks round 7. Because of the old acknowledgement, the client
//     would wait until the server has read message 40 before it sends the round again. Because of
//     the old folded, it would think that the server has accepted a new message with another
//     vector, and report ErrSecondRelease (see sender.same).
//
// So the client marks all acknowledgements as old, forgets folded, and asks the server what it has.
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

// agree finds the announced run, checks that the client may take part in it, and prepares the
// client's part.
func (c *client) agree(ctx context.Context) error {
	if text, _ := c.journal.Pinned(); text != nil {
		was, _, _, err := readPinned(text)
		if err != nil {
			return fmt.Errorf("the journal's run: %w", err)
		}
		c.Run = cmp.Or(c.Run, was.Run)
	}
	var err error
	if c.about, err = Find(ctx, c.conn, c.Run); err != nil {
		return err
	}
	if err := c.about.checkBroker(c.conn); err != nil {
		return err
	}
	if c.Client >= c.about.Spec.Clients {
		return fmt.Errorf("client = %d, but the run has %d clients: must be in [0, %d]", c.Client, c.about.Spec.Clients,
			c.about.Spec.Clients-1)
	}
	c.names = c.about.names()
	if c.id, err = c.about.id(); err != nil {
		return err
	}
	c.server.pause() // reading the records may take long, and the server is not asked in that time
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
	if c.Replace { // a server restored from an older copy may not know of the lost journal
		if err := c.journal.Replace(1); err != nil {
			return err
		}
	}
	return c.build()
}

// build makes the client's machine. It draws from the root of this opening of the journal.
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
	if c.about.chunks() == 1 {
		wait = 3 * beat // an answer is lost if the leading broker stops; sending again costs little
	}
	c.js, err = jetstream.New(c.conn, jetstream.WithPublishAsyncMaxPending(mostFlying),
		jetstream.WithPublishAsyncTimeout(wait))
	return err
}

// run takes part until the server has everything that the client released, and its ledger. The steps
// at the start must come in this order, so that the client does not release a round twice:
//
//  1. journal.Open has locked this copy of the journal and written its new life to disk.
//  2. greet says hello with First set. The server answers when it has read everything that the
//     stream held, see server.reply. So the answer's Highest covers every round of the client that
//     the server or the stream has.
//  3. If Highest is a round that the journal does not have, another copy of the journal has
//     released it. The client stops before it computes anything.
//  4. Agree may refuse: nothing was released in this life.
//  5. resume sends again what the journal holds. These are the same bytes, so it does not matter
//     how often the server receives them.
//  6. compute continues with the round after the last one in the journal.
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
		return nil, fmt.Errorf("%w: the server has round %d of client %d, but the journal in %s ends before round %d: "+
			"it is an old copy, or part of it was lost. Let an operator expel the client", ErrSecondRelease, highest, c.Client, c.Dir,
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
	if err := c.listen(); err != nil {
		return nil, err
	}
	help(c.writer.run)
	help(c.out.run)
	help(c.keepInTouch)
	help(c.fetchLong)
	if err := c.resume(ctx, first); err != nil {
		return nil, err
	}
	if err := c.compute(ctx); err != nil {
		return nil, err
	}
	return c.takeLeave(ctx)
}

// errEnded ends the goroutines of a client that has ended.
var errEnded = errors.New("the client has ended")

// signal makes the goroutine that waits on c continue. One signal that was not received yet is enough.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// pause waits for d or until the context ends; then the error is its cause.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// resume sends the releases again that the journal still has, and continues with the next round.
// For example:
//
//  1. The client has released rounds 0 to 9. The server covers rounds 0 to 5, so the journal
//     holds the vectors of rounds 6 to 9 and the sample sizes of all ten. The client stops.
//  2. It starts again. The server answers Next = 8, K = 5: rounds 6 and 7 are in, but not saved.
//  3. The client sends rounds 6 to 9. This includes rounds 6 and 7, because the server may stop
//     before it saves them. The server drops a round that it already has.
//  4. The machine resumes with a ledger of ten rounds, so in round 10, and with v̂_5 or a newer
//     broadcast. Round 9 is never computed again: the journal has the vector that was released.
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
	c.log.Info("continuing", "round", next, "lacking", lacking)
	m := c.mechanism()
	var ledger dp.Ledger
	for _, e := range m.Events(c.journal.First()) { // the rounds of the journal that this one replaces
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

// mechanism returns the client's mechanism. Its N is the number of records here.
func (c *client) mechanism() *dp.Mechanism {
	return &c.prepared.Config.Mechanism
}

// saw records that the client's machine has received broadcast k.
func (c *client) saw(k int) {
	c.mu.Lock()
	c.newest = max(c.newest, k)
	c.mu.Unlock()
}

// compute computes and releases the client's remaining rounds.
func (c *client) compute(ctx context.Context) error {
	defer c.writer.handOver()
	var told time.Time // when the progress was last logged
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

// receive gives new broadcasts to the machine. If no round can begin, it waits for a broadcast.
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

// received gives a broadcast to the machine. The machine refuses it if it has rounds that this
// client has not released. There may be a harmless reason:
//
//  1. The client's machine is suspended in round 4, as when a laptop is closed.
//  2. An operator expels the client, or another journal replaces its own.
//  3. The run continues without it, and the server broadcasts v̂_9.
//  4. The client wakes up. v̂_9 arrives before any answer to a hello. It looks as if somebody had
//     sent rounds 4 to 8 in the client's name.
//
// So received first asks the server. It returns ErrSecondRelease only if the server still expects
// this client's rounds, or does not answer.
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
		return why // the answer to another hello said it
	}
	return err
}

// await waits for a broadcast. It first hands over the releases that the writer holds. If the
// broadcast may allow another round that can share the same flush, it waits a short time before
// that.
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
