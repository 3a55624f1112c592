package realclock

import (
	"cmp"
	"container/heap"
	"context"
	"runtime"
	"time"

	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/sim/clock"
)

// message is a message under way: an update to the server, or a broadcast to a client.
type message struct {
	at             sim.Time // when it arrives
	seq            int      // sequence number in the order in which the post received it
	client, number int      // the client that sends or receives, and the round or k
	update         []float32
	broadcast      *sim.Vector // nil for an update
}

// post gives a message to the post's goroutine, to arrive after a latency that it draws.
func (r *run) post(ctx context.Context, latency *clock.Duration, purpose rng.Purpose, m message,
	draws *rng.Stream) error {
	var err error
	m.at, err = later(r.now(), latency.At(r.cfg.Roots.Run, purpose, m.client, m.number, 1, draws))
	if err != nil {
		return err
	}
	select {
	case r.out <- m:
		return nil
	case <-ctx.Done():
		return stopped(ctx)
	}
}

// runPost delivers messages when their time comes, until the server is done.
func (r *run) runPost(ctx context.Context) error {
	var onTheWay messages
	taken := 0
	timer := time.NewTimer(0)
	defer timer.Stop()
	always := make(chan struct{})
	close(always)
	for {
		for len(onTheWay) > 0 && onTheWay[0].at <= r.now() && r.deliver(&onTheWay[0]) {
			heap.Pop(&onTheWay)
		}
		rest := time.Hour
		if len(onTheWay) > 0 {
			rest = r.real(onTheWay[0].at - r.now())
		}
		var yield <-chan struct{}
		if rest <= spinning {
			runtime.Gosched()
			yield = always
		} else {
			timer.Reset(rest - spinning)
		}
		select {
		case m := <-r.out:
			m.seq, taken = taken, taken+1
			heap.Push(&onTheWay, m)
		case <-yield:
		case <-timer.C:
		case <-r.ended:
			return nil
		case <-ctx.Done():
			return stopped(ctx)
		}
	}
}

// deliver gives a message to its client or to the server. It returns false if the server has no
// room for it yet.
func (r *run) deliver(m *message) bool {
	if m.broadcast == nil {
		select {
		case r.updates <- sim.Update{Client: m.client, Round: m.number, U: m.update}:
			return true
		default:
			return false
		}
	}
	r.note(sim.Happening{Kind: sim.BroadcastArrives, Client: m.client, Number: m.number, Down: true})
	b, mailbox := broadcast{m.number, m.broadcast}, r.nodes[m.client].mailbox
	select {
	case other := <-mailbox:
		if other.k > b.k { // it overtook this one, which the client would drop
			b = other
		}
	default:
	}
	mailbox <- b // only this goroutine sends to the mailbox, so there is room
	return true
}

// messages is a heap. The message that arrives first is on top.
type messages []message

func (m messages) Len() int { return len(m) }

func (m messages) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(m[i].at, m[j].at), cmp.Compare(m[i].seq, m[j].seq)) < 0
}

func (m messages) Swap(i, j int) { m[i], m[j] = m[j], m[i] }

func (m *messages) Push(x any) { *m = append(*m, x.(message)) }

func (m *messages) Pop() any {
	last := len(*m) - 1
	x := (*m)[last]
	(*m)[last] = message{}
	*m = (*m)[:last]
	return x
}
