package sim

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/sourcegraph/conc/panics"
	"github.com/sourcegraph/conc/pool"
)

// Hogwild runs a configuration as in the paper: every client is a goroutine
// that computes as fast as it can, and the server is one goroutine that reads a
// channel. How they interleave, and so the result, differs from run to run; the
// sampling and the noise of each (client, round) do not. observe may be nil; it
// is called by the server's goroutine.
//
// Who owns what. An update's vector belongs to the client until it is sent, then
// to the server, which sends it back over the client's free channel: two a
// client, allocated once. A broadcast is one copy of v that all clients read;
// the last reader hands it back. A client's mailbox holds one broadcast: an
// unread older one is replaced, since the client would drop it for the newer.
// So the server never waits for a client, and a client waits only for Υ, for a
// free vector and for room in the server's channel.
//
// All goroutines end before Hogwild returns: when training is complete, when
// the context is cancelled, or when one of them fails or panics, which cancels
// the others.
func Hogwild(ctx context.Context, cfg *Config, observe Observer) (*Result, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	server, clients, sched := cfg.newMachines()
	h := &hogwild{
		server: server, sched: sched, observe: observe,
		updates: make(chan Update, len(clients)),
		// A broadcast exists while it is in a mailbox, with a reader or with the
		// server, so no more than this are ever waiting to be used again.
		returned: make(chan *broadcast, 2*len(clients)+1),
	}
	goroutines := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError()
	for _, c := range clients {
		h.nodes = append(h.nodes, newNode(c, cfg.Model.NumParams()))
	}
	for _, n := range h.nodes {
		goroutines.Go(func(ctx context.Context) error {
			return guard(fmt.Sprintf("client %d", n.client.id), func() error { return h.runClient(ctx, n, NewWorkspace(cfg.Model)) })
		})
	}
	goroutines.Go(func(ctx context.Context) error {
		return guard("server", func() error { return h.runServer(ctx) })
	})
	if err := goroutines.Wait(); err != nil {
		return nil, err
	}
	return newResult(server, clients, cfg.Run(), 0)
}

// guard turns a panic of a goroutine into an error that names it.
func guard(who string, f func() error) (err error) {
	if p := panics.Try(func() { err = f() }); p != nil {
		return fmt.Errorf("sim: %s: %w", who, p.AsError())
	}
	return err
}

// hogwild is the channels of one run.
type hogwild struct {
	server   *Server
	sched    *schedule
	observe  Observer
	nodes    []*node
	updates  chan Update     // clients to server
	returned chan *broadcast // read by all, for the server to use again
}

// node is a client with its channels.
type node struct {
	client  *Client
	mailbox chan *broadcast // server to client, the newest only
	free    chan []float32  // vectors the client may write
}

// broadcast is v̂_k on its way to all clients.
type broadcast struct {
	k    int
	v    []float32
	refs atomic.Int32 // readers left
}

// vectorsPerClient lets a client compute while the server applies its last
// update.
const vectorsPerClient = 2

func newNode(c *Client, params int) *node {
	n := &node{client: c, mailbox: make(chan *broadcast, 1), free: make(chan []float32, vectorsPerClient)}
	for range vectorsPerClient {
		n.free <- make([]float32, params)
	}
	return n
}

func (h *hogwild) release(b *broadcast) {
	if b.refs.Add(-1) > 0 {
		return
	}
	h.returned <- b
}

// errStopped is why a goroutine ends early; the cause is the context's.
var errStopped = errors.New("sim: stopped")

func stopped(ctx context.Context) error {
	return fmt.Errorf("%w: %w", errStopped, context.Cause(ctx))
}

// cancelled looks at the context once a round: with channels that are always
// ready, nothing else would.
func cancelled(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return true
	default:
		return false
	}
}

// spins is how often receive yields to other goroutines before it blocks. A
// blocked goroutine must be woken, and an idle core too, which costs more than
// a round of a small model.
const spins = 32

// receive takes from a channel. Trying first costs far less than a select over
// two channels and mostly succeeds.
func receive[T any](ctx context.Context, c <-chan T) (x T, err error) {
	for range spins {
		select {
		case x = <-c:
			return x, nil
		default:
			runtime.Gosched()
		}
	}
	select {
	case x = <-c:
		return x, nil
	case <-ctx.Done():
		return x, stopped(ctx)
	}
}

// send gives to a channel, likewise.
func send[T any](ctx context.Context, c chan<- T, x T) error {
	select {
	case c <- x:
		return nil
	default:
	}
	select {
	case c <- x:
		return nil
	case <-ctx.Done():
		return stopped(ctx)
	}
}

func (h *hogwild) runClient(ctx context.Context, n *node, ws *Workspace) error {
	c := n.client
	take := func(b *broadcast) {
		c.Receive(b.k, b.v)
		h.release(b)
	}
	poll := func() {
		select {
		case b := <-n.mailbox:
			take(b)
		default:
		}
	}
	for !c.Done() {
		if cancelled(ctx) {
			return stopped(ctx)
		}
		poll()
		for !c.CanBegin() {
			b, err := receive(ctx, n.mailbox)
			if err != nil {
				return err
			}
			take(b)
		}
		c.Begin()
		u, err := receive(ctx, n.free)
		if err != nil {
			return err
		}
		if err := c.Compute(u, ws); err != nil {
			return err
		}
		poll()
		if err := send(ctx, h.updates, c.Finish(u)); err != nil {
			return err
		}
	}
	return nil
}

func (h *hogwild) runServer(ctx context.Context) error {
	for !h.server.Done() {
		if cancelled(ctx) {
			return stopped(ctx)
		}
		u, err := receive(ctx, h.updates)
		if err != nil {
			return err
		}
		complete, err := h.server.Receive(u)
		if err != nil {
			return err
		}
		h.nodes[u.Client].free <- u.U
		if complete {
			h.broadcast()
		}
	}
	return nil
}

func (h *hogwild) broadcast() {
	var b *broadcast
	select {
	case b = <-h.returned:
	default:
		b = &broadcast{v: make([]float32, len(h.server.Model()))}
	}
	b.k = h.server.K()
	copy(b.v, h.server.Model())
	if h.observe != nil {
		h.observe(b.k, h.sched.before[b.k], b.v)
	}
	b.refs.Store(int32(len(h.nodes)))
	for _, n := range h.nodes {
		select {
		case n.mailbox <- b:
			continue
		default:
		}
		select {
		case old := <-n.mailbox:
			h.release(old)
		default: // the client has just taken it
		}
		n.mailbox <- b // only the server sends, so there is room
	}
}
