package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"proactivedp/cluster/broker"
	"proactivedp/cluster/internal/journal"
	"proactivedp/dp"
	"proactivedp/internal/message"
)

// question is a hello that is not answered yet. The server answers when it has folded the stream,
// that is, read and applied it, up to the message until.
type question struct {
	m      *nats.Msg
	client int
	hello  hello
	until  uint64
	since  time.Time
}

// reply answers a question. It answers a hello with First only when it has folded everything that
// the stream held when the hello came. Otherwise:
//
//  1. A client releases round 7. It is message 40 of the stream. The server has folded 30.
//  2. The client stops, and its folder is restored from a copy whose journal ends before round 7.
//  3. The client says hello. If the server answered now, its Highest would be 6 and the client
//     would compute round 7 again, at another model.
//  4. The server has until = 40, waits until it has folded message 40, and answers Highest = 7.
//     The client stops, because its journal does not have round 7.
func (s *server) reply(ctx context.Context, m *nats.Msg) {
	switch m.Subject {
	case findSubject:
		if strings.HasPrefix(m.Reply, "_INBOX_") {
			s.respond(m.Reply, s.about)
		}
		return
	case s.names.pulse():
		s.listened()
		return
	case s.names.status():
		if strings.HasPrefix(m.Reply, inbox(broker.Operator, 0)+".") {
			s.respond(m.Reply, s.status())
		}
		return
	case s.names.expel():
		if strings.HasPrefix(m.Reply, inbox(broker.Operator, 0)+".") {
			s.respond(m.Reply, s.expelAsked(m.Data))
		}
		return
	}
	token := strings.TrimPrefix(m.Subject, s.names.subject("hello")+".")
	client, err := strconv.Atoi(token)
	if err != nil || client < 0 || client >= len(s.clients) || strconv.Itoa(client) != token ||
		!strings.HasPrefix(m.Reply, inbox(broker.Client, client)+".") {
		s.record.refuse(OutOfRange)
		return
	}
	q := question{m: m, client: client, since: time.Now()}
	if err := decode(m.Data, &q.hello); err != nil {
		s.respond(m.Reply, answer{Error: "hello: " + message.OneLine(err)})
		return
	}
	if q.hello.First {
		newest, err := s.newestMessage(ctx)
		if err != nil {
			return // the client asks again
		}
		if q.until = newest; q.until > s.processed {
			if s.record.Clients[client].Journal == q.hello.Journal { // it is not silent while it waits for the stream to be folded
				s.clients[client].heard = s.clock()
			}
			older := func(w question) bool { return w.client == client } // the server answers only the newest hello of a client
			s.waiting = append(slices.DeleteFunc(s.waiting, older), q)
			return
		}
	}
	s.hear(q)
}

// errNoStream reports that the broker cannot be reached.
var errNoStream = errors.New("the broker is away")

// noMessage is the broker's error code for a message that does not exist.
const noMessage jetstream.ErrorCode = 10037

// newestMessage returns the number of the newest message that the stream holds, or 0 if it is empty.
// The stream may have given higher numbers to messages that were refused or purged since. The server
// must not wait for those, because they never come.
func (s *server) newestMessage(ctx context.Context) (uint64, error) {
	if s.up.stream == nil {
		return 0, errNoStream
	}
	m, err := s.stored(ctx, fmt.Sprintf(`{"last_by_subj":%q}`, s.names.subject(upKind, ">")))
	if m == nil || err != nil {
		return 0, err
	}
	return m.Number, nil
}

// storedMessage is a message as the stream holds it.
type storedMessage struct {
	Number uint64 `json:"seq"`
	Data   []byte `json:"data"`
}

// stored returns a message of the stream of updates, or nil if the message does not exist.
func (s *server) stored(ctx context.Context, question string) (*storedMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, upkeep)
	defer cancel()
	// This subject asks the leader of the stream. Other brokers may not have the message yet.
	m, err := s.conn.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+s.names.upStream(), []byte(question))
	if err != nil {
		return nil, fmt.Errorf("stream of updates: %w", err)
	}
	var got struct {
		Message storedMessage       `json:"message"`
		Error   *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(m.Data, &got); err != nil {
		return nil, fmt.Errorf("stream of updates: %w", err)
	}
	switch {
	case got.Error == nil:
		return &got.Message, nil
	case got.Error.ErrorCode == noMessage:
		return nil, nil
	}
	return nil, fmt.Errorf("stream of updates: %w", got.Error)
}

// answerWaiting answers the hellos that wait, if the stream is folded far enough for them.
func (s *server) answerWaiting() {
	left := s.waiting[:0]
	for _, q := range s.waiting {
		switch {
		case s.processed >= q.until:
			s.hear(q)
		case time.Since(q.since) < patience: // after that, the client no longer listens
			left = append(left, q)
		}
	}
	s.waiting = left
}

// hear handles a hello and answers it. The order is part of the protocol:
//
//  1. A client that was expelled, or whose journal may be an older copy, is refused before
//     its hello changes anything.
//  2. A new journal or a new life is written to disk (admit) before the answer, see clientsFile. If
//     that fails, there is no answer, and the client asks again.
//  3. A ledger is written to disk (takeLedger) before the answer says Farewell, because the client
//     ends when it gets that answer.
func (s *server) hear(q question) {
	h, r := q.hello, &s.record.Clients[q.client]
	if r.Expelled {
		s.respond(q.m.Reply, answer{Gone: true, Error: "it was expelled"})
		return
	}
	if why := s.refuses(q.client, h); why != "" {
		s.log.Warn("a client is refused", "client", q.client, "why", why)
		s.respond(q.m.Reply, answer{Error: why})
		return
	}
	if h.Journal != r.Journal || h.Life > r.Life {
		if err := s.admit(q.client, h); err != nil {
			s.log.Error("the clients' file", "error", err)
			return // a restart would not know this life, so the client must not continue
		}
	}
	state := &s.clients[q.client]
	state.heard, state.newest, state.oldest, state.bye = s.clock(), h.Newest, h.Oldest, h.Bye
	s.noteLost(q.client, h)
	a := answer{K: s.machine.K(), Next: s.machine.Next(q.client), Highest: s.highest(q.client),
		Covered: s.covered[q.client], First: r.First, Replaced: len(r.Replaced), Processed: s.processed}
	for i := a.Next; i < a.Highest && len(a.Missing) < maxMissing; i++ {
		if !s.machine.Has(q.client, i) {
			a.Missing = append(a.Missing, i)
		}
	}
	if h.Ledger != nil {
		switch err := s.takeLedger(q.client, h.Ledger); {
		case errors.Is(err, errNotKept):
			s.log.Error("the clients' file", "error", err)
			return // this is not the client's fault, and it asks again
		case err != nil:
			a.Error = message.OneLine(err)
		default:
			a.Farewell = true
		}
	}
	s.offerAgain(h.Newest)
	s.respond(q.m.Reply, a)
}

// highest returns the highest round that the server has received from the client, even in part, or
// −1.
func (s *server) highest(client int) int {
	highest := s.machine.Highest(client)
	if a := s.assemblies[client]; a != nil {
		if about, begun := a.About(); begun {
			highest = max(highest, about.Number)
		}
	}
	return highest
}

// errNotKept is the error for a valid ledger that could not be written to disk.
var errNotKept = errors.New("the ledger is not kept")

// takeLedger writes the ledger of a client that has finished. If it could not be written, the error
// wraps errNotKept. Any other error says why the ledger is refused.
func (s *server) takeLedger(client int, l *clientLedger) error {
	r := &s.record.Clients[client]
	if r.Ledger != nil {
		return nil
	}
	if s.covered[client] < s.about.Rounds {
		return fmt.Errorf("a ledger although only %d of %d rounds are saved", s.covered[client], s.about.Rounds)
	}
	if l.First != r.First {
		return fmt.Errorf("the ledger begins at round %d, but the journal at round %d", l.First, r.First)
	}
	if _, err := l.ledger(client, s.mech, s.about.Rounds); err != nil {
		return err
	}
	r.Ledger = l
	if err := s.record.saveClients(); err != nil {
		r.Ledger = nil
		return fmt.Errorf("%w: %w", errNotKept, err)
	}
	s.log.Info("a client has ended", "client", client)
	return nil
}

// ledger returns the rounds that a client says it released. It is an error unless these are all
// rounds from the first one of its journal to T, by the run's mechanism.
func (l *clientLedger) ledger(client int, m *dp.Mechanism, rounds int) (dp.Ledger, error) {
	var out dp.Ledger
	mech := *m
	mech.DatasetSize = l.Records
	if err := l.Noise.Validate(); err != nil {
		return out, err
	}
	if l.Noise.Simulated() && l.Noise.Run != 0 {
		return out, fmt.Errorf("client %d: noise of the ledger = %v, must be drawn by a secret", client, l.Noise)
	}
	if err := cmp.Or(dp.CheckCount("first round of the ledger", l.First, 0, rounds-1),
		dp.CheckCount("replaced journals", l.Replaced, 0, journal.MostReplaced)); err != nil {
		return out, fmt.Errorf("client %d: %w", client, err)
	}
	counted := l.First
	for _, stretch := range l.Sizes {
		if stretch.Rounds < 1 || stretch.Rounds > rounds-counted {
			return out, fmt.Errorf("client %d: the ledger has more than %d rounds", client, rounds)
		}
		for range stretch.Rounds {
			if want := mech.Sizes.At(counted); stretch.Size != want {
				return out, fmt.Errorf("client %d: size of round %d = %d, must be %d", client, counted,
					stretch.Size, want)
			}
			counted++
		}
		e := mech.EventOf(stretch.Size)
		e.Count = stretch.Rounds
		if err := e.Validate(); err != nil {
			return out, fmt.Errorf("client %d: %w", client, err)
		}
		out.Record(e)
	}
	if counted != rounds {
		return out, fmt.Errorf("client %d: the ledger ends at round %d, must end at %d", client, counted, rounds)
	}
	lagged := l.First
	for lag, n := range l.Lags {
		if n < 0 || n > rounds-lagged || lag > rounds {
			return out, fmt.Errorf("client %d: %d rounds at lag %d", client, n, lag)
		}
		lagged += n
	}
	if lagged != rounds {
		return out, fmt.Errorf("client %d: the ledger has lags of %d rounds, must have %d", client, lagged-l.First,
			rounds-l.First)
	}
	return out.Named(dp.Noise{Name: l.Noise, Client: client}), nil
}

// respond sends v as JSON to the subject of a question's answer.
func (s *server) respond(subject string, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		s.log.Error("an answer", "error", err)
		return
	}
	if err := s.conn.Publish(subject, text); errors.Is(err, nats.ErrMaxPayload) {
		s.log.Error("an answer", "error", fmt.Errorf("%d bytes: %w", len(text), err))
	} // a client that misses it for another reason asks again
}

// status returns the state of the run.
func (s *server) status() *Status {
	st := &Status{
		Run: s.about.Run, K: s.machine.K(), Rounds: s.about.Rounds, Updates: s.machine.Updates(),
		Params:  s.about.Params,
		Seconds: s.record.seconds(s.trained), Done: s.machine.Done(), Received: s.record.Received,
		Broadcast: s.record.Broadcast, Lags: slices.Clone(s.record.Lags), Refused: maps.Clone(s.record.Refused),
	}
	for c, r := range s.record.Clients {
		one := ClientStatus{Client: c, Next: s.machine.Next(c), Covered: s.covered[c], Newest: s.clients[c].newest,
			Oldest: s.clients[c].oldest, Lost: s.lostRounds(c),
			Life: r.Life, Heard: -1, Expelled: r.Expelled, Ended: r.Ledger != nil, Refused: s.clients[c].refused}
		if heard := s.clients[c].heard; !heard.IsZero() {
			one.Heard = s.clock().Sub(heard).Seconds()
		}
		st.Clients = append(st.Clients, one)
	}
	return st
}

// expelAsked expels the client that an operator names.
func (s *server) expelAsked(text []byte) reply {
	var e expulsion
	if err := decode(text, &e); err != nil {
		return reply{message.OneLine(err)}
	}
	if err := dp.CheckCount("client", e.Client, 0, len(s.clients)-1); err != nil {
		return reply{message.OneLine(err)}
	}
	if err := s.expelClient(e.Client, "asked"); err != nil {
		return reply{message.OneLine(err)}
	}
	return reply{}
}

// expelClient lets the run continue without a client, permanently. It returns after the state is
// saved. The state has the expulsion together with the updates before it, see stateFile.
func (s *server) expelClient(client int, why string) error {
	r := &s.record.Clients[client]
	if r.Expelled {
		return s.save() // the save may have failed before
	}
	if r.Ledger != nil { // the ledger may be for fewer records than planned
		return fmt.Errorf("client %d has finished: the server has all its rounds and its ledger", client)
	}
	left := 0
	for _, other := range s.record.Clients {
		if !other.Expelled {
			left++
		}
	}
	if left == 1 {
		return fmt.Errorf("client %d is the last one: stop the run instead", client)
	}
	r.Expelled = true
	s.machine.Expel(client)
	if err := s.save(); err != nil {
		return err
	}
	s.log.Warn("a client is expelled", "client", client, "why", why)
	return nil
}
