// Package sim trains models by asynchronous mini-batch DP-SGD, as in the paper's appendix "Asynchronous Mini-Batch
// DP-SGD". Several clients compute rounds at their own speed: a round is the noisy sum of the clipped gradients of a
// batch of the client's records. A server applies these updates in the order of arrival and broadcasts global models.
// A permissible delay limits how far a client may run ahead of the newest global model that it has. A [Config]
// determines the result, and [Virtual] (simulated time) or [Hogwild] (real time) runs it.
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
// Server and Client are pure state machines: a message in, messages out. They start no goroutine and
// read no clock or channel. Their random numbers depend only on (root, purpose, client, round). Two
// runners drive them:
//
//   - Virtual is a discrete-event simulation on a virtual clock. With the same seed it computes the
//     same bits on any number of cores.
//   - Hogwild runs one goroutine for each client, without a clock, over channels, as in the paper.
//     Its result depends on how the goroutines interleave.
//
// NewServer describes how to write another runner, in one process or in several.
//
// The virtual clock simulates the difficulties of asynchronous training (package clock): varying
// durations and speeds; messages that are late, duplicated, overtaken, or lost and sent again; and
// clients that leave and return. Clients can also adapt their sample sizes (Adapt). Virtual.Record
// shows each event.
//
// The tests take small runs through every order of events and check the protocol's invariants in
// every state. With the build tag "invariants", all other runs assert them too.
//
// # One round
//
// In the following, ŵ is the client's own model, η̄_i the step size of round i, and v the server's model. A client in
// round i waits until the permissible delay Υ(k, i) is true, where v̂_k is the newest broadcast that it has received.
// Then it
//
//  1. samples records (the batch of this round, of expected size s_i),
//  2. sums their clipped gradients at ŵ and adds noise: this is U,
//  3. sends (i, U) and sets ŵ ← ŵ − η̄_i·U.
//
// When U arrives, the server sets v ← v − η̄_i·U. When it has all updates of rounds ≤ k−1 of all
// clients, it broadcasts v as v̂_k. If one update completes several k, it broadcasts only the
// newest.
//
// Clients may have their own sample sizes (Config.Own), and so different numbers of rounds T_c. η̄_i is then the step size
// of the client's own round i. Let T be the largest T_c. So that all clients are equally far with their training, round i
// of client c takes the place of rounds ⌊i·T/T_c⌋ to ⌊(i+1)·T/T_c⌋ − 1 of the clients with the most rounds. k and Υ count
// these T rounds: a client may begin a round if Υ allows the first of them, and v̂_k contains the round if all of them are
// below k.
//
// A broadcast that arrives during a round does not change the sum that is being computed: at the end
// of the round ŵ ← v̂_k − η̄_i·U. A broadcast that is older than the newest one received is dropped.
//
// The paper adds η̄U in Algorithm LocalSGDwithDP and subtracts it elsewhere. This package subtracts
// it. U is a sum over the sample and is not divided by s.
package sim
