package sim

import "testing"

// Each mailbox holds a broadcast at most once, and a broadcast has one reader for each client. If a client
// has not read it when the next one comes, the next one replaces it. A broadcast that all clients have
// read or skipped can be used again.
func TestBroadcastIsOnceInEveryMailbox(t *testing.T) {
	cfg := handDriven(3, 2, AtMost(1))
	h := &hogwild{params: cfg.Model.NumParams(), returned: make(chan *Vector, 10)}
	server, clients := cfg.newMachines(h.put)
	h.server = server
	for _, c := range clients {
		h.nodes = append(h.nodes, &node{client: c, mailbox: make(chan broadcast, 1)})
	}
	h.broadcast()
	h.put((<-h.nodes[0].mailbox).v) // one client reads it at once
	if len(h.returned) != 0 {
		t.Fatal("a broadcast that two clients have not read is used again")
	}
	h.broadcast()
	if len(h.returned) != 1 {
		t.Errorf("%d broadcasts to be used again, want the first one", len(h.returned))
	}
	for i, n := range h.nodes {
		if len(n.mailbox) != 1 {
			t.Fatalf("client %d has %d broadcasts", i, len(n.mailbox))
		}
		if v := (<-n.mailbox).v; v.readers != int32(len(h.nodes)) {
			t.Errorf("client %d: %d readers, want %d", i, v.readers, len(h.nodes))
		}
		if len(n.mailbox) != 0 {
			t.Errorf("client %d has the broadcast twice", i)
		}
	}
}
