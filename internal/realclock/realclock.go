// Package realclock runs asynchronous DP-SGD on a real clock, to measure what package sim predicts. As in the paper,
// every client is a goroutine, and the server is a goroutine that reads a channel. Clients and messages really wait
// for the durations that the virtual clock draws.
//
//	result, err := realclock.Run(ctx, cfg, realclock.Options{Scale: 20})
//	...
//	predicted, err := virtual.Run(ctx)
//	fmt.Println(result.Clock, predicted.Clock)
//
// As with sim.Hogwild, the model differs from run to run. The sample and the noise of each client and round are
// always those of the seed.
package realclock

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/sourcegraph/conc/panics"
	"github.com/sourcegraph/conc/pool"

	"proactivedp/models"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/sim/clock"
)

// Options says how fast a run's clock is, and which functions observe the run. Each function may be nil.
type Options struct {
	Scale   float64      // number of real seconds per second of the clock, in (0, 1e6]
	Observe sim.Observer // called with every broadcast, by the server's goroutine
	// Record is called with every event, like sim.Virtual.Record, by one goroutine at a time.
	Record func(sim.Happening)
	// Look is called with the server's model after each update. The server's goroutine calls it and
	// waits for it, possibly while Record is running. Look must neither keep nor change v.
	Look func(updates int, at sim.Time, v []float32)
}

const maxScale = 1e6

// CheckScale returns an error if scale is not in (0, 1e6]: see Options.Scale.
func CheckScale(scale float64) error {
	if !(scale > 0 && scale <= maxScale) {
		return fmt.Errorf("time scale = %v, must be in (0, %g]", scale, float64(maxScale))
	}
	return nil
}

// Check returns an error that lists every part of the configuration that Run does not support, because it needs the
// virtual clock. On a real clock, a round or a message that has begun is never given up, so clients cannot leave and
// messages cannot be lost. Speeds are supported.
func Check(cfg *sim.Config) error {
	if cfg == nil {
		return errors.New("no Config")
	}
	of := *cfg
	of.Speeds = clock.Speeds{}
	err := of.CheckFreeRunning()
	for i := range cfg.Own {
		one := sim.Config{Mechanism: cfg.Mechanism, Own: cfg.Own[i : i+1]}
		if one.OwnSizes() {
			return errors.Join(err, fmt.Errorf("client %d: sizes = %v, must be those of all clients: a real clock has one "+
				"number of rounds", i, cfg.Own[i].Sizes))
		}
	}
	return err
}

// Run trains until all rounds are done and returns the result. Result.Clock is the time on the clock when
// the last update arrived. Result.Busy is how long each client was in rounds: a round lasts until its
// gradient is computed and its duration is over, whichever takes longer. If ctx is cancelled, Run stops
// with an error. All goroutines end before Run returns.
func Run(ctx context.Context, cfg *sim.Config, o Options) (*sim.Result, error) {
	// Ownership of memory. A release belongs to its client until it is posted, then to the message, then
	// to the server. A broadcast is one copy that all clients read and nobody changes. The post is one
	// goroutine with a queue of the messages under way. It delivers each message when its time comes. So
	// no sender waits for its messages, and messages can overtake each other as on the virtual clock. The
	// post never waits for the server, which may be waiting for the post. There is one workspace per
	// processor; a client has one only during Compute.
	//
	// Goroutines end when training is complete, when the context is cancelled, or when one of them fails
	// or panics, which cancels the others.
	if err := errors.Join(cfg.Validate(), CheckScale(o.Scale), Check(cfg)); err != nil {
		return nil, err
	}
	server, err := sim.NewServer(cfg)
	if err != nil {
		return nil, err
	}
	r := &run{
		Options: o, cfg: cfg, server: server, slower: cfg.Speeds.Factors(cfg.Clients(), cfg.Roots.Run),
		updates: make(chan sim.Update, cfg.Clients()), out: make(chan message, cfg.Clients()),
		ended:      make(chan struct{}),
		workspaces: make(chan *sim.Workspace, min(cfg.Clients(), runtime.GOMAXPROCS(0))),
	}
	for range cap(r.workspaces) {
		r.workspaces <- sim.NewWorkspace(cfg.Model)
	}
	for id := range cfg.Clients() {
		c, err := sim.NewClient(cfg, id, nil)
		if err != nil {
			return nil, err
		}
		r.nodes = append(r.nodes, &node{Client: c, mailbox: make(chan broadcast, 1)})
	}
	return r.run(ctx)
}

type run struct {
	Options
	cfg        *sim.Config
	slower     []float64 // the factor of each client's compute time; nil means 1
	server     *sim.Server
	nodes      []*node
	workspaces chan *sim.Workspace // passes workspaces to clients that compute
	updates    chan sim.Update     // passes updates from the post to the server
	out        chan message        // passes messages to the post
	ended      chan struct{}       // closed when the server is done
	begun      time.Time
	mu         sync.Mutex // keeps the time fixed while an event is recorded
	clock      sim.Time   // time of the last update, written by the server
	draws      rng.Stream // draws the durations of broadcasts, for the server
}

// node is a client with the fields that only its goroutine writes.
type node struct {
	*sim.Client
	mailbox   chan broadcast // passes broadcasts from the post; holds only the newest
	staleness sim.Staleness
	busy      sim.Time
	draws     rng.Stream // draws the durations of its rounds and messages
}

// broadcast is v̂_k at a client.
type broadcast struct {
	k int
	v *sim.Vector
}

// run starts the goroutines and waits for them.
func (r *run) run(ctx context.Context) (*sim.Result, error) {
	goroutines := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError()
	begin := func(who string, f func(context.Context) error) {
		goroutines.Go(func(ctx context.Context) (err error) {
			if p := panics.Try(func() { err = f(ctx) }); p != nil {
				return fmt.Errorf("%s: %w", who, p.AsError())
			}
			return err
		})
	}
	r.begun = time.Now()
	begin("post", r.runPost)
	for _, n := range r.nodes {
		begin(fmt.Sprintf("client %d", n.ID()), func(ctx context.Context) error { return r.runClient(ctx, n) })
	}
	begin("server", r.runServer)
	if err := goroutines.Wait(); err != nil {
		return nil, err
	}
	return r.result()
}

func (r *run) result() (*sim.Result, error) {
	if err := models.CheckFinite(r.server.Model()); err != nil {
		return nil, err
	}
	out := &sim.Result{Params: r.server.Model(), Run: r.cfg.Run(), Updates: r.server.Updates(), Clock: r.clock,
		Absent: make([]sim.Time, len(r.nodes))}
	for _, n := range r.nodes {
		out.Ledgers = append(out.Ledgers, n.Ledger())
		out.Busy = append(out.Busy, n.busy)
		for lag, rounds := range n.staleness {
			out.Staleness.Add(lag, rounds)
		}
	}
	out.MaxLag = out.Staleness.Max()
	return out, nil
}

func (r *run) runClient(ctx context.Context, n *node) error {
	for !n.Done() {
		if err := r.read(ctx, n); err != nil {
			return err
		}
		u, err := r.round(ctx, n)
		if err != nil {
			return err
		}
		if err := r.poll(n); err != nil {
			return err
		}
		update := n.Finish(u)
		if err := r.post(ctx, &r.cfg.Timing.Uplink, rng.UplinkTime, message{client: update.Client, number: update.Round,
			update: update.U}, &n.draws); err != nil {
			return err
		}
	}
	return nil
}

// read passes the client the broadcasts that have arrived. If the client cannot begin its next
// round, it waits for more.
func (r *run) read(ctx context.Context, n *node) error {
	if err := r.poll(n); err != nil {
		return err
	}
	for !n.CanBegin() {
		select {
		case b := <-n.mailbox:
			if err := n.Receive(b.k, b.v); err != nil {
				return err
			}
		case <-ctx.Done():
			return stopped(ctx)
		}
	}
	return nil
}

// poll passes the client the broadcast in its mailbox, if there is one.
func (r *run) poll(n *node) error {
	select {
	case b := <-n.mailbox:
		return n.Receive(b.k, b.v)
	default:
		return nil
	}
}

// round runs the client's next round and returns its release when the round is over.
func (r *run) round(ctx context.Context, n *node) ([]float32, error) {
	n.Begin()
	began := r.note(sim.Happening{Kind: sim.RoundBegins, Client: n.ID(), Number: n.Round(), Size: n.Size(),
		Lag: n.Lag()})
	n.staleness.Add(n.Lag(), 1)
	u := make([]float32, r.cfg.Model.NumParams())
	if err := r.compute(ctx, n, u); err != nil {
		return nil, err
	}
	scale := float64(n.Size())
	if r.slower != nil {
		scale *= r.slower[n.ID()]
	}
	took := r.cfg.Timing.Compute.At(r.cfg.Roots.Run, rng.ComputeTime, n.ID(), n.Round(), scale, &n.draws)
	ends, err := later(began, took)
	if err != nil {
		return nil, err
	}
	if err := r.waitUntil(ctx, ends); err != nil {
		return nil, err
	}
	n.busy += r.note(sim.Happening{Kind: sim.RoundEnds, Client: n.ID(), Number: n.Round()}) - began
	return u, nil
}

// compute computes the client's round in a free workspace.
func (r *run) compute(ctx context.Context, n *node, u []float32) error {
	select {
	case ws := <-r.workspaces:
		err := n.Compute(u, ws)
		r.workspaces <- ws
		return err
	case <-ctx.Done():
		return stopped(ctx)
	}
}

// runServer applies the updates that arrive.
func (r *run) runServer(ctx context.Context) error {
	defer close(r.ended)
	gradients := 0 // number of gradients of each client that the newest broadcast holds at least
	for k := 0; !r.server.Done(); {
		var u sim.Update
		select {
		case u = <-r.updates:
		case <-ctx.Done():
			return stopped(ctx)
		}
		r.clock = r.note(sim.Happening{Kind: sim.UpdateArrives, Client: u.Client, Number: u.Round})
		complete, err := r.server.Receive(u)
		if err != nil {
			return err
		}
		if r.Look != nil {
			r.Look(r.server.Updates(), r.clock, r.server.Model())
		}
		if !complete {
			continue
		}
		for ; k < r.server.K(); k++ {
			gradients += r.cfg.Mechanism.Sizes.At(k)
		}
		if err := r.broadcast(ctx, gradients); err != nil {
			return err
		}
	}
	return nil
}

// broadcast sends one copy of the server's model to all clients.
func (r *run) broadcast(ctx context.Context, gradients int) error {
	v := &sim.Vector{X: append([]float32(nil), r.server.Model()...)}
	k := r.server.K()
	if r.Observe != nil {
		r.Observe(sim.Broadcast{K: k, GradComps: gradients, At: r.clock, V: v.X})
	}
	r.note(sim.Happening{Kind: sim.BroadcastSent, Client: sim.AllClients, Number: k, Down: true})
	for id := range r.nodes {
		m := message{client: id, number: k, broadcast: v}
		if err := r.post(ctx, &r.cfg.Timing.Downlink, rng.DownlinkTime, m, &r.draws); err != nil {
			return err
		}
	}
	return nil
}

// errStopped is the error of a goroutine that ends early. The context has the cause.
var errStopped = errors.New("stopped")

func stopped(ctx context.Context) error { return fmt.Errorf("%w: %w", errStopped, context.Cause(ctx)) }
