package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/sourcegraph/conc/pool"

	"proactivedp/cluster/internal/wire"
	"proactivedp/internal/message"
	"proactivedp/sim"
)

// mailbox holds the newest complete broadcast until the client's machine takes it.
type mailbox struct {
	mu     sync.Mutex
	newest *broadcastOf // nil if it has been taken
	have   int          // the k of the newest one received; 0 is v̂_0, which every client has
	free   []*sim.Vector
	came   chan struct{} // receives when newest is set
	wanted chan int      // receives the newest k that the server has named
}

// broadcastOf is v̂_k.
type broadcastOf struct {
	k int
	v *sim.Vector
}

func newMailbox() *mailbox {
	return &mailbox{came: make(chan struct{}, 1), wanted: make(chan int, 1)}
}

// letGo takes v back for reuse, because the client's machine will not read it again.
func (m *mailbox) letGo(v *sim.Vector) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.free = append(m.free, v)
}

// initial returns v̂_0.
func (m *mailbox) initial(config *sim.Config) *sim.Vector {
	v := m.vector(config.Model.NumParams())
	if config.Initial != nil {
		copy(v.X, config.Initial)
	} else {
		clear(v.X)
		config.Model.Init(v.X, config.InitStream())
	}
	return v
}

func (m *mailbox) vector(params int) *sim.Vector {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.free); n > 0 {
		v := m.free[n-1]
		m.free = m.free[:n-1]
		return v
	}
	return &sim.Vector{X: make([]float32, params)}
}

// put stores a broadcast with params parameters, which set writes, unless a newer one has come.
func (m *mailbox) put(k, params int, set func([]float32)) {
	v := m.vector(params)
	set(v.X)
	m.mu.Lock()
	defer m.mu.Unlock()
	if k <= m.have {
		m.free = append(m.free, v)
		return
	}
	if m.newest != nil {
		m.free = append(m.free, m.newest.v)
	}
	m.have, m.newest = k, &broadcastOf{k, v}
	signal(m.came)
}

// take returns the newest broadcast, or false if there is no new one.
func (m *mailbox) take() (broadcastOf, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.newest == nil {
		return broadcastOf{}, false
	}
	b := *m.newest
	m.newest = nil
	return b, true
}

// errLate reports that no broadcast came in time.
var errLate = errors.New("no broadcast came in time")

// wait returns the newest broadcast as soon as there is a new one. If late receives first, the error
// is errLate.
func (m *mailbox) wait(ctx context.Context, late <-chan time.Time) (broadcastOf, error) {
	for {
		if b, ok := m.take(); ok {
			return b, nil
		}
		select {
		case <-m.came:
		case <-late:
			return broadcastOf{}, errLate
		case <-ctx.Done():
			return broadcastOf{}, context.Cause(ctx)
		}
	}
}

// want records that the server has v̂_k, so that fetchLong fetches it if it has not arrived.
func (m *mailbox) want(k int) {
	select {
	case old := <-m.wanted:
		k = max(k, old)
	default:
	}
	select {
	case m.wanted <- k:
	default: // another goroutine was quicker; the next hello names k again
	}
}

func (m *mailbox) lacks(k int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return k > m.have
}

// listen subscribes to the server's broadcasts and calls, until the connection is closed.
func (c *client) listen() error {
	subject, hear := c.names.news(), c.hearNews
	if c.about.pushed() {
		subject, hear = c.names.subject("down", ">"), c.hearPushed()
	}
	_, err := c.conn.Subscribe(subject, hear)
	if err == nil {
		_, err = c.conn.Subscribe(c.names.call(), func(*nats.Msg) { c.ask() })
	}
	return err
}

func (c *client) hearNews(m *nats.Msg) {
	if h, _, err := c.about.chunk().Parse(m.Data); err == nil && h.Kind == wire.Broadcast && h.Run == c.id {
		c.models.want(h.Number)
	}
}

// hearPushed returns a function that takes broadcasts whose numbers are in the messages.
func (c *client) hearPushed() nats.MsgHandler {
	var slot [slots]wire.Assembly
	for i := range slot {
		slot[i].Chunk = c.about.chunk()
	}
	return func(m *nats.Msg) {
		h, floats, err := c.broadcast(m.Data)
		if err != nil {
			return // fetchLong fetches it
		}
		if c.about.chunks() == 1 { // the message's CRC covers the whole vector
			c.models.put(h.Number, h.Params, func(x []float32) { wire.Floats(x, floats) })
			return
		}
		a := &slot[h.Number%slots]
		if about, begun := a.About(); begun && about.Number != h.Number {
			a.Reset()
		}
		if whole, err := a.Add(h, floats); whole && err == nil {
			c.models.put(h.Number, h.Params, func(x []float32) { copy(x, a.X) })
		}
	}
}

// errOther reports a message that is not a broadcast of the run.
var errOther = errors.New("not a broadcast of this run")

// broadcast parses a message and checks that it is a broadcast of the client's run.
func (c *client) broadcast(data []byte) (wire.Header, []byte, error) {
	h, floats, err := c.about.chunk().Parse(data)
	if err == nil && (h.Kind != wire.Broadcast || h.Run != c.id || h.Params != c.about.Params || h.Number < 1) {
		err = errOther
	}
	return h, floats, err
}

// fetchLong fetches broadcasts that were not pushed or did not arrive.
func (c *client) fetchLong(ctx context.Context) error {
	m, a := c.models, wire.Assembly{Chunk: c.about.chunk()}
	for {
		var k int
		select {
		case k = <-m.wanted:
		case <-ctx.Done():
			return nil
		}
		if c.about.pushed() && m.lacks(k) {
			if pause(ctx, beat/8) != nil { // it may still be on its way
				return nil
			}
		}
		for m.lacks(k) && ctx.Err() == nil {
			got, err := c.fetch(ctx, k, &a)
			if err != nil {
				c.log.Debug("a broadcast was not fetched", "k", k, "error", err)
				break // the next hello asks for it again
			}
			m.put(got, len(a.X), func(x []float32) { copy(x, a.X) })
		}
	}
}

// fetch fetches the newest broadcast from the slot of v̂_k and returns its k.
func (c *client) fetch(ctx context.Context, k int, a *wire.Assembly) (number int, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	a.Reset()
	var adding sync.Mutex
	parts := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError().WithMaxGoroutines(window / 2)
	for chunk := range c.about.chunks() {
		parts.Go(func(ctx context.Context) error {
			data, err := c.get(ctx, direct(c.names.downStream(), c.names.down(k, chunk)))
			if err != nil {
				return err
			}
			h, floats, err := c.broadcast(data)
			if err != nil {
				return err
			}
			adding.Lock()
			defer adding.Unlock()
			number = h.Number
			_, err = a.Add(h, floats) // fails if a newer broadcast is being written to the slot
			return err
		})
	}
	err = parts.Wait()
	return number, err
}

// get returns a stream's newest message with a subject.
func (c *client) get(ctx context.Context, subject string) ([]byte, error) {
	m, err := c.conn.RequestWithContext(ctx, subject, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", subject, err)
	}
	if status := m.Header.Get("Status"); status != "" {
		return nil, fmt.Errorf("%s: status %s", subject, message.Name(status))
	}
	return m.Data, nil
}

// Find asks at the broker which runs (distributed trainings) exist, and returns the announcement of the one with the
// given id or, if run is "", of the only one. It repeats the question until a server answers, or until ctx is
// cancelled. If run is "", several runs are an error.
func Find(ctx context.Context, c *nats.Conn, run string) (*Announcement, error) {
	for {
		found, err := findAll(ctx, c, run)
		if err != nil {
			return nil, err
		}
		ids := slices.Sorted(maps.Keys(found))
		if run == "" && len(ids) == 1 {
			run = ids[0]
		}
		if a := found[run]; a != nil {
			return a, nil
		}
		if len(ids) > 1 {
			return nil, fmt.Errorf("several runs are served there, %v: name one with --run-id (JoinOptions.Run)", ids)
		}
		if err := pause(ctx, beat/4); err != nil {
			return nil, fmt.Errorf("no server answers: %w", err)
		}
	}
}

// findAll returns the runs whose servers answer soon, by id: all of them, or only the one with the id. If
// an id is given, other answers are not read, because those servers may have another version.
func findAll(ctx context.Context, c *nats.Conn, run string) (map[string]*Announcement, error) {
	reply := c.NewRespInbox()
	sub, err := c.SubscribeSync(reply)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := c.PublishRequest(findSubject, reply, nil); err != nil {
		return nil, nil // the connection is lost: the caller asks again later
	}
	found := map[string]*Announcement{}
	wait := beat
	for {
		once, cancel := context.WithTimeout(ctx, wait)
		m, err := sub.NextMsgWithContext(once)
		cancel()
		if err != nil {
			break
		}
		if m.Header.Get("Status") != "" { // no server is listening
			continue
		}
		var of struct {
			Run string `json:"run"`
		}
		if run != "" && json.Unmarshal(m.Data, &of) == nil && of.Run != run {
			continue
		}
		a, err := parseAnnouncement(m.Data)
		if err != nil {
			return nil, err
		}
		found[a.Run] = a
		wait = beat / 4 // other servers answer about as fast
	}
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("no server answers: %w", err)
	}
	return found, nil
}
