package data

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Targets are the real numbers that a regression model learns to predict, one for each row. A data set with targets
// has a single class, which is not used.
type Targets struct {
	Value  []float32 // the target of each row on the scale of Bounds.Scaled, in [-1, 1]
	Bounds TargetBounds
}

// TargetBounds are the public bounds of the targets, between which a regression model's predictions lie. The user
// must give them. They must not be computed from the data, because they would then reveal something about it.
type TargetBounds struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Refuse makes a target outside the bounds an error. Without it, such a target counts as the nearer bound, which
	// costs no privacy, because it depends on one record only. That a file is refused because of one record reveals
	// something about this record, and no (ε, δ) covers that.
	Refuse bool `json:"refuse,omitempty"`
}

// ErrTarget is the error, usually wrapped, for a bad target (the number that a regression model learns to predict). A
// target is bad if it is not a finite number, or if it is outside its bounds and TargetBounds.Refuse is set.
var ErrTarget = errors.New("target")

// ParseTargetBounds reads the bounds of targets from text of the form LOW,HIGH, such as 0,800000. The result clamps
// targets outside the bounds; set Refuse to refuse them.
func ParseTargetBounds(text string) (TargetBounds, error) {
	low, high, err := ParseBounds(text)
	b := TargetBounds{Low: low, High: high}
	if err == nil {
		err = b.Check()
	}
	return b, err
}

// Check returns nil if both bounds are finite numbers in the range of float32, and Low is below High by at least
// about 6e-39. Otherwise it returns an error. If the bounds were closer, the factor 2/(High − Low), by which targets
// are scaled to [-1, 1], would be too large for a float32.
func (b TargetBounds) Check() error {
	if !(math.Abs(b.Low) <= math.MaxFloat32 && math.Abs(b.High) <= math.MaxFloat32 && b.Low < b.High) ||
		b.half() == 0 || !finite(float32(1/b.half())) {
		return fmt.Errorf("bounds of the target = %v,%v, must be LOW,HIGH in the range of float32 with LOW < HIGH, and not closer than 6e-39", b.Low, b.High)
	}
	return nil
}

// String returns the bounds in the form that ParseTargetBounds reads.
func (b TargetBounds) String() string { return fmt.Sprintf("%v,%v", b.Low, b.High) }

func (b TargetBounds) half() float64 { return b.High/2 - b.Low/2 }

// Scaled converts the target v from its own unit to the scale that models use, on which Low is −1 and High is 1. So
// the same clipping norms and step sizes suit targets in every unit. A target outside the bounds counts as the nearer
// bound or, if Refuse is set, is an error. It is also an error if v is infinite or NaN. Errors wrap ErrTarget and do
// not show v.
func (b TargetBounds) Scaled(v float64) (float32, error) {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return 0, fmt.Errorf("%w must be a finite decimal number", ErrTarget)
	case b.Refuse && !(v >= b.Low && v <= b.High):
		return 0, fmt.Errorf("%w must be in the given bounds [%v, %v]", ErrTarget, b.Low, b.High)
	}
	v = min(max(v, b.Low), b.High)
	return min(max(float32((v-b.Low/2-b.High/2)/b.half()), -1), 1), nil
}

// Parse reads a target from text: a finite decimal number in the unit of the file. It returns the number on the scale
// of [TargetBounds.Scaled], in [-1, 1]. A number beyond the range of float64 counts as outside the bounds. The error
// does not show the text, which is private.
func (b TargetBounds) Parse(text string) (float32, error) {
	v, err := strconv.ParseFloat(text, 64)
	if errors.Is(err, strconv.ErrRange) {
		v, err = math.Copysign(math.MaxFloat64, v), nil
	}
	if err != nil || strings.ContainsAny(text, "xX_") {
		v = math.NaN()
	}
	return b.Scaled(v)
}

// Original converts scaled, a model's prediction on the scale [-1, 1], back to the unit of the targets: it is the
// inverse of [TargetBounds.Scaled]. For a number outside [-1, 1] it returns the nearer bound.
func (b TargetBounds) Original(scaled float64) float64 {
	return min(max(b.Low/2+b.High/2+scaled*b.half(), b.Low), b.High)
}

// WithTargets returns the rows of d with targets instead of classes, for a regression model. values has the target of
// each row, in the unit of the bounds b. If b does not allow a value (see [ErrTarget]), the error names the first
// such row.
func (d *Dataset) WithTargets(b TargetBounds, values []float64) (*Dataset, error) {
	if err := b.Check(); err != nil {
		return nil, err
	}
	if len(values) != d.Len() {
		return nil, fmt.Errorf("%d targets for %d rows of %s", len(values), d.Len(), d.Name)
	}
	out := *d
	out.Classes, out.Names, out.Label = 1, nil, make([]int32, d.Len())
	out.Targets = &Targets{Value: make([]float32, len(values)), Bounds: b}
	for i, v := range values {
		var err error
		if out.Targets.Value[i], err = b.Scaled(v); err != nil {
			return nil, fmt.Errorf("%s: row %d: %w", d.Name, i+1, err)
		}
	}
	return &out, nil
}

// Expect prepares an empty data set d for a function that reads rows from a file into it. It sets the fields Classes
// and Names from the labels l or, for regression, Classes and Targets from the bounds b. Give one of l and b, and nil
// for the other; anything else is an error. The labels or bounds must come from the user, because the program does
// not infer them from the records.
func (d *Dataset) Expect(l *Labels, b *TargetBounds) error {
	switch {
	case l != nil && b != nil:
		return errors.New("labels and bounds of targets, must be one of them")
	case b != nil:
		if err := b.Check(); err != nil {
			return err
		}
		d.Classes, d.Targets = 1, &Targets{Bounds: *b}
	case l != nil:
		d.Names = l.Names()
		d.Classes = len(d.Names)
	default:
		return errors.New("labels are missing, must be given: the list of labels is public and not taken from the data")
	}
	return nil
}

// validate calls fail for every problem of the targets of d.
func (t *Targets) validate(d *Dataset, fail func(format string, args ...any)) {
	if err := t.Bounds.Check(); err != nil {
		fail("%w", err)
	}
	if len(t.Value) != d.Len() || d.Classes != 1 {
		fail("%d targets for %d rows in %d classes, must be one for each row, in 1 class", len(t.Value), d.Len(), d.Classes)
	}
	if d.Images != nil {
		fail("targets of images, must be of rows")
	}
	for i, v := range t.Value {
		if !(v >= -1 && v <= 1) {
			fail("row %d: scaled target %v, must be in [-1, 1]", i, v)
			return
		}
	}
}
