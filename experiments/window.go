package experiments

import (
	"context"
	"encoding/json"
	"fmt"

	"proactivedp/sim"
	"proactivedp/train"
)

// windowSpec is the beginning of a run on the virtual clock, as a timeline shows
// it.
type windowSpec struct {
	Kind   string     `json:"kind"`
	Train  train.Spec `json:"train"`
	Data   string     `json:"data_sha256"`
	Rounds int        `json:"rounds"` // how many rounds of each client are shown
}

// keptRounds bounds how far a window follows a client that is ahead: for so many
// times the rounds that it waits for.
const keptRounds = 4

// window is what happened until the updates of a client's first rounds were in,
// for all clients.
type window struct {
	Rounds     []windowRound     `json:"rounds"` // rounds in the order of their ends
	Away       []windowAway      `json:"away,omitempty"`
	Broadcasts []windowBroadcast `json:"broadcasts"`
}

type windowRound struct {
	Client  int      `json:"client"`
	Round   int      `json:"round"`
	Lag     int      `json:"lag"` // i − k, how far behind the round was
	Aborted bool     `json:"aborted,omitempty"`
	Open    bool     `json:"open,omitempty"` // whether it is still under way when the window ends
	From    sim.Time `json:"from"`
	To      sim.Time `json:"to"`
	Arrives sim.Time `json:"arrives"` // when its update first came to the server; 0 if it did not
}

// windowAway is a client's absence.
type windowAway struct {
	Client int      `json:"client"`
	From   sim.Time `json:"from"`
	To     sim.Time `json:"to"`
}

// windowBroadcast is a broadcast on its way to one client.
type windowBroadcast struct {
	Client  int      `json:"client"`
	K       int      `json:"k"`
	Sent    sim.Time `json:"sent"`
	Arrives sim.Time `json:"arrives"`
}

func windowCell(spec train.Spec, rounds int, source *train.Source) cell {
	return cell{
		spec:    windowSpec{Kind: "window", Train: spec, Data: source.Hash(), Rounds: rounds},
		code:    spec.CodeVersion(),
		kernels: spec.Kernels(),
		cost: func(workers int) (train.Cost, error) {
			c, err := costOf(source, spec, 0, workers)
			c.Work = 0 // it is next to nothing beside whole runs
			return c, err
		},
		run: func(ctx context.Context, perf sim.Perf, _ func(float64), _ train.Keep) (any, error) {
			p, err := source.Prepare(spec)
			if err != nil {
				return nil, err
			}
			return runWindow(ctx, p, perf, rounds)
		},
		check: func(text json.RawMessage) error {
			w, err := decode[window](text)
			if err == nil && len(w.Rounds) == 0 {
				err = fmt.Errorf("experiments: finished cell: no rounds")
			}
			return err
		},
	}
}

// runWindow runs the first rounds and keeps when what happened.
func runWindow(ctx context.Context, p *train.Prepared, perf sim.Perf, rounds int) (*window, error) {
	v, err := sim.NewVirtual(p.Config, perf, nil)
	if err != nil {
		return nil, err
	}
	rounds = min(rounds, p.Config.Run().Rounds)
	clients := p.Config.Clients()
	var (
		w       window
		began   = make([]sim.Happening, clients)
		under   = make([]bool, clients) // whether a client is in a round
		away    = make([]bool, clients)
		left    = make([]sim.Time, clients)
		index   = map[[2]int]int{}      // index of a round in w.Rounds, by client and round
		sent    = map[[2]int]sim.Time{} // when broadcasts were sent, by client or AllClients and k
		missing = rounds * clients      // how many updates are still to come
	)
	v.Record(func(h sim.Happening) {
		switch h.Kind {
		case sim.RoundBegins:
			began[h.Client], under[h.Client] = h, true
		case sim.RoundEnds, sim.RoundAborted:
			under[h.Client] = false
			if h.Number >= keptRounds*rounds {
				return
			}
			aborted := h.Kind == sim.RoundAborted
			if !aborted {
				index[[2]int{h.Client, h.Number}] = len(w.Rounds)
			}
			w.Rounds = append(w.Rounds, windowRound{h.Client, h.Number, began[h.Client].Lag, aborted, false,
				began[h.Client].At, h.At, 0})
		case sim.UpdateArrives:
			i, ours := index[[2]int{h.Client, h.Number}]
			if ours && w.Rounds[i].Arrives == 0 {
				w.Rounds[i].Arrives = h.At
				if h.Number < rounds {
					missing--
				}
			}
		case sim.BroadcastSent:
			sent[[2]int{h.Client, h.Number}] = h.At
		case sim.BroadcastArrives:
			at, alone := sent[[2]int{h.Client, h.Number}]
			if !alone {
				at = sent[[2]int{sim.AllClients, h.Number}]
			}
			w.Broadcasts = append(w.Broadcasts, windowBroadcast{h.Client, h.Number, at, h.At})
		case sim.ClientLeaves:
			left[h.Client], away[h.Client] = h.At, true
		case sim.ClientReturns:
			away[h.Client] = false
			w.Away = append(w.Away, windowAway{h.Client, left[h.Client], h.At})
		}
	})
	if _, err := v.RunUntil(ctx, func() bool { return missing == 0 }); err != nil {
		return nil, err
	}
	for client, at := range left {
		if away[client] {
			w.Away = append(w.Away, windowAway{client, at, v.Now()})
		}
	}
	for client, h := range began {
		if under[client] && h.Number < keptRounds*rounds {
			w.Rounds = append(w.Rounds, windowRound{client, h.Number, h.Lag, false, true, h.At, v.Now(), 0})
		}
	}
	return &w, nil
}
