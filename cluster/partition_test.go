package cluster

import (
	"context"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"proactivedp/cluster/broker"
)

// wall is a network between a client and the broker that can be cut: then bytes are taken and
// never arrive, and nobody is told.
type wall struct {
	l   net.Listener
	cut atomic.Bool
	all sync.WaitGroup
}

func newWall(t *testing.T, to string) *wall {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wall{l: l}
	w.all.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			w.all.Go(func() { w.carry(in, out) })
			w.all.Go(func() { w.carry(out, in) })
		}
	})
	return w
}

// carry carries bytes from one side to the other.
func (w *wall) carry(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	buffer := make([]byte, 1<<15)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if w.cut.Load() {
			continue
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// A client that is cut off from the network for longer than every timeout comes back by itself. Meanwhile
// the other clients go on as far as the permissible delay Υ allows, which is without a limit in this test.
func TestAPartitionedClientReturns(t *testing.T) {
	if os.Getenv(killsEnv) == "" {
		t.Skip("takes long: set " + killsEnv)
	}
	s := smallSpec(2000)
	s.Delay = "unlimited"
	r := newTestRun(t, s, drawn())
	r.listen = "127.0.0.1:0"
	var once sync.Once
	var w *wall
	r.join = func(o *JoinOptions) {
		dial := o.connect
		o.connect = func(ctx context.Context, p broker.Peer) (*nats.Conn, error) {
			if o.Client != 2 {
				return dial(ctx, p)
			}
			<-r.ready
			once.Do(func() { w = newWall(t, r.broker.URL()[len("nats://"):]) })
			return broker.Dial(ctx, "nats://"+w.l.Addr().String(), p)
		}
		if o.Client == 2 {
			o.Watch = func(round, _ int) {
				if round == 50 {
					w.cut.Store(true)
					time.AfterFunc(2*patience+5*time.Second, func() { w.cut.Store(false) })
				}
			}
		}
	}
	report, _ := r.run(t.Context())
	r.checkFold(report)
	w.l.Close()
	w.all.Wait()
	if report.Updates != 3*2000 {
		t.Errorf("%d updates", report.Updates)
	}
}
