package audit

import (
	"fmt"
	"slices"
	"strings"
)

// Fault is a way to break the mechanism while it claims to be whole. Most come in
// sizes, see Sizes.
type Fault string

// The faults that can be planted. What a size is stands with each.
const (
	NoFault Fault = "none"
	// Noise that is too little, or of another shape.
	HalfNoise       Fault = "half-noise"       // the noise multiplier is σ/2
	LessNoise       Fault = "less-noise"       // the noise multiplier is size·σ
	BareCoordinates Fault = "bare-coordinates" // the last size·d coordinates get no noise
	CutNoise        Fault = "cut-noise"        // no number of the noise is beyond size standard deviations
	CoarseGenerator Fault = "coarse-generator" // a round's noise is one of 2^size
	OpenShare       Fault = "open-share"       // size times the sum is added again, after the noise
	// SilentEmptyBatch sends zero for an empty sample, without noise.
	SilentEmptyBatch Fault = "silent-empty-batch"
	// Noise that two releases share: √(1−size²) of it is fresh, size of it the other's.
	ReusedNoise Fault = "reused-noise" // that of round 0
	SharedNoise Fault = "shared-noise" // that of client 0
	SharedLegs  Fault = "shared-legs"  // that of an earlier training, whose root it is
	// Clipping.
	NoClip    Fault = "no-clip"    // gradients are summed as they are
	LooseClip Fault = "loose-clip" // gradients are clipped to size·C
	PartClip  Fault = "part-clip"  // each of size parts of a gradient is clipped alone, as layer by layer
	BatchClip Fault = "batch-clip" // the sum of the batch is clipped, not each gradient
	// Sampling.
	FixedSample    Fault = "fixed-sample"    // every round takes a client's first s records, none is drawn
	LargeSample    Fault = "large-sample"    // size·s records are drawn
	RepeatedSample Fault = "repeated-sample" // that share of a client's rounds takes the sample of round 0
	SharedSample   Fault = "shared-sample"   // that share of rounds takes the sample of client 0
	// Messages.
	FreshResend    Fault = "fresh-resend"    // that share of updates sent again after a loss gets other noise
	FreshDuplicate Fault = "fresh-duplicate" // that share of second copies gets other noise
	// AddRemoveClaim claims the ε of add-or-remove adjacency where a record is replaced.
	AddRemoveClaim Fault = "add-remove-claim"
)

// planted is what a fault is.
type planted struct {
	fault Fault
	about string
	unit  string    // what a size is; "": the fault has none
	sizes []float64 // in [least, most], the plainest first, which is the one without Options.Size
	least float64
	most  float64
	whole bool // sizes are whole numbers
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
	{fault: CoarseGenerator, about: "a round's noise is one of few", unit: "bits that choose it",
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
	{fault: PartClip, about: "parts of a gradient are clipped, each alone", unit: "parts",
		sizes: []float64{8, 2}, least: 2, most: 64, whole: true,
		plant: func(w *world, size float64) { clipBy(w, partClipped(int(size))) }},
	{fault: BatchClip, about: "the sum is clipped, not each gradient",
		plant: func(w *world, _ float64) { clipBy(w, batchClipped) }},
	{fault: FixedSample, about: "the same records in every round, no randomness", plant: fixedSample},
	{fault: LargeSample, about: "more records are drawn than claimed", unit: "times as many",
		sizes: []float64{1.5, 1.25, 1.1, 1.05, 1.03, 1.02}, least: 1, most: 100, plant: largeSample},
	{fault: RepeatedSample, about: "rounds take the sample of round 0", unit: "share of rounds",
		sizes: []float64{1, 0.3, 0.1, 0.03, 0.01}, least: 0, most: 1, plant: repeatedSample},
	{fault: SharedSample, about: "clients take the sample of client 0", unit: "share of rounds",
		sizes: []float64{1, 0.3, 0.1, 0.03}, least: 0, most: 1, plant: sharedSample},
	{fault: FreshResend, about: "an update that is sent again has other noise", unit: "share of them",
		sizes: []float64{1, 0.1, 0.03, 0.01, 0.003}, least: 0, most: 1, plant: freshResend},
	{fault: FreshDuplicate, about: "the second copy of an update has other noise", unit: "share of them",
		sizes: []float64{1, 0.1, 0.03, 0.01, 0.003}, least: 0, most: 1, plant: freshDuplicate},
	{fault: AddRemoveClaim, about: "a record is replaced, and the ε is of removing it", plant: addRemoveClaim},
}

// described returns what the fault is; of an unknown one the zero value.
func (f Fault) described() planted {
	i := slices.IndexFunc(faults, func(p planted) bool { return p.fault == f })
	if i < 0 {
		return planted{}
	}
	return faults[i]
}

// About says in a few words what the fault does.
func (f Fault) About() string { return f.described().about }

// Unit says what a size of the fault is; "" for a fault that comes in one size.
func (f Fault) Unit() string { return f.described().unit }

// Sizes returns the sizes at which the fault is tried by a survey, the plainest
// first, which Options have by default; none for a fault that comes in one size.
func (f Fault) Sizes() []float64 { return slices.Clone(f.described().sizes) }

// Faults returns the names of all faults, with NoFault, the whole mechanism,
// first.
func Faults() []Fault {
	var all []Fault
	for _, p := range faults {
		all = append(all, p.fault)
	}
	return all
}

// ParseFault turns a name into a Fault; an unknown name is an error that lists
// the known ones.
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

// plant breaks what a world runs; what its ledgers claim stays, but for
// AddRemoveClaim.
func (f Fault) plant(w *world, size float64) { f.described().plant(w, size) }

// OnWire reports whether the fault is in messages, which Hogwild never loses.
func (f Fault) OnWire() bool { return f == FreshResend || f == FreshDuplicate }
