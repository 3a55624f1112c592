package cluster

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"proactivedp/cluster/broker"
	"proactivedp/cluster/internal/journal"
	"proactivedp/cluster/internal/wire"
	"proactivedp/internal/strictjson"
	"proactivedp/rng"
)

// endedRun is a server, without a broker, that has all updates of its clients and no ledger.
func endedRun(t *testing.T) *server {
	t.Helper()
	s := newTestRun(t, smallSpec(1), drawn()).newServer()
	for client := range s.clients {
		if err := s.apply(wire.Header{Client: client, Size: 6}, make([]float32, s.about.Params)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.save(); err != nil {
		t.Fatal(err)
	}
	return s
}

// ledgerOf is what a client of the run says that it released.
func ledgerOf(t *testing.T, s *server, client int) *clientLedger {
	t.Helper()
	secret := make([]byte, rng.MinSecret)
	secret[0] = byte(client)
	root, err := rng.NewFromSecret(secret)
	if err != nil {
		t.Fatal(err)
	}
	return &clientLedger{Records: s.about.Records, Noise: root.Name(),
		Sizes: []journal.Stretch{{Size: 6, Rounds: 1}}, Lags: []int{1}}
}

// If the server is told to stop after it has received all ledgers of the run, it writes the report at
// once. It does not wait for a missing goodbye message, and the run does not count as given up.
func TestStoppedServerReportsWhatHasEnded(t *testing.T) {
	s := endedRun(t)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for client := range s.clients {
		if report, err := s.ended(stopped); report != nil || err != nil {
			t.Fatalf("before the ledger of client %d: %v, %v", client, report, err)
		}
		if err := s.takeLedger(client, ledgerOf(t, s, client)); err != nil {
			t.Fatal(err)
		}
	}
	if report, err := s.ended(t.Context()); report != nil || err != nil {
		t.Fatalf("goodbyes are waited for: %v, %v", report, err)
	}
	report, err := s.ended(stopped)
	if err != nil || report.Updates != len(s.clients) {
		t.Fatalf("%+v, %v: want the report of %d updates", report, err, len(s.clients))
	}
	if again, err := s.record.report(); err != nil || again == nil {
		t.Errorf("the report is not kept: %v, %v", again, err)
	}
}

// If the server cannot write a ledger, for example on a full disk, that is no fault of the client. The
// server does not answer, so the client asks again later, and does not end as if it had been refused.
func TestLedgerThatCannotBeKeptIsAskedForAgain(t *testing.T) {
	s, answers, mend := fullDisk(t)
	s.record.Clients[0] = clientRecord{Journal: "secret:00", Life: 1, Instance: "one"}
	q := question{m: &nats.Msg{Reply: "answers"}, hello: hello{Journal: "secret:00", Life: 1, Instance: "one", Next: 1,
		Ledger: ledgerOf(t, s, 0)}}
	for answered := range 2 {
		s.hear(q)
		if err := s.conn.Flush(); err != nil {
			t.Fatal(err)
		}
		n, _, err := answers.Pending()
		if kept := s.record.Clients[0].Ledger != nil; err != nil || n != answered || kept != (answered > 0) {
			t.Errorf("%d answers, the ledger is kept: %v (%v), want %d", n, kept, err, answered)
		}
		if answered == 0 {
			mend()
		}
	}
	m, err := answers.NextMsg(time.Minute)
	if a := new(answer); err != nil || strictjson.Decode(m.Data, a) != nil || !a.Farewell || a.Error != "" {
		t.Errorf("answered %+v, %v", m, err)
	}
}

// A client announces each new life (start of its process). If the server cannot write this life to disk,
// it does not answer, however often the client repeats it. Otherwise a server that is started again would
// accept an older copy of the client's journal.
func TestLifeThatCannotBeKeptIsNotAnswered(t *testing.T) {
	s, answers, mend := fullDisk(t)
	for said := range 3 {
		if said == 2 {
			mend()
		}
		s.hear(question{m: &nats.Msg{Reply: "answers"}, hello: hello{Journal: "secret:00", Life: 2, Instance: "two",
			Next: 1}})
		if err := s.conn.Flush(); err != nil {
			t.Fatal(err)
		}
		want := said / 2
		if n, _, err := answers.Pending(); err != nil || n != want {
			t.Errorf("%d answers to %d hellos (%v), want %d", n, said+1, err, want)
		}
	}
	again := record{dir: s.record.dir, tally: tally{Clients: make([]clientRecord, len(s.clients))}}
	if err := again.readClients(); err != nil || again.Clients[0].Life != 2 {
		t.Errorf("kept is %+v (%v)", again.Clients, err)
	}
}

// fullDisk returns the server of endedRun, where what it answers is sent, and what lets it write
// the clients' file, which it cannot before.
func fullDisk(t *testing.T) (s *server, answers *nats.Subscription, mend func()) {
	s = endedRun(t)
	b, err := broker.Engine{StoreDir: t.TempDir()}.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	if s.conn, err = b.Connect(t.Context(), broker.Peer{Inbox: "_INBOX_test"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.conn.Close)
	if answers, err = s.conn.SubscribeSync("answers"); err != nil {
		t.Fatal(err)
	}
	file := s.record.path(clientsFile)
	if err := os.Mkdir(file, 0o700); err != nil { // in its place nothing can be written
		t.Fatal(err)
	}
	return s, answers, func() {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
}
