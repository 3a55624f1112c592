// Package audit tests whether package sim trains as privately as it claims. It runs small trainings many times, with
// and without one record, and computes a lower bound on their ε from the messages that an adversary sees. It also
// checks that these messages are what the mechanism prescribes. A lower bound above the claimed ε, or a check that
// fails, shows that the mechanism is broken. If neither happens, nothing is proved. To measure what an audit finds, a
// fault can be planted.
//
//	o := audit.DefaultOptions()
//	o.Fault = audit.HalfNoise // or NoFault, to audit the whole mechanism
//	report, err := audit.Run(ctx, o)
//	...
//	err = report.WriteText(os.Stdout)
//
// # Probes
//
// A probe is a small training that an adversary prepares. The adversary knows everything about it
// except whether one record, the canary, is in the data. The adversary chooses every gradient and sees
// every update that any client sends. (Differential privacy protects against such a white-box
// adversary.) If the canary is removed, its place in the data stays empty, so the sample rate is the
// same. These are the neighbouring data sets of add-or-remove adjacency under Poisson sampling. The
// training runs many times with the canary and many times without it, each time with new randomness.
// These are the two worlds of a probe. If an event has the probabilities p and p' in the two worlds,
// (ε, δ)-differential privacy requires
//
//	p ≤ e^ε·p' + δ, so ε ≥ ln((p − δ)/p').
//
// The event is that a statistic, computed from everything that the adversary saw, exceeds a threshold.
// Half of the runs are used to choose the threshold, and only the other half is counted. p and p' are
// replaced by the ends of exact confidence intervals (Clopper and Pearson). All statistics of all probes,
// in both directions, share the probability of error. The bounds assume nothing about the mechanism: a
// lower bound holds with the stated confidence, whatever the program runs.
//
// The probes differ in what they can detect. If every record is in every round, the releases are
// Gaussian, and the bound is as close to the claim as the number of runs allows. If samples are small,
// almost all privacy comes from sampling, and a lack of sampling is visible. With much noise and few
// records, samples are often empty, and rounds can be compared. Other probes use logistic regression
// and LeNet with their own clipping, a record that is replaced, adapted sample sizes, and clients and
// messages that are lost. In all probes, clients have random speeds and run ahead of each other.
//
// A Course is a training of another package that chooses its rounds by its releases. It is audited as a
// whole, against the guarantee of its filter.
//
// The one-run probe trains only once. It has many canaries with different directions. A coin decides
// for each whether it is in the data, and the adversary guesses the coins. Its theory holds for every
// mechanism, but gives weaker bounds.
//
// # Checks
//
// The bounds assume nothing, and therefore need many runs. Checks assume that a release is the sum of
// the sample's clipped gradients and of Gaussian noise that is independent of everything else. In
// worlds with known data they test three things: the noise in coordinates without a gradient, the sum
// in the direction of all gradients, and the independence of clients, of rounds, and of trainings with
// one root. All checks but one use what the adversary sees, without the seeds. The other one, the
// replay, knows the seeds and computes releases again. A failed check does not bound ε.
//
// To measure what an audit finds, plant faults and call [Alarms]. The survey in package experiments does
// this for every fault.
//
// # Scores
//
// Scores audits a training that ran elsewhere, by the rule of the one-run probe, from the scores that an
// attack gave to canaries. If the training is assumed to be Gaussian-DP, a tighter bound holds.
//
// # Claims
//
// Package pld computes the claimed ε, per record, from the ledgers of the runs. A planted
// Fault changes what runs, but not the ledger.
//
// # Literature
//
//   - Clopper, Pearson, "The use of confidence or fiducial limits illustrated in the case of the
//     binomial", Biometrika 26(4), 1934: exact intervals.
//   - Jagielski, Ullman, Oprea, "Auditing differentially private machine learning: how private is
//     private SGD?", NeurIPS 2020: lower bounds from many runs.
//   - Nasr, Song, Thakurta, Papernot, Carlini, "Adversary instantiation: lower bounds for
//     differentially private machine learning", IEEE S&P 2021: what adversaries of different power see.
//   - Nasr, Hayes, Steinke, Balle, Tramèr, Jagielski, Carlini, Terzis, "Tight auditing of
//     differentially private machine learning", USENIX Security 2023: canary gradients. (Their tightest
//     bounds assume the form of the trade-off curve. Here only GaussianDP does.)
//   - Steinke, Nasr, Jagielski, "Privacy auditing with one (1) training run", NeurIPS 2023.
//   - Mahloujifar, Melis, Chaudhuri, "Auditing f-differential privacy in one run", arXiv 2410.22235, 2024.
package audit
