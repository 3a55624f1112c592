package cluster

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"proactivedp/cluster/broker"
	"proactivedp/cluster/internal/journal"
	"proactivedp/cluster/internal/wire"
	"proactivedp/sim"
	"proactivedp/train"
)

// puppet plays the clients of a run, in an order that it is told, by the messages of this
// package.
type puppet struct {
	t       *testing.T
	server  *testRun
	conn    *nats.Conn
	js      jetstream.JetStream
	names   names
	id      uint64
	clients []*sim.Client
	ws      *sim.Workspace
	u       map[[2]int][]float32 // by client and round
	v       map[int][]float32    // broadcasts, by k
	down    *nats.Subscription
	config  *sim.Config
}

// The test records the order of updates and broadcasts in a run on the virtual clock. If real messages
// arrive in this order, the result is the same, bit for bit.
func TestTheOrderThatVirtualRecordedGivesItsBits(t *testing.T) {
	for _, delay := range []string{"1", "unlimited"} {
		s := smallSpec(15)
		s.Delay, s.Latency, s.Compute = delay, "exponential:300us", "exponential:100us"
		s.Runner = train.VirtualRunner
		p := prepare(t, s, drawn())
		var happened []sim.Happening
		v, err := sim.NewVirtual(p.Config, sim.Perf{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		v.Record(func(h sim.Happening) { happened = append(happened, h) })
		want, err := v.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		usual := train.DefaultSpec()
		s.Runner, s.Compute, s.Latency = train.DistributedRunner, usual.Compute, usual.Latency
		r := newTestRun(t, s, drawn())
		if got := play(t, r, happened, want); got != want.ParamsSHA256() {
			t.Errorf("delay %s: the model is %s, virtual's is %s", delay, got, want.ParamsSHA256())
		}
	}
}

// play serves the run, plays the clients, and returns the digest of the server's model.
func play(t *testing.T, r *testRun, happened []sim.Happening, want *sim.Result) string {
	ctx, cancel := context.WithTimeout(t.Context(), enough)
	defer cancel()
	var report *Report
	ended := make(chan error, 1)
	go func() {
		var err error
		report, err = Serve(ctx, r.serveOptions())
		ended <- err
	}()
	<-r.ready
	m := newPuppet(ctx, t, r)
	defer m.conn.Close()
	for _, h := range happened {
		m.do(ctx, h)
	}
	m.leave(ctx, want)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	return report.ParamsSHA256
}

func newPuppet(ctx context.Context, t *testing.T, r *testRun) *puppet {
	t.Helper()
	conn, err := r.broker.Connect(ctx, broker.Peer{Name: "puppet", Inbox: inbox(broker.Client, 0)})
	if err != nil {
		t.Fatal(err)
	}
	about, err := Find(ctx, conn, "")
	if err != nil {
		t.Fatal(err)
	}
	p := prepare(t, r.spec, r.data)
	m := &puppet{t: t, server: r, conn: conn, names: about.names(), ws: sim.NewWorkspace(p.Config.Model),
		u: map[[2]int][]float32{}, v: map[int][]float32{}, config: p.Config}
	if m.id, err = about.id(); err != nil {
		t.Fatal(err)
	}
	if m.js, err = jetstream.New(conn); err != nil {
		t.Fatal(err)
	}
	if m.down, err = conn.SubscribeSync(m.names.subject("down", ">")); err != nil {
		t.Fatal(err)
	}
	for c := range p.Config.Clients() {
		client, err := sim.NewClient(p.Config, c, nil)
		if err != nil {
			t.Fatal(err)
		}
		m.clients = append(m.clients, client)
	}
	return m
}

// do lets happen what happened on the virtual clock.
func (m *puppet) do(ctx context.Context, h sim.Happening) {
	m.t.Helper()
	switch h.Kind {
	case sim.RoundBegins:
		m.clients[h.Client].Begin()
	case sim.RoundEnds:
		u := make([]float32, m.config.Model.NumParams())
		if err := m.clients[h.Client].Compute(u, m.ws); err != nil {
			m.t.Fatal(err)
		}
		m.u[[2]int{h.Client, h.Number}] = u
		m.clients[h.Client].Finish(u)
	case sim.UpdateArrives:
		u := m.u[[2]int{h.Client, h.Number}]
		head := wire.Header{Kind: wire.Update, Run: m.id, Client: h.Client, Number: h.Number,
			Newest: 0, Size: 6, Digest: wire.Digest(u)}
		if _, err := m.js.Publish(ctx, m.names.up(h.Client, h.Number, 0), wire.MaxChunk.Append(nil, head, u)); err != nil {
			m.t.Fatal(err)
		}
	case sim.BroadcastSent:
		m.hear(h.Number)
	case sim.BroadcastArrives:
		clients := m.clients
		if h.Client != sim.AllClients {
			clients = clients[h.Client : h.Client+1]
		}
		for _, c := range clients {
			if err := c.Receive(h.Number, &sim.Vector{X: slices.Clone(m.v[h.Number])}); err != nil {
				m.t.Fatal(err)
			}
		}
	}
}

// hear waits for the server's broadcast of v̂_k.
func (m *puppet) hear(k int) {
	m.t.Helper()
	for m.v[k] == nil {
		got, err := m.down.NextMsg(enough)
		if err != nil {
			m.t.Fatalf("broadcast %d: %v", k, err)
		}
		h, floats, err := wire.MaxChunk.Parse(got.Data)
		if err != nil {
			m.t.Fatal(err)
		}
		m.v[h.Number] = make([]float32, h.Params)
		wire.Floats(m.v[h.Number], floats)
	}
}

// leave says goodbye for all clients, with their ledgers.
func (m *puppet) leave(ctx context.Context, want *sim.Result) {
	m.t.Helper()
	rounds := want.Run.Rounds
	for c := range m.clients {
		conn, err := m.server.broker.Connect(ctx, broker.Peer{Name: "leaving", Inbox: inbox(broker.Client, c)})
		if err != nil {
			m.t.Fatal(err)
		}
		defer conn.Close()
		l := &clientLedger{Records: m.config.Mechanism.DatasetSize, Noise: m.config.Roots.Clients[c].Name(),
			Sizes: []journal.Stretch{{Size: 6, Rounds: rounds}}, Lags: []int{rounds}}
		for said := false; !said; {
			var a answer
			err := ask(ctx, conn, m.names.hello(c), hello{Journal: "secret:00", Life: 1, Instance: "puppet",
				Next: rounds, Ledger: l, Bye: true}, &a, patience)
			if err != nil && (!silent(err) || ctx.Err() != nil) { // a disk may be busy for as long
				m.t.Fatal(err)
			}
			if said = a.Farewell; !said {
				time.Sleep(20 * time.Millisecond)
			}
		}
	}
}
