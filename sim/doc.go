// Package sim trains models by asynchronous mini-batch DP-SGD, as in the paper's
// appendix "Asynchronous Mini-Batch DP-SGD": clients run ahead of each other by as
// much as a permissible delay Υ(k, i) allows, i being a client's round and v̂_k the
// newest global model that it has received, and a server applies updates as they
// come. A Config says everything that decides the result:
//
//	cfg := &sim.Config{
//		Model: model, Rows: rows, Partition: data.Shard, Mechanism: mechanism,
//		GradComps: 10_000, Delay: sim.AtMost(1), Timing: clock.DefaultTiming(),
//		Steps: sim.StepSize{Eta0: 0.1, Beta: 0.001, Decay: sim.LinearDecay},
//		Roots: sim.SharedRoots(rng.New(1), len(rows)),
//	}
//	run, err := sim.NewVirtual(cfg, sim.Perf{}, nil)
//	...
//	result, err := run.Run(ctx)
//	privacy, err := claim.OfLedgers(ctx, accountant, result.Ledgers, !cfg.Partition.Disjoint(), 1e-5) // dp/claim
//
// Server and Client are pure state machines: a message in, messages out. They
// start no goroutine, read no clock and no channel, and draw randomness only
// from streams that are a function of (root, purpose, client, round). Two
// runners drive them:
//
//   - Virtual is a discrete-event simulation on a virtual clock. A seed gives
//     the same bits whatever the number of cores.
//   - Hogwild runs a goroutine a client, free-running, over channels, as in the
//     paper. Its result depends on how the goroutines interleave.
//
// A custom runner starts from NewServer and NewClient, in one process or in many: see there.
//
// The virtual clock has what makes asynchrony hard: families of durations and speeds; messages that
// are late, doubled, overtaken, or lost and sent again; clients that leave and return (all in
// package clock) or adapt their sample sizes (Adapt). Virtual.Record shows each event.
//
// Exploration takes small runs through every order of events and proves that the
// protocol keeps its promises in them. With the build tag "invariants" they are
// asserted in every other run.
//
// # One round
//
// A client in round i waits until Υ(k, i) is true, k being the newest broadcast
// it has received. It samples records, sums their clipped gradients at ŵ, adds
// the noise, sends (i, U) and sets ŵ ← ŵ − η̄_i·U. The server sets v ← v − η̄_i·U
// when U comes. Once all updates of rounds ≤ k−1 of all clients are in, it
// broadcasts v as v̂_k; if one update completes several k, only the newest. A
// broadcast that arrives during a round does not change the running sum: at the
// end of the round ŵ ← v̂_k − η̄_i·U. One that is older than a broadcast already
// received is dropped.
//
// The paper adds η̄U in Algorithm LocalSGDwithDP and subtracts it elsewhere; it
// is subtracted here. U is a sum over the sample and is not divided by s.
package sim
