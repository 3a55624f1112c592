package cluster

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"proactivedp/cluster/broker"
	"proactivedp/cluster/internal/journal"
	"proactivedp/cluster/internal/wire"
	"proactivedp/dp/claim"
	"proactivedp/train"
)

// After a whole training, each update was applied once, every ledger has T rounds, and the model is what
// the updates that were sent add up to.
func TestATrainingInOneProcess(t *testing.T) {
	d := drawn()
	d.Note = "NOT covered by (ε, δ): the split"
	r := newTestRun(t, smallSpec(40), d)
	report, joined := r.run(t.Context())
	r.checkFold(report)
	if report.Updates != 120 || report.Rounds != 40 || report.MaxLag > 1 || len(report.Refused) > 0 {
		t.Errorf("%+v", report)
	}
	for c, j := range joined {
		if j.Rounds != 40 || j.Client != c || j.MaxLag > 1 {
			t.Errorf("client %d: %+v", c, j)
		}
		// Three clients hold each record: a client states of it what the server does.
		checkClaim(t, "per record", j.Privacy.Certified.PerRecord, report.Privacy.Certified.PerRecord, 120)
		notes := strings.Join(j.Notes, "; ")
		if len(j.Notes) != 4 || !strings.Contains(notes, "older copy, the client may release up to 40 rounds again") ||
			!strings.Contains(notes, "(ε, δ): the split") || !strings.Contains(notes,
			"held by all 3 clients") || !strings.Contains(notes, "run as fast as they can") {
			t.Errorf("client %d: notes %q", c, j.Notes)
		}
		checkClaim(t, "per client", j.Privacy.Certified.PerClient, report.Privacy.Certified.PerClient, 40)
	}
	if names := report.Privacy.Noise; len(names) != 3 || report.Privacy.Simulation || names[0] == names[1] {
		t.Errorf("noise of %v", names)
	}
}

// checkClaim holds a client's claim against the server's, which is of so many rounds.
func checkClaim(t *testing.T, of string, client, server claim.Claim, rounds int) {
	t.Helper()
	if client.Rounds != rounds || server.Rounds != rounds || *client.EpsilonUpper != *server.EpsilonUpper {
		t.Errorf("%s: a client states ε ≤ %v of %d rounds, the server ε ≤ %v of %d, want %d rounds", of,
			*client.EpsilonUpper, client.Rounds, *server.EpsilonUpper, server.Rounds, rounds)
	}
}

// The releases of one client are never sent as another's. Another client that uses the folder is refused
// before it contacts a broker, and nothing in the folder changes.
func TestAFolderIsOfOneClient(t *testing.T) {
	r := newTestRun(t, smallSpec(4), drawn())
	about, err := announce("0123456789abcdef", prepare(t, r.spec, r.data), wire.MaxChunk)
	if err != nil {
		t.Fatal(err)
	}
	text, err := about.bytes()
	if err != nil {
		t.Fatal(err)
	}
	dir := r.clientDir(1)
	j, err := journal.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err = j.Pin(text, 1, about.Params); err == nil {
		_, err = j.Append(journal.Entry{U: make([]float32, about.Params)})
	}
	if err := errors.Join(err, j.Close()); err != nil {
		t.Fatal(err)
	}
	errAsked := errors.New("the broker was asked")
	for _, run := range []string{"", about.Run, "fedcba9876543210"} {
		for client, want := range []string{"client = 0, must be 1: the folder " + dir, errAsked.Error(),
			"client = 2, must be 1: the folder " + dir} {
			o := JoinOptions{Run: run, Client: client, Dir: dir,
				Prepare: func(*Announcement) (*train.Prepared, error) { return nil, errAsked }}
			o.connect = func(context.Context, broker.Peer) (*nats.Conn, error) { return nil, errAsked }
			if _, err := Join(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("client %d of run %q: %v, want %q", client, run, err, want)
			}
		}
	}
	if j, err = journal.Open(dir, nil); err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if got, owner := j.Pinned(); owner != 1 || !slices.Equal(got, text) || j.Next() != 1 {
		t.Errorf("the journal is of client %d, at round %d", owner, j.Next())
	}
}
