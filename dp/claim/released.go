package claim

import (
	"math"

	"proactivedp/dp"
	"proactivedp/rng"
)

// Released returns a list of rounds to store with a finished training. The rounds of a later training can then be
// added to the list, to compute the ε of both trainings. ledgers has the rounds of each client of the training. The
// list costs a record at least as much as these rounds do.
//
// If shared is true, all clients hold every record. Released then returns the rounds of all clients. If shared is
// false, each record is held by only one client. Released then returns one list that costs at least as much as the
// rounds of any single client, so that the list is right whichever client holds a record. It names the source of the
// noise only if the noise of all clients comes from one run of one seed or secret.
//
// Released returns nil if the ledgers have no rounds, and also if it cannot make such a list, in these cases:
//
//   - clients that hold separate records have mechanisms that differ in more than batch sizes and numbers of records;
//   - clients that hold separate records have different sample rates, and the guarantee protects persons with several
//     records (see dp.Event.Group);
//   - more than 10,000 clients share their records and have equal rounds of random allocation or shuffled batches.
//     Such rounds must be listed for each client, except whole epochs that are each drawn anew (see [dp.Times]).
func Released(ledgers []dp.Ledger, shared bool) []dp.Event {
	names, groups := byRoot(ledgers)
	if !shared && len(names) > 1 {
		names, groups = []rng.Name{{}}, [][]dp.Ledger{ledgers}
	}
	var all []dp.Event
	for i, name := range names {
		var events []dp.Event
		if kinds := distinct(histories(groups[i])); shared {
			for _, r := range kinds {
				for _, e := range r.events {
					together, err := dp.Times([]dp.Event{e}, r.clients)
					if err != nil && e.Sampling.HasEpochs() {
						return nil // too many draws to list
					} else if err != nil {
						together = ofAll(e, r.clients)
					}
					events = append(events, together...)
				}
			}
			events = sorted(events)
		} else {
			events, _ = envelope(kinds)
		}
		for _, e := range events {
			if name.Known() {
				e.Noise = dp.Noise{Name: name, Client: dp.AllClients}
			}
			all = append(all, e)
		}
	}
	return all
}

// ofAll returns the rounds of all clients, each of which released e, as one event, or as several
// events if an int cannot hold the number of rounds.
func ofAll(e dp.Event, clients int) []dp.Event {
	var all []dp.Event
	for most := math.MaxInt / max(e.Count, 1); clients > 0; clients -= most {
		part := e
		part.Count *= min(clients, most)
		all = append(all, part)
	}
	return all
}

// byRoot groups the ledgers that have rounds by the name of their noise, in order.
func byRoot(ledgers []dp.Ledger) (names []rng.Name, groups [][]dp.Ledger) {
	at := map[rng.Name]int{}
	for _, l := range ledgers {
		for e := range l.All() {
			name := e.Noise.Name
			i, seen := at[name]
			if !seen {
				i = len(names)
				at[name] = i
				names, groups = append(names, name), append(groups, nil)
			}
			groups[i] = append(groups[i], l)
			break // the first event names the noise of all
		}
	}
	return names, groups
}
