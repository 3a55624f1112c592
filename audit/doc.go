// Package audit bounds from below, by experiment, what the mechanism costs as it
// really runs in package sim, asynchronous runs included, and checks that what is
// sent is what the mechanism prescribes. A bound above the ε that is claimed, or a
// check that fails, shows that the mechanism is broken; that neither is found proves
// nothing.
//
//	o := audit.DefaultOptions()
//	o.Fault = audit.HalfNoise // or NoFault, to audit the whole mechanism
//	report, err := audit.Run(ctx, o)
//	...
//	err = report.WriteText(os.Stdout)
//
// # What is tried
//
// An adversary prepares a small training and knows all of it but whether one
// record, the canary, is in it. He chooses every gradient, and sees every update
// that any client sends (a white-box adversary, which is whom differential
// privacy is against). Removal leaves the canary's place empty, so that the
// sample rate stays: the neighbouring data sets of add-or-remove adjacency under
// Poisson sampling. A probe runs the training many times in both worlds, each run
// with randomness of its own. If an event has the probabilities p and p' in the
// two worlds, (ε, δ)-differential privacy demands
//
//	p ≤ e^ε·p' + δ, so ε ≥ ln((p − δ)/p').
//
// The event is that a statistic of what was seen is above a threshold. One half
// of the runs chooses the threshold and the other half is counted; p and p' are
// replaced by the ends of exact confidence intervals (Clopper and Pearson). All
// statistics of all probes, in both directions, share the probability of error.
// Nothing is assumed of the mechanism: a lower bound holds with the confidence
// that is stated, whatever runs.
//
// The probes differ in what they make visible. With every record in every round
// the releases are Gaussian, and the bound comes as near to what is claimed as
// the number of runs allows. Where samples are small, nearly all privacy is by
// sampling, and its absence shows. With much noise and few records, samples are
// often empty, and rounds can be compared. Others are of logistic regression and of
// LeNet, with their own clipping, of a record that is replaced, of adapted sizes, and
// of churn and losses. In all of them clients run ahead of each other at random
// speeds.
//
// A Course is a training of somebody else's that chooses its rounds by what it released,
// and is audited as a whole against what its filter guarantees.
//
// The last probe trains once: many canaries, with directions of their own, each
// in the data by the toss of a coin that is to be guessed. Its theory is valid
// for every mechanism and looser.
//
// # What is checked
//
// The bounds assume nothing, and pay for it with runs. Checks do assume: that a
// release is the sum of the sample's gradients, each clipped, and Gaussian noise that
// is independent of everything else. In worlds whose data is known they test the
// noise where no gradient has a part, the sum in the direction in which all gradients
// go, and whether what should be independent is: clients, rounds, trainings of one
// root. All of them but one see what the adversary sees and no seeds. The replay
// knows the seeds, and computes releases anew. A check that fails bounds no ε.
//
// To measure what an audit finds, plant faults and call [Alarms]. The survey in package experiments does
// that for every fault.
//
// # What is claimed
//
// The ledgers of the runs, accounted per record by package pld. A planted Fault
// changes what is run and not the ledger.
//
// # Literature
//
//   - Clopper, Pearson, "The use of confidence or fiducial limits illustrated in
//     the case of the binomial", Biometrika 26(4), 1934: exact intervals.
//   - Jagielski, Ullman, Oprea, "Auditing differentially private machine learning:
//     how private is private SGD?", NeurIPS 2020: lower bounds from many runs.
//   - Nasr, Song, Thakurta, Papernot, Carlini, "Adversary instantiation: lower
//     bounds for differentially private machine learning", IEEE S&P 2021: what
//     adversaries of different power see.
//   - Nasr, Hayes, Steinke, Balle, Tramèr, Jagielski, Carlini, Terzis, "Tight
//     auditing of differentially private machine learning", USENIX Security 2023:
//     canary gradients. (Their tightest bounds assume the form of the trade-off
//     curve; no bound here does.)
//   - Steinke, Nasr, Jagielski, "Privacy auditing with one (1) training run",
//     NeurIPS 2023.
package audit
