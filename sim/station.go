package sim

// station is what Virtual keeps about one client beside the machine itself: how
// it spends its time.
type station struct {
	began Time // when the newest round began
	busy  Time // spent computing, in rounds that are over
}

// end ends the round under way.
func (s *station) end(now Time) { s.busy += now - s.began }
