package claim

import (
	"context"
	"fmt"
	"math"
	"slices"

	"proactivedp/dp"
)

// Privacy is a training's guarantee in both views: for a record in the data of one
// client, whose T rounds it pays for, and for a record as it was really held. If
// clients share their records, per_record composes all rounds of all of them.
type Privacy struct {
	PerClient Claim `json:"per_client"`
	PerRecord Claim `json:"per_record"`
}

// AtMost is [Claim.AtMost] for both views.
func (p Privacy) AtMost(why string) Privacy {
	return Privacy{PerClient: p.PerClient.AtMost(why), PerRecord: p.PerRecord.AtMost(why)}
}

// Least is [Claim.Least] for both views.
func (p Privacy) Least(o Privacy) Privacy {
	return Privacy{PerClient: p.PerClient.Least(o.PerClient), PerRecord: p.PerRecord.Least(o.PerRecord)}
}

// history is what each of a number of clients released.
type history struct {
	events  []dp.Event
	clients int
}

// OfClients claims, at δ in (0, 1), for a training in which each of so many
// clients, at least 1, releases the events. If the data is shared all of them
// hold each record, else each record has one holder. The error is that of [Of].
func OfClients(
	ctx context.Context, acc dp.Accountant, events []dp.Event, clients int, shared bool, delta float64,
) (Privacy, error) {
	if clients < 1 {
		return Privacy{}, fmt.Errorf("clients = %d, must be at least 1", clients)
	}
	return account(ctx, acc, []history{{events, clients}}, shared, delta)
}

// OfLedgers is [OfClients] for clients that released what their ledgers say, each
// its own. The view per client is that of the client that pays most. Two ledgers of one
// client of one run, as of two trainings with one seed, are an error that wraps
// dp.ErrSharedNoise.
func OfLedgers(
	ctx context.Context, acc dp.Accountant, ledgers []dp.Ledger, shared bool, delta float64,
) (Privacy, error) {
	if err := checkNoise(ledgers); err != nil {
		return Privacy{}, err
	}
	return account(ctx, acc, histories(ledgers), shared, delta)
}

// checkNoise reports that two of the ledgers name one noise.
func checkNoise(ledgers []dp.Ledger) error {
	lists := make([][]dp.Event, len(ledgers))
	for i := range ledgers {
		lists[i] = ledgers[i].Events()
	}
	if _, err := dp.Compose(lists...); err != nil {
		return fmt.Errorf("ledgers: %w", err)
	}
	return nil
}

// histories returns what the ledgers' clients released, without whose noise it is: that
// differs between clients of equal rounds. Who released nothing pays for nothing, and is left
// out; if nobody did, there is one history without events.
func histories(ledgers []dp.Ledger) []history {
	var kinds []history
	for i := range ledgers {
		anonymous := ledgers[i].Named(dp.Noise{})
		events := anonymous.Events()
		if len(events) == 0 {
			continue
		}
		if n := len(kinds); n > 0 && slices.Equal(kinds[n-1].events, events) {
			kinds[n-1].clients++
			continue
		}
		kinds = append(kinds, history{events, 1})
	}
	if len(kinds) == 0 {
		kinds = []history{{nil, len(ledgers)}}
	}
	return kinds
}

func account(ctx context.Context, acc dp.Accountant, kinds []history, shared bool, delta float64) (Privacy, error) {
	if len(kinds) > 1 {
		kinds = distinct(kinds)
	}
	worst, err := worstOf(ctx, acc, kinds, delta)
	if err != nil || !shared {
		return Privacy{PerClient: worst, PerRecord: worst}, err
	}
	// Composition does not depend on the order of the rounds.
	var all []dp.Event
	for _, r := range kinds {
		for _, e := range r.events {
			if e.Sampling == dp.Shuffle && r.clients > 1 { // each begins its epochs for itself
				return Privacy{}, fmt.Errorf("shuffled batches of %d clients that share records, must be of one: %w",
					r.clients, dp.ErrNotCovered)
			}
			if e.Count > math.MaxInt/r.clients {
				return Privacy{}, fmt.Errorf("%d rounds of each of %d clients, must be at most 2^63-1 together",
					e.Count, r.clients)
			}
			e.Count *= r.clients
			all = append(all, e)
		}
	}
	together, err := Of(ctx, acc, all, delta)
	return Privacy{PerClient: worst, PerRecord: together}, err
}

// maxAccounted is how many different clients are accounted one by one.
const maxAccounted = 16

// worstOf returns the claim of the client that pays most, or of a release that
// costs as much as any client's.
func worstOf(ctx context.Context, acc dp.Accountant, kinds []history, delta float64) (Claim, error) {
	if len(kinds) > maxAccounted {
		if events, ok := envelope(kinds); ok {
			c, err := Of(ctx, acc, events, delta)
			return c.AtMost(fmt.Sprintf(
				"of as many rounds as a client's, the j-th largest sample of which is the largest j-th of %d "+
					"different clients",
				len(kinds))), err
		}
	}
	var worst Claim
	for i, r := range kinds {
		c, err := Of(ctx, acc, r.events, delta)
		if err != nil {
			return Claim{}, err
		}
		if i == 0 || c.worseThan(worst) {
			worst = c
		}
	}
	return worst, nil
}
