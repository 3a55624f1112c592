package audit

import (
	"math"

	"proactivedp/data"
	"proactivedp/rng"
	"proactivedp/sim"
)

// seen has the numbers that the checks need of one run, by client and round. Each client writes only to its own
// elements, so clients may write at the same time.
type seen struct {
	*sheet
	noise [][]float32 // noise coordinates, divided by the standard deviation that they should have
	sums  []float64   // standardised components of releases in the direction of the sum
	fours []float64   // fourth cumulants of the sums, standardised
	found [][]float64 // standardised indicator of whether each record was in the sample, with noise
	off   []float64   // distance of each release from what the seeds give, in tolerances
	wire  []uint64    // hash of what was sent first; 0 if nothing was sent
	other int         // updates that were sent again or twice and differed
	w     *world      // the world whose seeds are known; nil if the seeds are not used
}

func newSeen(h *sheet) *seen {
	n := h.releases()
	s := &seen{
		sheet: h, noise: make([][]float32, n), sums: make([]float64, n), fours: make([]float64, n),
		found: make([][]float64, n), off: make([]float64, n), wire: make([]uint64, n),
	}
	for i := range n {
		s.noise[i], s.found[i] = make([]float32, len(h.free)), make([]float64, len(h.marks))
	}
	return s
}

// clear resets the fields that a run does not always overwrite.
func (s *seen) clear() {
	s.other, s.w = 0, nil
	clear(s.wire)
}

func (s *seen) see(c *sim.Client, u []float32, ws *sim.Workspace) error {
	at := c.ID()*s.rounds + c.Round()
	for i, j := range s.free {
		s.noise[at][i] = float32((float64(u[j]) - s.mean[i]) / s.sigma)
	}
	q := float64(c.Size()) / float64(s.places)
	mean, variance, fourth := s.sum(q)
	s.sums[at] = (dot(u, s.direction) - mean) / math.Sqrt(variance)
	s.fours[at] = fourth / (variance * variance)
	for i, m := range s.marks {
		std := math.Sqrt(q*(1-q) + math.Pow(s.sigma/m.amplitude, 2))
		s.found[at][i] = (float64(u[m.at])/m.amplitude - q) / std
	}
	if s.off[at] = 0; s.w != nil {
		s.off[at] = s.replayed(c, u, c.Sample(ws))
	}
	return nil
}

// replayed returns the distance of a release from the sum of the sample's correctly clipped gradients and the
// noise of the client's root. Only this check uses the seed, which an adversary does not know.
func (s *seen) replayed(c *sim.Client, u []float32, batch data.Batch) float64 {
	want := make([]float64, len(u))
	for _, row := range batch.Rows {
		for j, x := range s.of[row] {
			want[j] += x
		}
	}
	addNormals(want, s.sigma, s.w.cfg.Roots.Clients[c.ID()].Stream(rng.Noise, uint32(c.ID()), c.Round()),
		s.w.o.Exact)
	worst := 0.0
	for j, x := range u {
		worst = max(worst, math.Abs(float64(x)-want[j])/s.tolerance[j])
	}
	return worst
}

// sent compares an update that is sent a second time with the first copy, and counts it in s.other
// if they differ.
func (s *seen) sent(u sim.Update) {
	at := u.Client*s.rounds + u.Round
	h := hashed(u.U)
	switch s.wire[at] {
	case 0:
		s.wire[at] = h
	case h:
	default:
		s.other++
	}
}

// hashed returns a hash of 64 bits. Equal vectors have equal hashes. Each number goes through the
// finalizer of SplitMix64 (G. Steele, D. Lea, C. Flood, "Fast Splittable Pseudorandom Number
// Generators", OOPSLA 2014).
func hashed(x []float32) uint64 {
	var h uint64
	for _, v := range x {
		h += 0x9e3779b97f4a7c15 + uint64(math.Float32bits(v))
		h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
		h = (h ^ h>>27) * 0x94d049bb133111eb
		h ^= h >> 31
	}
	return h
}
