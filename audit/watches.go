package audit

import (
	"sync"

	"proactivedp/data"
	"proactivedp/dp"
)

// The facts of watches take longer to compute than a small audit, and no audit changes them.
var watches = sync.OnceValues(func() ([]watch, error) {
	logistic, err := logistic()
	if err != nil {
		return nil, err
	}
	var all []watch
	for _, w := range []struct {
		name         string
		setting      setting
		share, least int
	}{
		// Three clients hold the same 256 records, 64 of them in a round on average; 1281 coordinates.
		{"crowd", crowd(256, 1024, setting{clients: 3, rounds: 4, size: 64, sigma: 0.25}), 100, 40},
		// Two clients hold the same 256 records, all of them in every round.
		{"full", crowd(256, 0, setting{clients: 2, rounds: 4, size: 256, sigma: 1}), 50, 40},
		// Two clients, two of 32 records in a round on average: one sample in eight is empty.
		{"thin", crowd(32, 224, setting{clients: 2, rounds: 6, size: 2, sigma: 0.5}), 50, 40},
		// Three clients, exactly eight of 32 records in a round, replace-one adjacency.
		{"fixed", crowd(32, 224, setting{clients: 3, rounds: 4, size: 8, sigma: 1, sampling: dp.FixedSize}), 50, 40},
		// Two clients; in each of two epochs, every one of 64 records is in one of four rounds.
		{"allocated", crowd(64, 192, setting{clients: 2, rounds: 8, size: 16, sigma: 0.5, sampling: dp.Allocation, batches: 4}), 50, 40},
		// Three clients of unequal speed adapt their sample sizes, 16 of 64 records at first.
		{"adapted", crowd(64, 192, setting{clients: 3, rounds: 5, size: 16, sigma: 1, adapts: true}), 50, 40},
		// Three clients that leave and return; messages are lost, sent again and come twice.
		{"storm", crowd(32, 224, setting{clients: 3, rounds: 6, size: 8, sigma: 1, storm: true}), 50, 40},
		// Logistic regression, all three records in every round.
		{"logreg", logistic.setting, 5, 400},
		// LeNet-5, three random images in every round.
		{"lenet", network(), 1000, 20},
	} {
		facts, err := newSheet(w.setting)
		if err != nil {
			return nil, err
		}
		all = append(all, watch{w.name, w.setting, facts, w.share, w.least})
	}
	return all, nil
})

// quietRecord is the length of a record in two coordinates that needs no clipping.
const quietRecord = 0.5

// crowd returns the setting s with a data set of this many records. All gradients have a common direction, and
// each record has one coordinate in which no other record is different from 0. In free further coordinates all
// gradients are 0, so releases have only noise there. Every second gradient is shorter than C.
func crowd(records, free int, s setting) setting {
	features := 1 + records + free
	rows := make([][]float32, records)
	for i := range rows {
		length := float32(loudCanary)
		if i%2 != 0 {
			length = quietRecord
		}
		rows[i] = make([]float32, features)
		rows[i][0], rows[i][1+i] = length, length
	}
	s.model, s.data = linear{features}, gradients(features, rows...)
	s.partition, s.places = data.Replicate, records
	return s
}
