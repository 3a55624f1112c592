package trainer

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	"proactivedp/dp"
	"proactivedp/internal/decimal"
	"proactivedp/internal/strictjson"
)

// Line is one line of JSON that the script prints to stdout, such as {"metric": 0.93}. It has exactly one of the
// fields. The line with the metric must be the script's last one. All other text must go to stderr.
type Line struct {
	// Metric is the result of the training, such as the accuracy, in [0, 1]; larger is better. A training that
	// diverged has the metric 0.
	Metric *float64 `json:"metric,omitempty"`
	Curve  *Point   `json:"curve,omitempty"`  // the metric after some steps
	Rounds *Rounds  `json:"rounds,omitempty"` // rounds that were really run; the rounds of several lines are added
}

// Point is a point of the learning curve that the script reports: the metric after some steps.
type Point struct {
	Step   int     `json:"step"`
	Metric float64 `json:"metric"`
}

// Rounds is the script's report that it ran Steps steps, all with this noise multiplier and sample rate. A script
// prints it so that the program can check that the script followed its [Plan].
type Rounds struct {
	NoiseMultiplier float64 `json:"noise_multiplier"`
	SampleRate      float64 `json:"sample_rate"` // probability that a record is in the batch of a step
	Steps           int     `json:"steps"`
}

// Result is what a script reported about one training: the metric at the end, points of the curve, and
// the rounds that it ran.
type Result struct {
	Metric float64  `json:"metric"`
	Curve  []Point  `json:"curve,omitempty"`
	Rounds []Rounds `json:"rounds"` // the rounds that the script really ran
}

// MaxLine, MaxLines and MaxStderr limit the output of one run of the script: the bytes of a line on stdout, the
// number of lines, and the bytes on stderr. After a longer line or too many lines, the script is stopped, and the
// training has failed. Bytes on stderr beyond the limit are dropped.
const (
	MaxLine   = 4096
	MaxLines  = 1000
	MaxStderr = 1 << 20
)

func parseLine(text []byte) (Line, error) {
	var l Line
	if err := strictjson.DecodeWhole(text, &l, MaxLine); err != nil {
		return unread(text), err
	}
	given := 0
	for _, is := range []bool{l.Metric != nil, l.Curve != nil, l.Rounds != nil} {
		if is {
			given++
		}
	}
	if given != 1 {
		return l, fmt.Errorf("%d of the keys metric, curve and rounds, must be one", given)
	}
	switch {
	case l.Metric != nil:
		return l, checkMetric(*l.Metric)
	case l.Curve != nil:
		return l, errors.Join(dp.CheckCount("step", l.Curve.Step, 0, dp.MaxRounds), checkMetric(l.Curve.Metric))
	}
	return l, l.Rounds.check()
}

// unread returns what a line that cannot be read may mean. If it is about rounds, they may be any, so no ε holds.
func unread(text []byte) Line {
	if bytes.Contains(text, []byte("rounds")) {
		return Line{Rounds: &Rounds{NoiseMultiplier: 0, SampleRate: 1, Steps: 1}}
	}
	return Line{}
}

func checkMetric(v float64) error {
	if !(v >= 0 && v <= 1) {
		return fmt.Errorf("metric = %v, must be in [0, 1], larger is better; print 0 for a training that diverged", v)
	}
	return nil
}

func (r Rounds) check() error {
	return errors.Join(dp.CheckNotNegative("noise_multiplier", r.NoiseMultiplier), dp.CheckRate(r.SampleRate),
		dp.CheckCount("steps", r.Steps, 1, dp.MaxRounds))
}

// check reports how the reported rounds differ from the plan.
func (r Result) check(p Plan) error {
	if err := checkMetric(r.Metric); err != nil {
		return err
	}
	if len(r.Rounds) == 0 {
		return errors.New(`the script reported no rounds, must print {"rounds": {"noise_multiplier": …, "sample_rate": …, ` +
			`"steps": …}} with those that it ran`)
	}
	var errs []error
	steps := 0
	for _, rounds := range r.Rounds {
		steps += rounds.Steps
		if err := rounds.check(); err != nil {
			errs = append(errs, err)
		}
		if !alike(rounds.NoiseMultiplier, p.NoiseMultiplier) {
			errs = append(errs, fmt.Errorf("the script reported noise_multiplier = %v, must be %v as planned",
				rounds.NoiseMultiplier, p.NoiseMultiplier))
		}
		if short := p.SampleRate - rounds.SampleRate; !alike(rounds.SampleRate, p.SampleRate) && !(short >= 0 && short < torchRate) {
			errs = append(errs, fmt.Errorf("the script reported sample_rate = %v, must be %v as planned", rounds.SampleRate,
				p.SampleRate))
		}
		if len(errs) > 0 {
			return errors.Join(errs...) // thousands of lines would say the same
		}
	}
	if steps != p.Steps {
		return fmt.Errorf("the script reported %d steps, must be %d as planned", steps, p.Steps)
	}
	return nil
}

// torchRate is the resolution of sample rates in PyTorch, whose random numbers have 24 bits. A rate that is
// rounded down to it costs no more than the planned one.
const torchRate = 1.0 / (1 << 24)

// raised returns the event, or one that costs at least as much as the event and as the rounds: the
// least noise, the largest rate and the larger number of steps. The cost of subsampled Gaussian rounds
// grows with the rate and with the number of rounds, and falls with the noise. So whatever is composed
// with them later, the result is on the safe side. Rounds outside their ranges, which are an error
// elsewhere, count as the worst that they could mean.
func raised(e dp.Event, rounds []Rounds) dp.Event {
	steps := 0
	for _, r := range rounds {
		// A number that agrees with the plan is the plan's: printed digits must not change an ε.
		if r.NoiseMultiplier < e.NoiseMultiplier && !alike(r.NoiseMultiplier, e.NoiseMultiplier) {
			e.NoiseMultiplier = max(r.NoiseMultiplier, 0)
		}
		if r.SampleRate > e.SampleRate() && !alike(r.SampleRate, e.SampleRate()) {
			e.Rate, e.SampleSize, e.DatasetSize = min(r.SampleRate, 1), 0, 0
		}
		sum, ok := decimal.Sum(steps, max(r.Steps, 0))
		if !ok {
			e.NoiseMultiplier = 0 // more rounds than can be counted: no ε holds
			break
		}
		steps = sum
	}
	e.Count = max(e.Count, steps)
	return e
}

// output reads the stdout of a script.
type output struct {
	result Result
	ended  bool // the metric was read
	lines  int
	part   []byte // of a line that is not complete
	long   bool   // the line is too long; part has what may be the beginning of the word rounds
	// rounds is called with all rounds that were reported so far, as soon as a line reports more. It may
	// be nil.
	rounds func([]Rounds) error
	stop   func(error) // ends the script
	err    error
}

// Write reads what the script printed. After an error, it stops the script. What the script had printed by
// then may still come, and rounds in it count: a script in Python, for example, prints much at once, when all
// its rounds have run.
func (o *output) Write(text []byte) (int, error) {
	n := len(text)
	for len(text) > 0 {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		text = rest
		o.part = append(o.part, line...)
		if len(o.part) > MaxLine {
			if !o.long {
				o.long = true
				o.lines++
				o.fail(fmt.Errorf("it has more than %d bytes", MaxLine))
			}
			o.report(unread(o.part).Rounds)
			o.part = append(o.part[:0], o.part[len(o.part)-len("rounds"):]...)
		}
		switch {
		case whole && o.long:
			o.report(unread(o.part).Rounds)
			o.part, o.long = o.part[:0], false
		case whole:
			o.line()
		}
	}
	return n, nil
}

// report takes rounds that the script reported, unless they are nil.
func (o *output) report(r *Rounds) {
	if r == nil || len(o.result.Rounds) > 2*MaxLines {
		return
	}
	if len(o.result.Rounds) == 2*MaxLines {
		r = &Rounds{SampleRate: 1, Steps: 1} // as many as are kept: no ε holds
	}
	o.result.Rounds = append(o.result.Rounds, *r)
	if o.rounds != nil {
		if err := o.rounds(o.result.Rounds); err != nil {
			o.fail(err)
		}
	}
}

// line reads the line in o.part.
func (o *output) line() {
	text := bytes.TrimSpace(o.part)
	o.part = o.part[:0]
	if len(text) == 0 {
		return
	}
	l, err := parseLine(text)
	if o.lines++; o.lines > MaxLines {
		err = fmt.Errorf("it is one too many: a script prints at most %d lines", MaxLines)
	}
	o.report(l.Rounds) // they count even if they are wrong, or follow the metric or an error
	switch {
	case o.err != nil:
	case err != nil:
		o.fail(err)
	case o.ended:
		o.fail(errors.New("it follows the metric, which must be the last line"))
	case l.Metric != nil:
		o.result.Metric, o.ended = math.Abs(*l.Metric), true // -0 becomes 0
	case l.Curve != nil:
		o.result.Curve = append(o.result.Curve, *l.Curve)
	}
}

// fail keeps the first error, and stops the script.
func (o *output) fail(err error) {
	if o.err != nil {
		return
	}
	o.err = fmt.Errorf("line %d of the script's stdout: %w; messages belong on stderr", o.lines, err)
	o.stop(o.err)
}

// finish returns the result after the script has ended.
func (o *output) finish() (Result, error) {
	if o.long {
		o.report(unread(o.part).Rounds)
	} else {
		o.line() // a last line may have no line break
	}
	if o.err == nil && !o.ended {
		o.err = errors.New(`the script printed no metric, must print {"metric": …} as its last line`)
	}
	return o.result, o.err
}
