package cluster

import (
	"errors"
	"math"
	"os"
	"slices"
	"testing"

	"proactivedp/cluster/internal/wire"
	"proactivedp/models"
	"proactivedp/sim"
)

// allRefusals are all reasons why a message is refused.
var allRefusals = []Refusal{NoUpdate, OtherRun, OtherSubject, OutOfRange, OtherVector, NotFinite, TooLong, FromExpelled}

// The server applies or refuses any message of a client, with a reason, from the stream or directly. The
// model stays finite, no update is counted twice, no other client is affected, and the next update of the
// honest client is still accepted.
func FuzzTake(f *testing.F) {
	r := newTestRun(f, smallSpec(8), drawn())
	if err := os.MkdirAll(r.serverDir(), 0o700); err != nil {
		f.Fatal(err)
	}
	s, err := newServer(f.Context(), r.serveOptions())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(s.record.close)
	u := make([]float32, s.about.Params)
	message := func(h wire.Header, right bool) []byte {
		if h.Kind, h.Run, h.Digest = wire.Update, s.run, wire.Digest(u); !right {
			h.Digest++
		}
		return wire.MaxChunk.Append(nil, h, u)
	}
	honest := func(round int) []byte { return message(wire.Header{Client: 1, Number: round, Size: 6}, true) }
	f.Add(true, 0, 1, 0, 0, 6, uint32(0), true, []byte(nil))
	f.Add(false, 2, 1, 2, 1, 6, uint32(0), true, slices.Concat(honest(3), honest(4)))
	f.Add(true, 0, 1, 0, 0, 6, uint32(0), true, honest(2))
	f.Add(true, 7, 1, 7, 0, 6, uint32(0), true, honest(8))
	f.Add(true, 0, 1, 0, 0, 6, uint32(0), true, []byte("more"))
	f.Add(false, 0, 2, 0, 0, 6, uint32(0), true, []byte(nil))
	f.Add(true, 3, 1, 3, 4, 6, uint32(0), true, []byte(nil))
	f.Add(true, 3, 1, 3, 0, 7, uint32(0), true, []byte(nil))
	f.Add(true, 1, 1, 1, 0, 6, uint32(0), false, []byte(nil))
	f.Add(true, 1, 1, 1, 0, 6, math.Float32bits(float32(math.Inf(1))), true, honest(2))
	f.Add(false, 1, 1, 1, 0, 6, math.Float32bits(1e30), true, honest(2))
	f.Fuzz(func(t *testing.T, early bool, round, client, number, newest, size int, first uint32, right bool,
		rest []byte) {
		if s.machine, err = sim.NewServer(s.Prepared.Config); err != nil {
			t.Fatal(err)
		}
		clear(s.assemblies)
		s.record.Received = 0
		kind := upKind
		if early {
			kind = earlyKind
		}
		u[0] = math.Float32frombits(first)
		data := message(wire.Header{Client: client, Number: number, Newest: newest, Size: size}, right)
		data, u[0] = append(data, rest...), 0
		subject := s.names.part(kind, 1, round, 0)
		h, refusal, err := s.take(kind, subject, nil, data, 1)
		if refusal != "" && !slices.Contains(allRefusals, refusal) || refusal == "" && err != nil {
			t.Fatalf("%q: refused as %q: %v", subject, refusal, err)
		}
		if refusal == "" && (h.Client != 1 || h.Number < round || !s.machine.Has(1, round)) {
			t.Errorf("%+v is taken, and not in", h)
		}
		if got, want := s.record.Received, int64(s.machine.Updates())*wire.MaxChunk.Bytes(len(u)); got != want {
			t.Errorf("%d bytes are counted, want %d", got, want)
		}
		if err := models.CheckFinite(s.machine.Model()); err != nil {
			t.Error(err)
		}
		if s.machine.Next(0) != 0 || s.machine.Next(2) != 0 || s.machine.Highest(2) >= 0 {
			t.Error("another client's round is in")
		}
		next := s.machine.Next(1)
		if next == s.about.Rounds {
			return
		}
		_, refusal, err = s.take(earlyKind, s.names.early(1, next), nil, honest(next), 0)
		if refusal != "" || !s.machine.Has(1, next) {
			t.Errorf("behind it round %d is refused: %v", next, errors.Join(err, errors.New(string(refusal))))
		}
	})
}
