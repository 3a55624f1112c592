package cluster

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"proactivedp/cluster/internal/wire"
	"proactivedp/dp"
	"proactivedp/internal/testkit"
)

// rollbacksEnv says how many rollbacks TestARollbackReleasesWithFreshNoise makes, each after four
// kills.
const rollbacksEnv = "PROACTIVEDP_DIST_ROLLBACKS"

// A virtual machine that is restored from a snapshot takes the server, the broker and all clients
// back, so that nobody remembers the rounds that were released since. The clients compute these
// rounds again, at other models. The test reads all updates at the broker, and compares every two
// different updates of one client and round: if their noise were the same, their difference would be
// one of gradients alone.
//
// The difference of two updates with independent noise has the norm of N(μ, 2σ²C²·I) in d
// dimensions, whatever μ is: it is below σC√d with a probability of at most
// P(χ²_d ≤ d/2) ≤ (√e/2)^(d/2) = e^(−0.0966·d). For d = 600 that is 7e-26, and 10^6 pairs give a
// false alarm with a probability below 1e-19.
func TestARollbackReleasesWithFreshNoise(t *testing.T) {
	rollbacks, set := testkit.Times(t, rollbacksEnv, 2)
	if !set && testing.Short() {
		t.Skip("starts processes")
	}
	t.Parallel()
	// On a busy machine, a training may end before it is stopped. Then no round is released again.
	for rounds := 1500; rounds <= 24000; rounds *= 4 {
		if rolledBack(t, rounds, rollbacks) > 0 {
			return
		}
	}
	t.Error("no round was released again: the test shows nothing")
}

// rolledBack trains with so many rollbacks, checks all updates, and returns how many are of rounds that were released
// before.
func rolledBack(t *testing.T, rounds, rollbacks int) (anew int) {
	f := newFleet(t, smallSpec(rounds), 600, enough)
	s := listenIn(f)
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)) // times are no function of a seed anyway
	snapshot := filepath.Join(t.TempDir(), "snapshot")
	kills := 0
	for phase := range rollbacks + 1 {
		f.restart()
		f.start(nil)
		if phase == 0 {
			f.until(300)
		} else {
			kills += f.killSome(random, 4)
			f.until(750)
		}
		f.stop()
		f.all.Wait()
		if phase == 0 {
			if err := os.CopyFS(snapshot, os.DirFS(f.dir)); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.RemoveAll(f.dir); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(f.dir, os.DirFS(snapshot)); err != nil {
			t.Fatal(err)
		}
	}
	f.restart()
	f.start(nil)
	f.finish()
	s.stop()
	s.check(&prepare(t, f.spec, f.data).Config.Mechanism)
	t.Logf("%d kills, %d rollbacks: %d updates, %d of them of a round that was released before; the least distance "+
		"was %.4g of σC√d", kills, rollbacks, s.heard, s.anew, s.closest)
	return s.anew
}

// restart lets processes run again, after all were stopped.
func (f *fleet) restart() {
	f.ctx, f.stop = context.WithTimeout(f.t.(*testing.T).Context(), enough)
	f.t.Cleanup(f.stop)
}

// killSome kills so many processes, one after the other at random times, and returns how many it
// has found alive.
func (f *fleet) killSome(random *rand.Rand, n int) (killed int) {
	names := []string{"server", "client 0", "client 1", "client 2"}
	for range n {
		time.Sleep(time.Duration(100+random.IntN(200)) * time.Millisecond)
		if f.kill(names[random.IntN(len(names))]) {
			killed++
		}
	}
	return killed
}

// sniffer keeps every update that anybody sends to a broker.
type sniffer struct {
	t       testing.TB
	conn    *nats.Conn
	mu      sync.Mutex
	seen    map[[2]int][][]float32 // by client and round, each vector once
	heard   int
	anew    int     // vectors of rounds of which another one was heard before
	closest float64 // the least distance of two vectors of one round, in units of σC√d
}

// listenIn listens at the fleet's broker, again and again when it is away.
func listenIn(f *fleet) *sniffer {
	s := &sniffer{t: f.t, seen: map[[2]int][][]float32{}, closest: math.Inf(1)}
	var err error
	s.conn, err = nats.Connect("nats://"+f.url, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1),
		nats.ReconnectWait(time.Millisecond), nats.ReconnectJitter(0, 0),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})) // the broker is killed now and then
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(s.stop)
	for _, kind := range []string{upKind, earlyKind} {
		if _, err := s.conn.Subscribe(subjectRoot+".*."+kind+".>", func(m *nats.Msg) { s.take(m.Data) }); err != nil {
			f.t.Fatal(err)
		}
	}
	return s
}

func (s *sniffer) stop() { s.conn.Close() }

// take keeps the updates of a message.
func (s *sniffer) take(data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(data) > 0 {
		h, floats, rest, err := wire.MaxChunk.Next(data)
		if err != nil || h.Kind != wire.Update {
			s.t.Errorf("%+v on the subject of an update: %v", h, err)
			return
		}
		u := make([]float32, h.Params)
		wire.Floats(u, floats)
		of := [2]int{h.Client, h.Number}
		s.heard++
		if !slices.ContainsFunc(s.seen[of], func(v []float32) bool { return slices.Equal(u, v) }) {
			if len(s.seen[of]) > 0 {
				s.anew++
			}
			s.seen[of] = append(s.seen[of], u)
		}
		data = rest
	}
}

// check compares every two vectors of a client's round.
func (s *sniffer) check(m *dp.Mechanism) {
	s.mu.Lock()
	defer s.mu.Unlock()
	near := 0
	for of, all := range s.seen {
		for i, u := range all {
			for _, v := range all[:i] {
				sum := 0.0
				for j := range u {
					d := float64(u[j]) - float64(v[j])
					sum += d * d
				}
				least := m.NoiseMultiplier * m.ClipNorm * math.Sqrt(float64(len(u)))
				distance := math.Sqrt(sum) / least
				s.closest = min(s.closest, distance)
				if distance < 1 {
					if near++; near <= 3 {
						s.t.Errorf("client %d, round %d: two updates differ by %.3g, with independent noise it is "+
							"about %.3g", of[0], of[1], math.Sqrt(sum), math.Sqrt2*least)
					}
				}
			}
		}
	}
	if near > 3 {
		s.t.Errorf("%d pairs like these", near)
	}
}
