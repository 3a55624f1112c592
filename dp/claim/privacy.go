package claim

import (
	"context"
	"fmt"
	"slices"

	"proactivedp/dp"
)

// Privacy is the guarantee of a training with several clients. PerClient counts only the rounds of one client that
// holds the record. PerRecord counts all rounds that use the record: if clients share their records, the rounds of
// all clients. So PerRecord is the cost of a record, and the two differ only if clients share records.
type Privacy struct {
	PerClient Claim `json:"per_client"`
	PerRecord Claim `json:"per_record"`
}

// AtMost returns the guarantee of a second training that costs at most as much as that of p. It applies
// [Claim.AtMost] to both claims, PerClient and PerRecord; why should describe the training of p.
func (p Privacy) AtMost(why string) Privacy {
	return Privacy{PerClient: p.PerClient.AtMost(why), PerRecord: p.PerRecord.AtMost(why)}
}

// Plus returns the guarantee of a training together with a second release that is (epsilon, 0)-differentially
// private. It applies [Claim.Plus] to both claims, PerClient and PerRecord; why should describe the second release.
func (p Privacy) Plus(epsilon float64, why string) Privacy {
	return Privacy{PerClient: p.PerClient.Plus(epsilon, why), PerRecord: p.PerRecord.Plus(epsilon, why)}
}

// Least returns the better of two guarantees of the same training. It applies [Claim.Least] to both claims, PerClient
// and PerRecord.
func (p Privacy) Least(o Privacy) Privacy {
	return Privacy{PerClient: p.PerClient.Least(o.PerClient), PerRecord: p.PerRecord.Least(o.PerRecord)}
}

// history lists the rounds that each of several clients released.
type history struct {
	events  []dp.Event
	clients int
}

// OfClients returns the guarantee of a planned training at δ in (0, 1). Each of the given number of clients, at least
// 1, will release the events. shared says whether all clients hold every record; otherwise each record is held by one
// client only. For a finished training use [OfLedgers]. The error is that of [Of].
func OfClients(
	ctx context.Context, acc dp.Accountant, events []dp.Event, clients int, shared bool, delta float64,
) (Privacy, error) {
	if clients < 1 {
		return Privacy{}, fmt.Errorf("clients = %d, must be at least 1", clients)
	}
	return account(ctx, acc, []history{{events, clients}}, shared, delta)
}

// OfLedgers returns the guarantee of a finished training at δ in (0, 1). Each ledger lists the rounds that one client
// released. shared says whether all clients hold every record; otherwise each record is held by one client only.
// PerClient is the claim of the client with the largest ε. The error wraps dp.ErrSharedNoise if two ledgers name the
// same client of the same run, for example because two trainings used the same seed. Otherwise it is that of [Of].
func OfLedgers(
	ctx context.Context, acc dp.Accountant, ledgers []dp.Ledger, shared bool, delta float64,
) (Privacy, error) {
	if err := checkNoise(ledgers); err != nil {
		return Privacy{}, err
	}
	return account(ctx, acc, histories(ledgers), shared, delta)
}

func checkNoise(ledgers []dp.Ledger) error {
	if err := dp.CheckNoise(ledgers); err != nil {
		return fmt.Errorf("ledgers: %w", err)
	}
	return nil
}

// histories returns the rounds that the ledgers' clients released, without the names of their
// noise, because names differ between clients with equal rounds. Clients that released nothing pay
// nothing and are left out. If all are left out, there is one history without events.
func histories(ledgers []dp.Ledger) []history {
	var kinds []history
	var events []dp.Event
	for i := range ledgers {
		events = events[:0]
		for e := range ledgers[i].All() {
			e.Noise = dp.Noise{}
			events = append(events, e)
		}
		if len(events) == 0 {
			continue
		}
		if n := len(kinds); n > 0 && slices.Equal(kinds[n-1].events, events) {
			kinds[n-1].clients++
			continue
		}
		kinds = append(kinds, history{slices.Clone(events), 1})
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
		together, err := dp.Times(r.events, r.clients)
		if err != nil {
			return Privacy{}, err
		}
		all = append(all, together...)
	}
	together, err := Of(ctx, acc, all, delta)
	return Privacy{PerClient: worst, PerRecord: together}, err
}

// maxAccounted is the largest number of different clients that are accounted for one by one.
const maxAccounted = 16

// worstOf returns the claim of the client that pays most. If there are many different clients, it
// returns the claim for an envelope, which costs at least as much as any of them.
func worstOf(ctx context.Context, acc dp.Accountant, kinds []history, delta float64) (Claim, error) {
	if len(kinds) > maxAccounted {
		if events, ok := envelope(kinds); ok {
			c, err := Of(ctx, acc, events, delta)
			return c.AtMost(fmt.Sprintf(
				"for rounds that cost at least as much as those of any of %d "+
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
