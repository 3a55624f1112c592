package sim

import (
	"errors"
	"fmt"
	"slices"

	"proactivedp/rng"
)

// Roots are where the randomness of a run comes from. Each draw is a function of the root and of a
// place (purpose, client, round), whatever the runner.
//
// So a second training with the same client's root has the same noise in the same rounds, whatever
// σ, data and model. It is another release and needs ForRun. A run that is resumed, or sends a
// message again, is the same release.
type Roots struct {
	// Run draws the default global model v̂_0 and, on the virtual clock, durations, lost messages and
	// absences of clients. It is no secret.
	Run *rng.Root
	// Clients draw, by client, the samples, the noise and the dropout of its rounds. A client's releases
	// are private against everybody who does not know its root. So if parties do not trust each
	// other, each client makes its own root by rng.NewFromSecret or rng.NewFromOS, and has no other.
	Clients []*rng.Root
}

// SharedRoots draws everything from one root, which only a simulation may do: with rng.New, one number
// repeats the run. Everybody who has the root, or runs the server of such a simulation, knows the
// noise of every client. It panics unless clients is in [0, MaxClients].
func SharedRoots(root *rng.Root, clients int) Roots {
	if clients < 0 || clients > MaxClients {
		panic(fmt.Sprintf("sim: roots of %d clients, must be in [0, %d]", clients, MaxClients))
	}
	return Roots{Run: root, Clients: slices.Repeat([]*rng.Root{root}, clients)}
}

// ForRun returns the roots of release number n. Its clients draw other samples, noise and dropout, but
// Run stays the same, so that releases can be compared. Release 0 of roots as package rng returns
// them is r itself. It panics for a client's root without a key.
func (r Roots) ForRun(n uint64) Roots {
	clients := make([]*rng.Root, len(r.Clients))
	for i, root := range r.Clients {
		if i > 0 && root == r.Clients[i-1] {
			clients[i] = clients[i-1]
			continue
		}
		clients[i] = root.ForRun(n)
	}
	return Roots{Run: r.Run, Clients: clients}
}

// Names returns the names of the clients' roots, each once, in order of clients.
func (r Roots) Names() []rng.Name {
	var names []rng.Name
	seen := map[rng.Name]bool{}
	for _, root := range r.Clients {
		if name := root.Name(); !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

// checkRun reports an error if nothing can be drawn for the run.
func (r *Roots) checkRun() error {
	if err := r.Run.Check(); err != nil {
		return fmt.Errorf("roots: of the run: %w", err)
	}
	return nil
}

// checkClient reports an error if nothing can be drawn for a client.
func (r *Roots) checkClient(client int) error {
	if client >= len(r.Clients) {
		return fmt.Errorf("roots: of client %d: there are roots of %d clients", client, len(r.Clients))
	}
	if err := r.Clients[client].Check(); err != nil {
		return fmt.Errorf("roots: of client %d: %w", client, err)
	}
	return nil
}

// check reports missing roots: that of the run, and the first of the clients' ones.
func (r *Roots) check(clients int) error {
	if len(r.Clients) != clients {
		return errors.Join(r.checkRun(),
			fmt.Errorf("roots: of %d clients, must be one for each of %d", len(r.Clients), clients))
	}
	for i := range r.Clients {
		if err := r.checkClient(i); err != nil {
			return errors.Join(r.checkRun(), err)
		}
	}
	return r.checkRun()
}
