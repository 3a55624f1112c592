//go:build !nobroker

package cluster

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	nats "github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"

	"proactivedp/cluster/broker"
	"proactivedp/cluster/internal/wire"
	"proactivedp/internal/files"
)

// startLimited starts a broker with JetStream that takes messages of at most this many bytes.
func startLimited(t *testing.T, port int, most int32) *nats.Server {
	t.Helper()
	b, err := nats.NewServer(&nats.Options{Host: "127.0.0.1", Port: port, NoLog: true, NoSigs: true,
		JetStream: true, StoreDir: t.TempDir(), MaxPayload: most})
	if err != nil {
		t.Fatal(err)
	}
	b.Start()
	t.Cleanup(b.WaitForShutdown)
	t.Cleanup(b.Shutdown)
	if !b.ReadyForConnections(enough) {
		t.Fatal("the broker does not start")
	}
	return b
}

// at lets server and clients use a broker that runs elsewhere.
func (r *testRun) at(b *nats.Server) {
	r.serve = func(o *ServeOptions) { o.Engine = broker.Engine{URL: b.ClientURL()} }
	r.join = func(o *JoinOptions) { o.URL, o.connect = b.ClientURL(), nil }
}

// A training gives the same result at a broker that only takes short messages. The vectors fit into one
// message that is nearly as long as the broker allows, or need a few messages, or many.
func TestATrainingAtABrokerOfShortMessages(t *testing.T) {
	t.Parallel()
	const most = 40_000
	b := startLimited(t, nats.RANDOM_PORT, most)
	for _, features := range []int{9_000, 20_000, 60_000} {
		r := newTestRun(t, smallSpec(3), wide(features))
		r.chunk = wire.ChunkFor(most)
		r.at(b)
		report, _ := r.run(t.Context())
		r.checkFold(report)
		if len(report.Refused) != 0 || report.Updates != 3*3 {
			t.Errorf("%d features: %d updates, refused %v", features, report.Updates, report.Refused)
		}
	}
}

// A broker whose limit is too low for the messages of the run is refused, with an error that says so: when
// a server starts, when it continues, and when a client joins.
func TestABrokerOfShorterMessagesIsRefused(t *testing.T) {
	small := startLimited(t, nats.RANDOM_PORT, 16_000)
	r := newTestRun(t, smallSpec(3), drawn())
	r.at(small)
	refused := func(what string, err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "max_payload") {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
	_, err := Serve(t.Context(), r.serveOptions())
	refused("a server", err, "takes messages of at most 16000 bytes, must be at least 16448")
	empty := func(what string) {
		t.Helper()
		if there, err := os.ReadDir(r.serverDir()); err != nil || len(there) > 0 {
			t.Errorf("%s: its folder has %v, %v", what, there, err)
		}
	}
	empty("a server")
	taken := r.serveOptions()
	taken.Engine = broker.Engine{Listen: small.Addr().String()}
	if _, err := Serve(t.Context(), taken); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a server that listens where the broker does: %v", err)
	}
	empty("a server that listens where the broker does")
	about, err := announce("0123456789abcdef", prepare(t, r.spec, r.data), wire.MaxChunk)
	if err != nil {
		t.Fatal(err)
	}
	if err := files.Write(filepath.Join(r.serverDir(), runFile), files.JSON(about)); err != nil {
		t.Fatal(err)
	}
	want := "takes messages of at most 16000 bytes, must be at least 524352"
	_, err = Serve(t.Context(), r.serveOptions())
	refused("a server that continues", err, want)
	conn, err := broker.Dial(t.Context(), small.ClientURL(), peerOf(broker.Client, 0, nil, nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	text, err := about.bytes()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Subscribe(findSubject, func(m *natsgo.Msg) { _ = m.Respond(text) }); err != nil {
		t.Fatal(err)
	}
	_, err = Join(t.Context(), r.joinOptions(0))
	refused("a client", err, want)
}

// During a run, the broker is replaced with one that only takes shorter messages. Server and clients end
// with this reason.
func TestABrokerThatChangesEndsTheRun(t *testing.T) {
	t.Parallel()
	b := startLimited(t, nats.RANDOM_PORT, 1<<20)
	r := newTestRun(t, smallSpec(5000), drawn())
	r.at(b)
	ended := make(chan error, 1)
	o := r.serveOptions()
	go func() {
		_, err := Serve(t.Context(), o)
		ended <- err
	}()
	<-r.ready
	one := r.joinOptions(0)
	joined := make(chan error, 1)
	begun := make(chan struct{}, 5000)
	one.Watch = func(int, int) { begun <- struct{}{} }
	go func() {
		_, err := Join(t.Context(), one)
		joined <- err
	}()
	<-begun
	at := b.Addr().(*net.TCPAddr).Port
	b.Shutdown()
	b.WaitForShutdown()
	startLimited(t, at, 20_000)
	for what, ended := range map[string]chan error{"the server": ended, "a client": joined} {
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "messages of at most 20000 bytes") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
