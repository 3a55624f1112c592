package audit

import (
	"fmt"
	"slices"
	"strings"
)

// Fault is a way to break the mechanism while its claimed ε stays the same. To measure whether an audit finds a
// fault, set Options.Fault to it. Most faults have a size, see [Fault.Sizes].
type Fault string

// These faults can be planted. The comments say what the size of a fault means.
const (
	NoFault Fault = "none"
	// These faults are about noise: too little noise, or noise of another distribution.
	HalfNoise       Fault = "half-noise"       // the noise multiplier is σ/2
	LessNoise       Fault = "less-noise"       // the noise multiplier is size·σ
	BareCoordinates Fault = "bare-coordinates" // the last coordinates of an update, the fraction size of all, get no noise
	CutNoise        Fault = "cut-noise"        // noise of more than size standard deviations is drawn again
	CoarseGenerator Fault = "coarse-generator" // the noise of a round is one of only 2^size possibilities
	OpenShare       Fault = "open-share"       // size times the sum of gradients is sent in addition, without noise
	// SilentEmptyBatch sends zero without noise if the sample is empty.
	SilentEmptyBatch Fault = "silent-empty-batch"
	// In these faults, a release shares noise with another one: its noise is √(1−size²) times new noise plus size
	// times the other's noise.
	ReusedNoise Fault = "reused-noise" // the other's noise is that of round 0
	SharedNoise Fault = "shared-noise" // the other's noise is that of client 0
	SharedLegs  Fault = "shared-legs"  // the other's noise is that of an earlier training with the same root (seed)
	// These faults are about clipping.
	NoClip    Fault = "no-clip"    // gradients are summed without clipping
	LooseClip Fault = "loose-clip" // gradients are clipped to size·C
	PartClip  Fault = "part-clip"  // each gradient is cut into size parts, like layers, and each part is clipped to C by itself
	BatchClip Fault = "batch-clip" // the sum of the batch is clipped, not each gradient
	// These faults are about sampling.
	FixedSample    Fault = "fixed-sample"    // every round uses the client's first s records
	LargeSample    Fault = "large-sample"    // a round draws size times as many records as claimed
	RepeatedSample Fault = "repeated-sample" // the fraction size of a client's rounds uses the sample of round 0
	SharedSample   Fault = "shared-sample"   // the fraction size of rounds uses the sample of client 0
	KeptDraw       Fault = "kept-draw"       // the fraction size of epochs of random allocation keeps the draw of epoch 0
	SecondRound    Fault = "second-round"    // the fraction size of the records is in two rounds of an epoch
	ExtraRecord    Fault = "extra-record"    // a person has one record more than the group that is claimed
	// These faults are about messages that are sent or arrive a second time.
	FreshResend    Fault = "fresh-resend"    // the fraction size of updates that are sent again after a loss gets new noise
	FreshDuplicate Fault = "fresh-duplicate" // the fraction size of second copies of a message gets new noise
	// AddRemoveClaim claims the ε of add-or-remove adjacency although a record is replaced.
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

// About describes the fault in a few words.
func (f Fault) About() string { return f.described().about }

// Unit says what the size of the fault measures, or returns "" if the fault has no size.
func (f Fault) Unit() string { return f.described().unit }

// Sizes returns the sizes of the fault that a survey tries. The first is the easiest to find, and the
// default of Options.FaultSize. Sizes returns nil if the fault has no size.
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

// plant makes the trainings of world w run with the fault. Except for AddRemoveClaim, their ledgers
// stay those of the correct mechanism.
func (f Fault) plant(w *world, size float64) { f.described().plant(w, size) }

// OnWire reports whether the fault is in messages that are sent again or arrive twice. The runner Hogwild never loses
// or duplicates messages, so such a fault cannot be planted there.
func (f Fault) OnWire() bool { return f == FreshResend || f == FreshDuplicate }
