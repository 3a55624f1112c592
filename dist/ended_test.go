package dist

import (
	"context"
	"testing"

	"proactivedp/dist/internal/journal"
	"proactivedp/dist/internal/wire"
	"proactivedp/rng"
)

// A run whose ledgers are all in is reported at once when the server is to stop, and not given
// up for a goodbye that has not come.
func TestStoppedServerReportsWhatHasEnded(t *testing.T) {
	p := prepare(t, smallSpec(1), drawn())
	o := ServeOptions{Prepared: p, Dir: t.TempDir()}
	s, err := newServer(o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.record.close()
	for client := range s.clients {
		if err := s.apply(wire.Header{Client: client, Size: 6}, make([]float32, s.about.Params)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.save(); err != nil {
		t.Fatal(err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for client := range s.clients {
		if report, err := s.ended(stopped); report != nil || err != nil {
			t.Fatalf("before the ledger of client %d: %v, %v", client, report, err)
		}
		secret := make([]byte, rng.MinSecret)
		secret[0] = byte(client)
		root, err := rng.NewFromSecret(secret)
		if err != nil {
			t.Fatal(err)
		}
		l := &clientLedger{Records: s.about.Records, Noise: root.Name(),
			Sizes: []journal.Stretch{{Size: 6, Rounds: 1}}, Lags: []int{1}}
		if err := s.takeLedger(client, l); err != nil {
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
