package sim

import (
	"context"
	"runtime"
	"sync/atomic"
)

// workspaces are what Hogwild's clients compute in, one for each processor. They
// lie in places that are emptied and filled without a lock: a lock that all clients
// fight for, such as a channel's, takes a tenth of a small model's round. Only a
// client that finds no workspace waits at a channel.
type workspaces struct {
	places  []atomic.Pointer[Workspace]
	waiting atomic.Int32
	handed  chan *Workspace // carries workspaces to clients that wait; has room for all
}

func newWorkspaces(cfg *Config) *workspaces {
	n := hogwildWorkspaces(cfg.Clients())
	w := &workspaces{places: make([]atomic.Pointer[Workspace], n), handed: make(chan *Workspace, n)}
	for i := range w.places {
		w.places[i].Store(NewWorkspace(cfg.Model))
	}
	return w
}

func hogwildWorkspaces(clients int) int { return min(clients, runtime.GOMAXPROCS(0)) }

// take returns a workspace, waiting for one if it must.
func (w *workspaces) take(ctx context.Context) (*Workspace, error) {
	if ws := w.find(); ws != nil {
		return ws, nil
	}
	w.waiting.Add(1)
	defer w.waiting.Add(-1)
	// A client that gives a workspace back from now on sees that somebody waits; one
	// that did so before has left it in its place.
	if ws := w.find(); ws != nil {
		return ws, nil
	}
	return receive(ctx, w.handed)
}

// give returns a workspace. There is a place for each, but it may move while it
// is looked for.
func (w *workspaces) give(ws *Workspace) {
	for i := 0; !w.places[i].CompareAndSwap(nil, ws); {
		i = (i + 1) % len(w.places)
	}
	if w.waiting.Load() == 0 {
		return
	}
	if ws := w.find(); ws != nil {
		w.handed <- ws
	}
}

// find takes a workspace that nobody uses; nil if there is none.
func (w *workspaces) find() *Workspace {
	for i := range w.places {
		if w.places[i].Load() == nil {
			continue
		}
		if ws := w.places[i].Swap(nil); ws != nil {
			return ws
		}
	}
	select {
	case ws := <-w.handed:
		return ws
	default:
		return nil
	}
}
