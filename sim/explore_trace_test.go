package sim

import (
	"errors"
	"fmt"
	"strings"
)

// searched bounds how many states nearest looks at. It keeps all of them in memory.
const searched = 1 << 16

// explain completes a violation that was found at the end of the path. It adds the trace of the
// shortest way to a violation or, if that would need too many states, the trace of the path.
func (x *explorer) explain(start *world, err error) error {
	broken := new(Violation)
	if !errors.As(err, &broken) {
		return err
	}
	if nearest, path := x.nearest(start); nearest != nil {
		broken, x.path = nearest, path
	}
	w := start
	for _, m := range x.path {
		var happened []string
		x.virtual.record = func(h Happening) { happened = append(happened, phrase(h)) }
		w, _ = x.step(w, m)
		if happened == nil {
			happened = []string{"the next move is impossible"}
		}
		broken.Trace = append(broken.Trace, strings.Join(happened, "; "))
	}
	return broken
}

// nearest searches breadth first for a violation.
func (x *explorer) nearest(start *world) (*Violation, []move) {
	type node struct {
		world  *world
		parent int
		via    move
	}
	nodes := []node{{world: start}}
	x.visited = map[fingerprint]bool{x.fingerprint(start): true}
	pathTo := func(n int, last ...move) []move {
		for ; n > 0; n = nodes[n].parent {
			last = append([]move{nodes[n].via}, last...)
		}
		return last
	}
	for n := 0; n < len(nodes) && n < searched; n++ {
		w := nodes[n].world
		nodes[n].world = nil
		broken := new(Violation)
		moves := x.moves(w)
		if w.still(moves) && errors.As(x.checkEnd(w), &broken) {
			return broken, pathTo(n)
		}
		for _, m := range moves {
			next, err := x.step(w, m)
			if errors.As(err, &broken) {
				return broken, pathTo(n, m)
			}
			if print := x.fingerprint(next); !x.visited[print] {
				x.visited[print] = true
				nodes = append(nodes, node{next, n, m})
			}
		}
	}
	return nil, nil
}

// phrase describes an event in words.
func phrase(h Happening) string {
	message := fmt.Sprintf("the update of client %d, round %d", h.Client, h.Number)
	if h.Down {
		message = fmt.Sprintf("v̂_%d to client %d", h.Number, h.Client)
	}
	switch h.Kind {
	case RoundBegins:
		return fmt.Sprintf("client %d begins round %d, i − k = %d", h.Client, h.Number, h.Lag)
	case RoundEnds:
		return fmt.Sprintf("client %d ends round %d and sends its update", h.Client, h.Number)
	case RoundAborted:
		return fmt.Sprintf("client %d gives up round %d", h.Client, h.Number)
	case ClientLeaves:
		return fmt.Sprintf("client %d leaves", h.Client)
	case ClientReturns:
		return fmt.Sprintf("client %d returns", h.Client)
	case UpdateArrives, BroadcastArrives:
		return message + " arrives"
	case BroadcastSent:
		return fmt.Sprintf("the server sends v̂_%d", h.Number)
	case MessageLost:
		return message + " is lost"
	case MessageResent:
		return message + " is sent again"
	case MessageDuplicated:
		return message + " is duplicated"
	}
	return fmt.Sprintf("%v: client %d, %d", h.Kind, h.Client, h.Number)
}
