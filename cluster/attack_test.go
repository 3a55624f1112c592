package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"proactivedp/cluster/broker"
	"proactivedp/cluster/internal/wire"
)

// secure lets the run meet at a TLS port, with keys for all.
func (r *testRun) secure() (keys string) {
	r.t.Helper()
	keys = filepath.Join(r.dir, "keys")
	if err := broker.MakeKeys(keys, r.spec.Clients, []string{"127.0.0.1", "localhost"}); err != nil {
		r.t.Fatal(err)
	}
	ring, err := broker.ReadKeyring(keys)
	if err != nil {
		r.t.Fatal(err)
	}
	r.listen = "127.0.0.1:0"
	r.serve = func(o *ServeOptions) { o.Engine.Keyring = ring }
	r.join = func(o *JoinOptions) {
		o.Creds = r.creds(keys, fmt.Sprintf("client-%d", o.Client))
		o.connect = func(ctx context.Context, p broker.Peer) (*nats.Conn, error) {
			<-r.ready
			return broker.Dial(ctx, r.broker.URL(), p)
		}
	}
	return keys
}

func (r *testRun) creds(keys, name string) *broker.Credentials {
	r.t.Helper()
	c, err := broker.ReadCredentials(filepath.Join(keys, name+".creds"))
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// attacker is a connection with a client's credentials, and no client behind it.
type attacker struct {
	t     *testing.T
	c     *nats.Conn
	about *Announcement
	names names
	id    uint64
	me    int
	want  map[string]int // what the server must count
}

// update returns a message of the attacker's round, as change makes it.
func (a *attacker) update(round int, change func(h *wire.Header, u []float32)) []byte {
	u := make([]float32, a.about.Params)
	h := wire.Header{Kind: wire.Update, Run: a.id, Client: a.me, Number: round, Newest: 0, Size: 6}
	if change != nil {
		change(&h, u)
	}
	if h.Digest == 0 {
		h.Digest = wire.Digest(u)
	}
	return wire.MaxChunk.Append(nil, h, u)
}

// send publishes under a subject, and waits until the broker has it, if it takes it.
func (a *attacker) send(subject string, m *nats.Msg) {
	a.t.Helper()
	m.Subject = subject
	if err := a.c.PublishMsg(m); err != nil {
		a.t.Fatal(err)
	}
	if err := a.c.FlushTimeout(enough); err != nil {
		a.t.Fatal(err)
	}
}

// refused sends what the server must refuse for the reason, past the stream as well, of which
// nothing is counted.
func (a *attacker) refused(why Refusal, subject string, data []byte) {
	a.t.Helper()
	a.send(strings.Replace(subject, "."+upKind+".", "."+earlyKind+".", 1), &nats.Msg{Data: data})
	a.send(subject, &nats.Msg{Data: data})
	a.want[string(why)]++
}

// unheard asks what nobody may answer.
func (a *attacker) unheard(subject, question string) {
	a.t.Helper()
	m, err := a.c.Request(subject, []byte(question), 50*time.Millisecond)
	if err == nil && m.Header.Get("Status") == "" {
		a.t.Errorf("%s is answered: %.60q", subject, m.Data)
	}
}

// The broker forbids whatever the credentials of a client do not allow. Messages that they allow, but that
// no honest client sends, are refused and counted by the server. The training of the other clients does
// not change.
func TestAttacksOfAClientAreRefused(t *testing.T) {
	t.Parallel()
	r := newTestRun(t, smallSpec(12), drawn())
	keys := r.secure()
	attacked := make(chan struct{})
	join := r.join
	r.join = func(o *JoinOptions) {
		join(o)
		if o.Client == 1 { // it joins when the attacks are over
			dial := o.connect
			o.connect = func(ctx context.Context, p broker.Peer) (*nats.Conn, error) {
				<-attacked
				return dial(ctx, p)
			}
		}
	}
	want := map[string]int{}
	go func() {
		defer close(attacked)
		<-r.ready
		r.attack(keys, want)
	}()
	report, _ := r.run(t.Context())
	r.checkFold(report)
	if !maps.Equal(report.Refused, want) {
		t.Errorf("refused %v, want %v", report.Refused, want)
	}
}

// attack does all that an attacker with the credentials of client 1 may think of.
func (r *testRun) attack(keys string, want map[string]int) {
	t := r.t.(*testing.T)
	ctx, cancel := context.WithTimeout(t.Context(), enough)
	defer cancel()
	dial := func(creds *broker.Credentials) (*nats.Conn, error) {
		return broker.Dial(ctx, r.broker.URL(), peerOf(broker.Client, 1, creds, nil, nil))
	}
	if _, err := dial(nil); err == nil {
		t.Error("connected without credentials")
	}
	stranger := *r.creds(keys, "client-1")
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Error(err)
		return
	}
	seed, err := pair.Seed()
	if err != nil {
		t.Error(err)
		return
	}
	stranger.Seed = string(seed)
	if _, err := dial(&stranger); err == nil {
		t.Error("connected with a key of one's own")
	}
	plain, cancelPlain := context.WithTimeout(ctx, time.Second)
	defer cancelPlain()
	if _, err := broker.Dial(plain, strings.Replace(r.broker.URL(), "tls://", "nats://", 1),
		peerOf(broker.Client, 1, nil, nil, nil)); err == nil {
		t.Error("connected without TLS")
	}
	c, err := dial(r.creds(keys, "client-1"))
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close()
	about, err := Find(ctx, c, "")
	if err != nil {
		t.Error(err)
		return
	}
	a := &attacker{t: t, c: c, about: about, names: about.names(), me: 1, want: want}
	if a.id, err = about.id(); err != nil {
		t.Error(err)
		return
	}
	a.forbidden()
	a.dishonest()
	a.injected()
	// What was refused is away, so that the honest client can send under the same subjects.
	deadline := time.Now().Add(enough)
	for time.Now().Before(deadline) {
		m, err := c.Request(direct(a.names.upStream(), a.names.up(1, 5, 0)), nil, time.Second)
		if err == nil && m.Header.Get("Status") != "" {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("what was refused is still there")
}

// forbidden tries what the broker must not let a client do.
func (a *attacker) forbidden() {
	n := a.names
	for _, subject := range []string{n.up(0, 3, 0), n.early(0, 3)} {
		a.send(subject, &nats.Msg{Data: a.update(3, func(h *wire.Header, _ []float32) { h.Client = 0 })})
	}
	a.send(n.down(1, 0), &nats.Msg{Data: a.update(1, func(h *wire.Header, _ []float32) { h.Kind = wire.Broadcast })})
	a.send(n.call(), &nats.Msg{})
	a.unheard(n.hello(0), `{"journal":"secret:00","life":99,"instance":"x","first":false,"oldest":0,"next":0,`+
		`"newest":0}`)
	a.unheard(n.status(), "{}")
	a.unheard(n.expel(), `{"client":0}`)
	for _, api := range []string{"STREAM.PURGE.", "STREAM.DELETE.", "STREAM.INFO.", "STREAM.MSG.GET.",
		"STREAM.SNAPSHOT."} {
		a.unheard("$JS.API."+api+n.upStream(), `{"seq":1}`)
	}
	a.unheard("$JS.API.CONSUMER.CREATE."+n.downStream(), `{"config":{"deliver_subject":"`+n.up(2, 1, 0)+`"}}`)
	a.unheard(direct(n.upStream(), n.up(0, 0, 0)), "")
	a.unheard("$JS.API.DIRECT.GET."+n.upStream(), `{"last_by_subj":"`+n.up(0, 0, 0)+`"}`)
	for _, subject := range []string{n.subject(upKind, ">"), n.subject(earlyKind, ">"), n.hello(0),
		inbox(broker.Client, 0) + ".>", "$JS.>", ">"} {
		if _, err := a.c.SubscribeSync(subject); err != nil {
			a.t.Error(err)
		}
		err := a.c.FlushTimeout(enough)
		if err == nil {
			err = a.c.LastError()
		}
		if !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), subject) {
			a.t.Errorf("subscribed to %s: %v", subject, err)
		}
	}
}

// dishonest sends, in the client's own name, what no client sends.
func (a *attacker) dishonest() {
	own := func(round int) string { return a.names.up(a.me, round, 0) }
	a.refused(NoUpdate, own(5), []byte("short"))
	a.refused(NoUpdate, own(6), make([]byte, wire.MaxChunk.MaxMessage()))
	a.refused(OtherRun, own(7), a.update(7, func(h *wire.Header, _ []float32) { h.Run++ }))
	a.refused(OtherSubject, own(8), a.update(8, func(h *wire.Header, _ []float32) { h.Client = 0 }))
	a.refused(OtherSubject, own(9), a.update(8, nil))
	a.refused(OutOfRange, own(4), a.update(4, func(h *wire.Header, _ []float32) { h.Size = 400 }))
	a.refused(OutOfRange, own(3), a.update(3, func(h *wire.Header, _ []float32) { h.Newest = 4 }))
	a.refused(OutOfRange, own(a.about.Rounds), a.update(a.about.Rounds, nil))
	a.refused(NoUpdate, own(2), a.update(2, func(h *wire.Header, _ []float32) { h.Kind = wire.Broadcast }))
	a.refused(OtherVector, own(1), a.update(1, func(h *wire.Header, _ []float32) { h.Digest = 1 }))
	for round, x := range map[int]float64{10: math.NaN(), 11: math.Inf(1)} {
		a.refused(NotFinite, own(round), a.update(round, func(_ *wire.Header, u []float32) { u[0] = float32(x) }))
	}
	a.refused(TooLong, own(0), a.update(0, func(_ *wire.Header, u []float32) { u[1] = 1e30 }))
	a.refused(OtherSubject, a.names.subject("up", a.me, "x", 0), []byte("a"))
	a.refused(OtherSubject, a.names.subject("up", a.me, "007", 0), []byte("a"))
	// A message longer than the stream's: the broker does not take it.
	a.send(own(5), &nats.Msg{Data: make([]byte, 1000<<10)})
}

// injected lets the broker and the server answer under another client's subject. The broker
// does: an update that it was made to read out, and an acknowledgement, come to the server
// under client 2's subjects. They have headers, or are no updates, and are taken away, so
// that client 2 can send its own.
func (a *attacker) injected() {
	forged := a.update(6, func(h *wire.Header, _ []float32) { h.Client = 2 })
	a.refused(OtherSubject, a.names.up(a.me, 6, 1), forged)
	for _, subject := range []string{a.names.up(2, 6, 0), a.names.early(2, 6)} {
		a.send(direct(a.names.upStream(), a.names.up(a.me, 6, 1)), &nats.Msg{Reply: subject})
	}
	a.send(a.names.up(a.me, 6, 2), &nats.Msg{Data: []byte("x"), Reply: a.names.up(2, 7, 0)})
	a.send(a.names.early(a.me, 6), &nats.Msg{Data: []byte("x"), Reply: a.names.early(2, 7)})
	a.want[string(NoUpdate)] += 3 // what was read out, the message, and its acknowledgement
	a.send(findSubject, &nats.Msg{Reply: a.names.up(2, 8, 0)})
	a.send(a.names.hello(a.me), &nats.Msg{Reply: a.names.up(2, 9, 0), Data: []byte("{}")})
	a.want[string(OutOfRange)]++
}
