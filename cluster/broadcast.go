package cluster

import (
	"context"
	"time"

	"proactivedp/cluster/internal/wire"
)

// pushed reports whether the broker pushes the run's broadcasts to clients. Clients fetch longer
// broadcasts themselves. Otherwise broadcasts that a slow client has not read would fill the broker's
// buffers.
func (a *Announcement) pushed() bool { return a.chunks() <= 4 }

// broadcast publishes v̂_k, unless it is already published. If that fails, the server tries again
// after the next message or tick.
func (s *server) broadcast(ctx context.Context) {
	k := s.machine.K()
	if k == s.offered || s.up.stream == nil {
		return
	}
	v := s.machine.Model()
	h := wire.Header{Kind: wire.Broadcast, Run: s.run, Number: k, Newest: k, Digest: wire.Digest(v)}
	if s.about.pushed() {
		for chunk := range s.about.chunks() {
			h.Chunk = chunk
			s.message = s.about.chunk().Append(s.message[:0], h, v)
			if err := s.conn.Publish(s.names.down(k, chunk), s.message); err != nil { // Publish copies the message
				return
			}
			s.record.Broadcast += int64(len(s.message))
			s.at(insideBroadcast)
		}
		s.offered = k
		return
	}
	if !s.publishLong(ctx, h, v) {
		return
	}
	s.offered = k
	_ = s.conn.Publish(s.names.news(), s.about.chunk().Append(nil, h, nil)) // a client that misses it learns k from the answer to its next hello
}

// publishLong publishes the chunks of a long broadcast, one window at a time. It reports whether the
// stream has all of them.
func (s *server) publishLong(ctx context.Context, h wire.Header, v []float32) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	chunks := s.about.chunks()
	for from := 0; from < chunks; from += window {
		var sent []sending
		for chunk := from; chunk < min(from+window, chunks); chunk++ {
			h.Chunk = chunk
			message := s.about.chunk().Append(nil, h, v)
			one, err := publish(s.js, s.names.down(h.Number, chunk), message)
			if err != nil {
				return false
			}
			s.record.Broadcast += int64(len(message))
			sent = append(sent, one)
			s.at(insideBroadcast)
		}
		for _, one := range sent {
			if _, err := one.wait(ctx); err != nil {
				s.log.Warn("a broadcast was not taken", "k", h.Number, "error", err)
				return false
			}
		}
	}
	return true
}

// offerAgain publishes the newest broadcast again if a client lacks it, at most once in two beats.
func (s *server) offerAgain(newest int) {
	if newest < s.offered && time.Now().After(s.reoffer) {
		s.offered, s.reoffer = -1, time.Now().Add(2*beat)
	}
}
