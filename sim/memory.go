package sim

import (
	"math"
	"slices"

	"proactivedp/sim/clock"
)

// Part is a line in an estimate of the memory that a run needs: Count pieces of Bytes bytes each. What describes in
// words what they are for.
type Part struct {
	What  string `json:"what"`
	Count int    `json:"count"`
	Bytes int64  `json:"bytes"` // size of one piece, in bytes
}

// Vectors returns an upper estimate of the memory that a run needs for vectors of the model's length, such as models
// and updates. Use it to decide whether a run fits. Each [Part] is a number of vectors for one purpose. If hogwild is
// true, the estimate is for [Hogwild] (real time), and p is ignored; otherwise it is for [Virtual] (simulated time)
// with the settings p. The estimate does not grow with the number of rounds.
func (c *Config) Vectors(p Perf, hogwild bool) []Part {
	n := c.Clients()
	// A client ahead of the server may read an older broadcast than the others.
	broadcasts := n
	if hogwild {
		broadcasts = broadcastsPerClient * n
	}
	tau, bounded := largestLag(c.Delay)
	if bounded && !c.OwnSizes() { // a long round of a client may begin with an old broadcast
		broadcasts = min(broadcasts-1, tau) + 1
	}
	// By Little's law, the mean number of messages under way is the number sent while one travels.
	// The actual number is about Poisson, so four standard deviations are added. But clients whose
	// rounds are about equally long may all send at the same time. With a bounded delay, a client
	// waits after τ + 1 rounds until updates and broadcasts have arrived.
	firsts := c.gradientTimes() // mean times of the clients' first rounds
	for client := range firsts {
		firsts[client] *= float64(c.mechanism(client).Sizes.At(0))
	}
	round := slices.Min(firsts)
	travelling := func(senders int, latency *clock.Duration) int {
		most := float64(senders) * float64(c.Run().Rounds)
		if bounded {
			most = min(most, float64(senders)*(float64(tau)+1))
		}
		each := c.Network.Travel(latency) / max(round, 1)
		mean := float64(senders) * each
		peak := math.Ceil(mean + 4*math.Sqrt(mean))
		if c.Timing.Compute.Kind != clock.Exponential {
			peak = max(peak, float64(senders)*math.Ceil(each))
		}
		return int(min(most, peak))
	}
	updates, workspaces := 1+travelling(n, &c.Timing.Uplink), c.Computing(p)
	switch {
	case hogwild:
		updates, workspaces = vectorsPerClient*n, hogwildWorkspaces(n)
	case workspaces > 1:
		updates += n - 1
	}
	if !hogwild {
		broadcasts += travelling(1, &c.Timing.Downlink)
		if c.unreliable() || spread(&c.Timing.Downlink) {
			// A broadcast is kept until the last client has received it. With such a network, each
			// client may wait for a different one.
			broadcasts += travelling(n, &c.Timing.Downlink)
		}
		if c.Churn != (clock.Churn{}) {
			broadcasts += n // a client that returns gets its own copy
		}
	}
	bytes := 4 * int64(c.Model.NumParams())
	parts := []Part{
		{"global model", 1, bytes},
		{"clients' models", n, bytes},
		{"updates", updates, bytes},
		{"broadcasts", broadcasts + 1, bytes},
		{"sums before the noise", workspaces, 2 * bytes},
	}
	if c.Momentum != 0 {
		parts = append(parts, Part{"velocity", 1, bytes})
	}
	return parts
}

// spread reports whether a latency may be many times its mean.
func spread(d *clock.Duration) bool {
	return d.Kind == clock.Lognormal || d.Kind == clock.Pareto || d.Kind == clock.Traced
}
