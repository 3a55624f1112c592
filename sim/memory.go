package sim

import "math"

// Part is one kind of memory of a run: Count pieces of so many bytes each.
type Part struct {
	What  string `json:"what"`
	Count int    `json:"count"`
	Bytes int64  `json:"bytes"` // of one piece
}

// Vectors estimates, from above, how many vectors of all parameters a run keeps
// at a time, by what they are for: of Hogwild, or of Virtual. A run allocates no
// more of them however long it is.
func (c *Config) Vectors(p Perf, hogwild bool) []Part {
	n := c.Clients()
	// A client ahead of the server reads an older broadcast than the others.
	broadcasts := n
	if hogwild {
		broadcasts = broadcastsPerClient * n
	}
	if tau, ok := c.Delay.(AtMost); ok {
		broadcasts = min(broadcasts-1, int(tau)) + 1
	}
	// On the way, by Little's law: as many as are sent while one travels.
	round := float64(c.Timing.Compute.Mean) * float64(c.Mechanism.Sizes.At(0))
	travelling := func(senders int, d Duration) int {
		return min(senders*c.Run().Rounds, int(math.Ceil(float64(senders)*float64(d.Mean)/max(round, 1))))
	}
	updates := 1 + travelling(n, c.Timing.Uplink)
	switch {
	case hogwild:
		updates = vectorsPerClient * n
	case c.Computing(p) > 1:
		updates += n - 1
	}
	if !hogwild {
		broadcasts += travelling(1, c.Timing.Downlink)
	}
	bytes := 4 * int64(c.Model.NumParams())
	return []Part{
		{"global model", 1, bytes},
		{"clients' models", n, bytes},
		{"updates", updates, bytes},
		{"broadcasts", broadcasts + 1, bytes},
	}
}
