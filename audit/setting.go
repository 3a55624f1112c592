package audit

import (
	"proactivedp/data"
	"proactivedp/models"
)

// clip is the clipping norm C of every probe. Its value does not matter: the
// guarantee depends on σ, the noise over C, alone.
const clip = 1

// setting is a small training that an adversary has prepared: whose records
// there are, and what is claimed of it.
type setting struct {
	model     models.Bounded
	data      *data.Dataset
	partition data.Partition
	clients   int
	rounds    int // T, the rounds of each client
	size      int // s, the expected sample size
	places    int // N_c, the records that each client holds
	sigma     float64
}

// rate returns the sample rate q = s/N_c.
func (s setting) rate() float64 { return float64(s.size) / float64(s.places) }

// rows returns the rows that each client holds: with replicate all hold the same
// first rows, with shard each holds the next ones.
func (s setting) rows() []data.Subset {
	rows := make([]int32, s.data.Len())
	for i := range rows {
		rows[i] = int32(i)
	}
	held := make([]data.Subset, s.clients)
	for c := range held {
		from := 0
		if s.partition == data.Shard {
			from = c * s.places
		}
		held[c] = data.Subset{Data: s.data, Rows: rows[from : from+s.places]}
	}
	return held
}
