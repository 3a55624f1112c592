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

// Hogwild trains with a configuration on real threads, as in the paper, without a virtual clock. Every client is a
// goroutine that computes as fast as it can, and the server is one goroutine that reads a channel. The result differs
// from run to run, because it depends on how the goroutines interleave. The sample and the noise of each client and
// round are always the same. The server's goroutine calls observe, unless it is nil, with each global model that it
// sends.
//
// Hogwild returns when training is complete, when ctx is cancelled, or when a goroutine fails or panics.
// All goroutines have then ended.
func Hogwild(ctx context.Context, cfg *Config, observe Observer) (*Result, error) {
	// Ownership of memory. An update's vector belongs to the client until it is sent. Then it belongs to
	// the server, which sends it back over the client's free channel. A client has at most two, made when
	// no free one is left. A broadcast is one copy of v that all clients read; the last reader returns it.
	// A client's mailbox holds one broadcast. A newer one replaces it, because the client would drop the
	// older one anyway. There is one workspace for each processor, and a client has one only during
	// Compute. So the server never waits for a client, and a client waits only for Υ and for a free vector
	// or workspace. The server's channel has room for all updates, because a client that waits for room
	// must be put to sleep and woken, which takes a fifth of a small model's round.
	//
	// When one goroutine fails, the others are cancelled. A gradient that is being computed is finished
	// first.
	if err := cfg.made(); err != nil {
		return nil, err
	}
	if err := errors.Join(cfg.checkWithoutClock(), cfg.CheckFreeRunning()); err != nil {
		return nil, err
	}
	h := &hogwild{
		observe:    observe,
		params:     cfg.Model.NumParams(),
		updates:    make(chan Update, vectorsPerClient*cfg.Clients()),
		workspaces: newShared(hogwildWorkspaces(cfg.Clients()), func() *Workspace { return NewWorkspace(cfg.Model) }),
		// The server has one broadcast too, so there are never more than this.
		returned: make(chan *Vector, broadcastsPerClient*cfg.Clients()+1),
	}
	server, clients := cfg.newMachines(h.put)
	h.server = server
	goroutines := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError()
	for _, c := range clients {
		h.nodes = append(h.nodes,
			&node{client: c, mailbox: make(chan broadcast, 1), free: make(chan []float32, vectorsPerClient)})
	}
	for _, n := range h.nodes {
		goroutines.Go(func(ctx context.Context) error {
			return guard(fmt.Sprintf("client %d", n.client.id), func() error { return h.runClient(ctx, n) })
		})
	}
	goroutines.Go(func(ctx context.Context) error {
		return guard("server", func() error { return h.runServer(ctx) })
	})
	if err := goroutines.Wait(); err != nil {
		return nil, err
	}
	var staleness Staleness
	for _, n := range h.nodes {
		for lag, rounds := range n.staleness {
			staleness.Add(lag, rounds)
		}
	}
	return newResult(server, clients, cfg.Run(), staleness)
}

// guard turns a panic of a goroutine into an error that has its name.
func guard(who string, f func() error) (err error) {
	if p := panics.Try(func() { err = f() }); p != nil {
		return fmt.Errorf("%s: %w", who, p.AsError())
	}
	return err
}

// hogwild holds the channels of one run.
type hogwild struct {
	server     *Server
	observe    Observer
	params     int
	nodes      []*node
	updates    chan Update              // updates from clients to the server, with room for every vector of every client
	returned   chan *Vector             // broadcasts that all clients have read, for the server to use again
	workspaces *sharedThings[Workspace] // working memory of Compute
}

type node struct {
	client    *Client
	mailbox   chan broadcast // the newest broadcast for the client
	free      chan []float32 // vectors that the client may write
	made      int            // how many of these vectors there are, free or not
	staleness Staleness      // written only by the client, and read when it has ended
}

// broadcast is v̂_k on its way to a client.
type broadcast struct {
	k int
	v *Vector
}

// vectorsPerClient is 2 so that a client can compute while the server applies its last update.
const vectorsPerClient = 2

// broadcastsPerClient is the largest number of broadcasts that a client has: one that it reads, one
// that replaces it at the end of the round, and one in its mailbox.
const broadcastsPerClient = 3

// vector returns a vector that the client may write.
func (h *hogwild) vector(ctx context.Context, n *node) ([]float32, error) {
	if n.made < vectorsPerClient && len(n.free) == 0 {
		n.made++
		return make([]float32, h.params), nil
	}
	return receive(ctx, n.free)
}

func (h *hogwild) put(v *Vector) {
	left := atomic.AddInt32(&v.readers, -1)
	if invariants {
		v.assertLetGo(left)
	}
	if left == 0 {
		h.returned <- v
	}
}

// errStopped is the error of a goroutine that ends early. The cause is in the context.
var errStopped = errors.New("stopped")

func stopped(ctx context.Context) error {
	return fmt.Errorf("%w: %w", errStopped, context.Cause(ctx))
}

// cancelled reports whether ctx is cancelled. Clients call it in every round, because a client
// whose channels are always ready never waits for the context.
func cancelled(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return true
	default:
		return false
	}
}

// spins is how often receive yields to other goroutines before it blocks. Waking a blocked
// goroutine, and perhaps an idle core, costs more than a round of a small model.
const spins = 32

// hogwildWorkspaces returns the number of workspaces: one for each processor, but no more than
// there are clients.
func hogwildWorkspaces(clients int) int { return min(clients, runtime.GOMAXPROCS(0)) }

// receive takes from a channel. It first tries only the channel: this mostly succeeds, and costs
// far less than a select over two channels.
func receive[T any](ctx context.Context, c <-chan T) (x T, err error) {
	for range spins {
		select {
		case x = <-c:
			return x, nil
		default:
			// Without this check, a run with many clients that all yield to each other would stop
			// late.
			if cancelled(ctx) {
				return x, stopped(ctx)
			}
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

func (h *hogwild) runClient(ctx context.Context, n *node) error {
	c := n.client
	poll := func() error {
		select {
		case b := <-n.mailbox:
			return c.Receive(b.k, b.v)
		default:
			return nil
		}
	}
	for !c.Done() {
		if cancelled(ctx) {
			return stopped(ctx)
		}
		if err := poll(); err != nil {
			return err
		}
		for !c.CanBegin() {
			b, err := receive(ctx, n.mailbox)
			if err != nil {
				return err
			}
			if err := c.Receive(b.k, b.v); err != nil {
				return err
			}
		}
		c.Begin()
		u, err := h.vector(ctx, n)
		if err != nil {
			return err
		}
		if err := h.compute(ctx, c, u); err != nil {
			return err
		}
		n.staleness.Add(c.state.lag, 1)
		if err := poll(); err != nil {
			return err
		}
		h.updates <- c.Finish(u) // there is room: see updates
	}
	return nil
}

// compute computes the client's round in a free workspace.
func (h *hogwild) compute(ctx context.Context, c *Client, u []float32) error {
	ws, err := h.workspaces.take(func(c <-chan *Workspace) (*Workspace, error) { return receive(ctx, c) })
	if err != nil {
		return err
	}
	err = c.Compute(u, ws)
	h.workspaces.give(ws)
	return err
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
		if invariants {
			poison(u.U)
		}
		h.nodes[u.Client].free <- u.U
		if complete {
			h.broadcast()
		}
	}
	return nil
}

func (h *hogwild) broadcast() {
	var v *Vector
	select {
	case v = <-h.returned:
	default:
		v = &Vector{X: make([]float32, h.params)}
	}
	b := broadcast{h.server.K(), v}
	copy(v.X, h.server.Model())
	if h.observe != nil {
		h.observe(Broadcast{K: b.k, GradComps: h.server.frame.gradients(b.k), V: v.X})
	}
	atomic.StoreInt32(&v.readers, int32(len(h.nodes)))
	for _, n := range h.nodes {
		select {
		case n.mailbox <- b:
			continue
		default:
		}
		select {
		case old := <-n.mailbox:
			h.put(old.v)
		default: // the client has just taken the older one
		}
		n.mailbox <- b // only the server sends to the mailbox, so there is room
	}
}
