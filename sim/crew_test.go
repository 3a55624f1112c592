package sim

import (
	"slices"
	"testing"
)

// Of the rounds that wait for a worker, the one that ends first on the virtual clock is computed first.
func TestTheCrewComputesFirstWhatEndsFirst(t *testing.T) {
	var order []int // written by one worker
	begun, goOn := make(chan bool), make(chan bool)
	cfg := small(t, withClients(6), func(c *Config) {
		c.Substitute = func(c *Client, u []float32, ws *Workspace) error {
			if order = append(order, c.ID()); len(order) == 1 {
				close(begun)
				<-goOn
			}
			return nil
		}
	})
	v := newVirtual(t, cfg, Perf{})
	crew := newCrew(1, cfg.Model, len(v.clients))
	defer crew.wait()
	start := func(client int, ends Time) { crew.start(v.clients[client], v.vectors.get(1), ends) }
	start(0, 1000)
	<-begun // the others come while the worker has a round
	for client, ends := range []Time{1: 40, 2: 10, 3: 30, 4: 10, 5: 20} {
		if client > 0 {
			start(client, ends)
		}
	}
	close(goOn)
	for _, c := range v.clients {
		if _, err := crew.join(c); err != nil {
			t.Fatal(err)
		}
	}
	if want := []int{0, 2, 4, 5, 3, 1}; !slices.Equal(order, want) {
		t.Errorf("rounds of the clients %v were computed in this order, want %v", order, want)
	}
}
