package sim

// station is what Virtual keeps about one client beside the machine itself: how
// it spends its time, and how many draws it has made.
type station struct {
	began    Time   // when the newest round began
	busy     Time   // spent computing, in rounds that ended or were given up
	left     Time   // when it last left
	absent   Time   // spent away, until it last returned
	aborts   uint32 // rounds given up
	sendings uint32 // of messages from and to it, if Virtual.unreliable
	turns    uint32 // departures and returns that were drawn
	away     bool
}

// end ends the round under way.
func (s *station) end(now Time) { s.busy += now - s.began }
