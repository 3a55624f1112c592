package sim

import (
	"fmt"

	"github.com/sourcegraph/conc/panics"
	"github.com/sourcegraph/conc/pool"

	"proactivedp/models"
)

// crew computes rounds of Virtual in worker goroutines. It owns them: wait
// returns when all have ended. A round's state is read by its worker alone
// between start and join (see Client), and the channel of its task orders the
// two.
type crew struct {
	pool       *pool.Pool
	workspaces chan *Workspace
	tasks      []*task // by client; nil: none under way
}

// task is one round being computed.
type task struct {
	buf  *buffer
	err  error
	done chan struct{}
}

func newCrew(workers int, model models.Model, clients int) *crew {
	c := &crew{
		pool:       pool.New().WithMaxGoroutines(workers),
		workspaces: make(chan *Workspace, workers),
		tasks:      make([]*task, clients),
	}
	for range workers {
		c.workspaces <- NewWorkspace(model)
	}
	return c
}

// start begins the client's round in a worker, waiting for a free one.
func (c *crew) start(client *Client, buf *buffer) {
	t := &task{buf: buf, done: make(chan struct{})}
	c.tasks[client.id] = t
	c.pool.Go(func() {
		defer close(t.done)
		ws := <-c.workspaces
		defer func() { c.workspaces <- ws }()
		if p := panics.Try(func() { t.err = client.Compute(buf.x, ws) }); p != nil {
			t.err = fmt.Errorf("sim: client %d: %w", client.id, p.AsError())
		}
	})
}

// join waits for the client's round and returns its release, or nil if no
// worker was given it.
func (c *crew) join(client *Client) (*buffer, error) {
	t := c.tasks[client.id]
	if t == nil {
		return nil, nil
	}
	c.tasks[client.id] = nil
	<-t.done
	return t.buf, t.err
}

func (c *crew) wait() { c.pool.Wait() }
