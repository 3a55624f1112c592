package sim

import (
	"errors"
	"fmt"
	"slices"

	"proactivedp/rng"
)

// Roots are the sources (seeds or secrets) of a run's random numbers. Each draw depends only on the root and on what
// the draw is for (purpose, client, round), and not on whether Virtual or Hogwild runs the training.
//
// So a second training with the same client root has the same noise in the same rounds, even with another σ, data set
// or model. Then the noise could be subtracted, and would protect neither training. Use [Roots.ForRun] for the second. A
// run that is resumed, or that sends a message again, is still the same release.
type Roots struct {
	// Run is the root (seed) from which the default initial model is drawn and, on the virtual clock, durations,
	// lost messages and absences of clients. It is not secret.
	Run *rng.Root
	// Clients has one root for each client, from which the client's samples, noise and dropout are drawn. A client's
	// releases are private against everybody who does not know its root. So if the parties do not trust each other,
	// each client makes its own root by rng.NewFromSecret or rng.NewFromOS and does not know the others'.
	Clients []*rng.Root
}

// SharedRoots returns Roots that use one root (a seed or a secret) for the run and for all clients. Use it only for
// simulations: everybody who has the root, or runs the server of such a simulation, knows the noise of every client.
// With a root from rng.New, its number is enough to repeat the run. SharedRoots panics unless clients is in [0,
// MaxClients].
func SharedRoots(root *rng.Root, clients int) Roots {
	if clients < 0 || clients > MaxClients {
		panic(fmt.Sprintf("sim: roots of %d clients, must be in [0, %d]", clients, MaxClients))
	}
	return Roots{Run: root, Clients: slices.Repeat([]*rng.Root{root}, clients)}
}

// ForRun returns the roots (seeds or secrets) for training number n. Use a new number for each training on the same
// records, so that they do not share noise. Trainings with different n draw different batches, noise and dropout. The
// field Run stays the same, so the trainings have the same initial model, durations and lost messages and can be
// compared. ForRun(0) returns the roots that rng.New, rng.NewFromSecret or rng.NewFromOS made, also if r itself is for
// another n. ForRun panics if a client's root is the zero rng.Root.
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

// Names returns the public names of the clients' roots (seeds or secrets), in the order of the clients, for a privacy
// statement. A name identifies a root without revealing a secret. If several clients share a root, its name is listed
// once.
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

// checkRun returns an error if the root of the run cannot draw.
func (r *Roots) checkRun() error {
	if err := r.Run.Check(); err != nil {
		return fmt.Errorf("root of the run: %w", err)
	}
	return nil
}

// checkClient returns an error if the root of a client cannot draw.
func (r *Roots) checkClient(client int) error {
	if client >= len(r.Clients) {
		return fmt.Errorf("root of client %d is missing: there are roots for %d clients", client, len(r.Clients))
	}
	if err := r.Clients[client].Check(); err != nil {
		return fmt.Errorf("root of client %d: %w", client, err)
	}
	return nil
}

// check reports a missing root of the run and the first missing root of a client.
func (r *Roots) check(clients int) error {
	if len(r.Clients) != clients {
		return errors.Join(r.checkRun(),
			fmt.Errorf("number of client roots = %d, must be %d, one for each client", len(r.Clients), clients))
	}
	for i := range r.Clients {
		if err := r.checkClient(i); err != nil {
			return errors.Join(r.checkRun(), err)
		}
	}
	return r.checkRun()
}
