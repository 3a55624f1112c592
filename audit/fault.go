package audit

import (
	"fmt"
	"slices"
	"strings"
)

// Fault names an error that is deliberately planted in the mechanism, such as too little noise, while the claimed ε
// stays the same. To measure whether an audit finds the error, set Options.Fault to it. Most faults have a size (how
// strong they are), see [Fault.Sizes] and Options.FaultSize.
type Fault string

// These faults can be planted. In the comments, size is the size of the fault (Options.FaultSize), σ is the noise
// multiplier of the correct mechanism, and C is its clipping norm.
const (
	NoFault Fault = "none"
	// HalfNoise halves the noise: the noise multiplier is σ/2.
	HalfNoise Fault = "half-noise"
	LessNoise Fault = "less-noise" // the noise multiplier is size·σ instead of σ
	// BareCoordinates adds no noise to the last coordinates of an update. size is their fraction of all coordinates.
	BareCoordinates Fault = "bare-coordinates"
	// CutNoise draws noise beyond size standard deviations again, so that the noise has no tails.
	CutNoise Fault = "cut-noise"
	// CoarseGenerator draws the noise of a round from only 2^size possibilities, as a generator with a short seed
	// does.
	CoarseGenerator Fault = "coarse-generator"
	// OpenShare multiplies the sum of gradients by 1 + size, but not its noise, as if a part of the sum were also
	// sent without noise.
	OpenShare Fault = "open-share"
	// SilentEmptyBatch sends 0 without noise if no record was sampled, which reveals that none was.
	SilentEmptyBatch Fault = "silent-empty-batch"
	// ReusedNoise uses, in part, the noise of the client's round 0 again in its later rounds. Their noise is √(1−size²)
	// times new noise plus size times the noise of round 0. With size 1, they have exactly the noise of round 0.
	ReusedNoise Fault = "reused-noise"
	// SharedNoise is like ReusedNoise, but the noise that is used again is that of client 0. The other clients mix it
	// into their noise of the same round.
	SharedNoise Fault = "shared-noise"
	// SharedLegs is like ReusedNoise, but the noise that is used again is that of an earlier training. A client mixes
	// its noise of a round there into its noise of the same round here, as if both trainings had one seed.
	SharedLegs Fault = "shared-legs"
	// NoClip sums gradients without clipping.
	NoClip    Fault = "no-clip"
	LooseClip Fault = "loose-clip" // gradients are clipped to the norm size·C instead of C
	// PartClip cuts each gradient into size parts, like layers, and clips each part to C instead of the whole
	// gradient.
	PartClip  Fault = "part-clip"
	BatchClip Fault = "batch-clip" // the sum of a batch's gradients is clipped to C, and not each gradient
	// FixedSample uses the same records in every round, without randomness: the client's first ones, as many as the
	// batch size.
	FixedSample    Fault = "fixed-sample"
	LargeSample    Fault = "large-sample"    // a round draws size times as many records as claimed
	RepeatedSample Fault = "repeated-sample" // in the fraction size of its rounds, a client uses the sample of round 0
	SharedSample   Fault = "shared-sample"   // in the fraction size of their rounds, clients use the sample of client 0
	// KeptDraw is for random allocation, in which each record is put into one random round of each epoch. The
	// fraction size of the epochs does not draw these rounds anew but uses those of epoch 0.
	KeptDraw Fault = "kept-draw"
	// SecondRound is for random allocation (see KeptDraw): the fraction size of the records is in two rounds of an
	// epoch, not in one.
	SecondRound Fault = "second-round"
	ExtraRecord Fault = "extra-record" // a person has one record more than the claimed ε allows for (Event.Group)
	// FreshResend gives new noise to an update that is sent again after a loss. size is the fraction of such updates.
	FreshResend Fault = "fresh-resend"
	// FreshDuplicate gives new noise to the second copy of an update that arrives twice. size is the fraction of such
	// updates.
	FreshDuplicate Fault = "fresh-duplicate"
	// AddRemoveClaim claims the ε for adding or removing a record, although the two data sets differ in a record that
	// is replaced.
	AddRemoveClaim Fault = "add-remove-claim"
)

// planted describes a fault and plants it.
type planted struct {
	fault Fault
	about string
	unit  string    // meaning of a size; "" if the fault has none
	sizes []float64 // in [least, most], the most obvious first, which is the default of Options.FaultSize
	least float64
	most  float64
	whole bool // whether sizes are integers
	// plant makes the trainings of a world run with the fault. Except for AddRemoveClaim, their ledgers stay those of the
	// correct mechanism.
	plant func(w *world, size float64)
}

var faults = []planted{
	{fault: NoFault, about: "the whole mechanism", plant: func(*world, float64) {}},
	{fault: HalfNoise, about: "the noise has half its standard deviation",
		plant: func(w *world, _ float64) { lessNoise(w, 0.5) }},
	{fault: LessNoise, about: "the noise has a part of its standard deviation", unit: "the part",
		sizes: []float64{0.8, 0.95, 0.99, 0.995, 0.998, 0.999}, least: 0, most: 1, plant: lessNoise},
	{fault: BareCoordinates, about: "the last coordinates have no noise", unit: "share of them",
		sizes: []float64{0.1, 0.01, 0.001}, least: 0, most: 1, plant: bareCoordinates},
	{fault: CutNoise, about: "the noise has no tails", unit: "standard deviations at which it ends",
		sizes: []float64{2, 3, 3.5, 4, 4.5}, least: 0.5, most: 10, plant: cutNoise},
	{fault: CoarseGenerator, about: "a round has only a few different noises", unit: "bits that choose it",
		sizes: []float64{8, 12, 16, 18, 20}, least: 0, most: 63, whole: true, plant: coarseGenerator},
	{fault: OpenShare, about: "a part of the sum is sent without noise", unit: "the part",
		sizes: []float64{0.1, 0.01, 0.005, 0.002, 0.001}, least: 0, most: 1, plant: openShare},
	{fault: SilentEmptyBatch, about: "an empty sample sends zero, without noise", plant: silentEmptyBatch},
	{fault: ReusedNoise, about: "rounds have the noise of round 0", unit: "part of the noise",
		sizes: []float64{1, 0.3, 0.1, 0.03, 0.02, 0.01}, least: 0, most: 1, plant: reusedNoise},
	{fault: SharedNoise, about: "clients have the noise of client 0", unit: "part of the noise",
		sizes: []float64{1, 0.3, 0.1, 0.03, 0.02, 0.01}, least: 0, most: 1, plant: sharedNoise},
	{fault: SharedLegs, about: "a second training has the noise of the first", unit: "part of the noise",
		sizes: []float64{1, 0.3, 0.1, 0.03, 0.01, 0.005, 0.002}, least: 0, most: 1, plant: sharedLegs},
	{fault: NoClip, about: "gradients are not clipped",
		plant: func(w *world, _ float64) { clipBy(w, unclipped) }},
	{fault: LooseClip, about: "gradients are clipped to more than C", unit: "times C",
		sizes: []float64{2, 1.2, 1.05, 1.01, 1.005, 1.002}, least: 1, most: 1e6,
		plant: func(w *world, size float64) { clipBy(w, looselyClipped(size)) }},
	{fault: PartClip, about: "parts of a gradient are clipped separately", unit: "parts",
		sizes: []float64{8, 2}, least: 2, most: 64, whole: true,
		plant: func(w *world, size float64) { clipBy(w, partClipped(int(size))) }},
	{fault: BatchClip, about: "the sum is clipped, not each gradient",
		plant: func(w *world, _ float64) { clipBy(w, batchClipped) }},
	{fault: FixedSample, about: "the same records in every round, without randomness", plant: fixedSample},
	{fault: LargeSample, about: "more records are drawn than claimed", unit: "times as many",
		sizes: []float64{1.5, 1.25, 1.1, 1.05, 1.03, 1.02}, least: 1, most: 100, plant: largeSample},
	{fault: RepeatedSample, about: "rounds take the sample of round 0", unit: "share of rounds",
		sizes: []float64{1, 0.3, 0.1, 0.03, 0.01}, least: 0, most: 1, plant: repeatedSample},
	{fault: SharedSample, about: "clients take the sample of client 0", unit: "share of rounds",
		sizes: []float64{1, 0.3, 0.1, 0.03}, least: 0, most: 1, plant: sharedSample},
	{fault: KeptDraw, about: "epochs keep the draw of the first one", unit: "share of epochs",
		sizes: []float64{1, 0.3, 0.1, 0.03}, least: 0, most: 1, plant: keptDraw},
	{fault: SecondRound, about: "records are in two rounds of an epoch", unit: "share of them",
		sizes: []float64{1, 0.3, 0.1, 0.03, 0.01}, least: 0, most: 1, plant: secondRound},
	{fault: ExtraRecord, about: "a person has one record more than claimed", plant: extraRecord},
	{fault: FreshResend, about: "an update that is sent again has new noise", unit: "share of them",
		sizes: []float64{1, 0.1, 0.03, 0.01, 0.003}, least: 0, most: 1, plant: freshResend},
	{fault: FreshDuplicate, about: "the second copy of an update has new noise", unit: "share of them",
		sizes: []float64{1, 0.1, 0.03, 0.01, 0.003}, least: 0, most: 1, plant: freshDuplicate},
	{fault: AddRemoveClaim, about: "a record is replaced, but the ε is for removing it", plant: addRemoveClaim},
}

// described returns the description of the fault, or the zero value for an unknown one.
func (f Fault) described() planted {
	i := slices.IndexFunc(faults, func(p planted) bool { return p.fault == f })
	if i < 0 {
		return planted{}
	}
	return faults[i]
}

// About describes in a few words what the fault changes.
func (f Fault) About() string { return f.described().about }

// Unit says what the size of the fault measures, such as "parts" or "share of rounds". It is "" if the fault has no
// size.
func (f Fault) Unit() string { return f.described().unit }

// Sizes returns the sizes with which package experiments plants the fault to measure how small a fault the audit still
// finds. The first size is the easiest to find, and the default of Options.FaultSize. Sizes returns nil if the fault
// has no size.
func (f Fault) Sizes() []float64 { return slices.Clone(f.described().sizes) }

// Faults returns the names of all faults, beginning with NoFault, the correct mechanism.
func Faults() []Fault {
	var all []Fault
	for _, p := range faults {
		all = append(all, p.fault)
	}
	return all
}

// ParseFault returns the Fault with the given name. The error for an unknown name lists all names.
func ParseFault(name string) (Fault, error) {
	if f := Fault(name); slices.Contains(Faults(), f) {
		return f, nil
	}
	var names []string
	for _, f := range Faults() {
		names = append(names, string(f))
	}
	return "", fmt.Errorf("fault = %q, must be one of %s", name, strings.Join(names, ", "))
}

// OnWire reports whether the fault changes only messages that are sent again or arrive twice. Such a fault needs
// Options.Runner = Virtual, simulated time. With Hogwild (a goroutine for each client), no message is lost or
// duplicated.
func (f Fault) OnWire() bool { return f == FreshResend || f == FreshDuplicate }
