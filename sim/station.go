package sim

// station has the facts about one client that Virtual keeps in addition to the client's machine:
// how the client spends its time, and how many draws it has used.
type station struct {
	began    Time   // when the newest round began
	busy     Time   // time spent computing, in rounds that ended or were given up
	left     Time   // when it last left
	absent   Time   // time spent away, until it last returned
	aborts   uint32 // how many rounds were given up
	sendings uint32 // how many messages were sent from and to it, if Virtual.unreliable
	turns    uint32 // how many departures and returns were drawn
	away     bool
}

// end ends the round under way.
func (s *station) end(now Time) { s.busy += now - s.began }
