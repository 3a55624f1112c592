package sim

import (
	"fmt"
	"runtime"

	"github.com/sourcegraph/conc/panics"
	"github.com/sourcegraph/conc/pool"

	"proactivedp/models"
)

// crew computes rounds of Virtual in worker goroutines. It owns them: wait returns when all have
// ended. Between start and join, only its worker reads the state of a round (see Client). The queue
// and the task's channel order these accesses. The round that ends first on the virtual clock is
// computed first, because the event loop waits for it before it can begin other rounds.
type crew struct {
	pool  *pool.Pool
	queue *soonestQueue[*task]
	tasks []task // the task of each client
}

// task is one round being computed.
type task struct {
	client *Client
	u      *Vector // where the release is written; nil if no round is under way
	err    error
	done   chan struct{}
}

func newCrew(workers int, model models.Model, clients int) *crew {
	c := &crew{
		pool:  pool.New(),
		queue: newSoonestQueue[*task](),
		tasks: make([]task, clients),
	}
	for i := range c.tasks {
		c.tasks[i].done = make(chan struct{}, 1)
	}
	for range workers {
		c.pool.Go(func() {
			ws := NewWorkspace(model)
			for t, ok := c.queue.take(); ok; t, ok = c.queue.take() {
				t.compute(ws)
				// The event loop, if it waits for this round, may now start the next ones.
				runtime.Gosched()
			}
		})
	}
	return c
}

func (t *task) compute(ws *Workspace) {
	if p := panics.Try(func() { t.err = t.client.Compute(t.u.X, ws) }); p != nil {
		t.err = fmt.Errorf("client %d: %w", t.client.id, p.AsError())
	}
	t.done <- struct{}{}
}

// start queues the client's round for the next free worker. The worker writes the release to u. ends
// is the time on the virtual clock at which the round ends.
func (c *crew) start(client *Client, u *Vector, ends Time) {
	t := &c.tasks[client.id]
	t.client, t.u = client, u
	c.queue.put(t, int64(ends))
}

// join waits for the client's round and returns its release. It returns nil if the round was not
// started.
func (c *crew) join(client *Client) (*Vector, error) {
	t := &c.tasks[client.id]
	if t.u == nil {
		return nil, nil
	}
	<-t.done
	u := t.u
	t.u = nil
	return u, t.err
}

// wait ends the workers after their current rounds. It drops rounds that no worker has begun.
func (c *crew) wait() {
	c.queue.close()
	c.pool.Wait()
}
