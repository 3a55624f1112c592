package libraries

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"proactivedp/dp"
)

// isEvent reports whether the text begins with the name of an event or a plan, and an opening
// parenthesis.
func isEvent(text []byte) bool {
	head := string(text[:min(len(text), 200)])
	name := pyName(head)
	if !strings.HasPrefix(head[len(name):], "(") {
		return false
	}
	return strings.HasSuffix(name, "DpEvent") || isPlan(name)
}

// isPlan reports whether name is the name of an execution plan of JAX Privacy.
func isPlan(name string) bool {
	return strings.HasSuffix(name, "ExecutionPlan") || strings.HasSuffix(name, "MFConfig")
}

// Limits of the input: the nesting depth of events, and the number of different kinds of rounds.
const (
	mostNested = 100
	mostKinds  = 100_000
)

// readDpEvent reads the text that Python prints of a DpEvent (repr), or the code that makes it:
//
//	SelfComposedDpEvent(PoissonSampledDpEvent(0.01, GaussianDpEvent(1.1)), 1000)
//
// It covers Gaussian noise, Poisson samples, samples without replacement, full batches, random
// allocation of each record to one round, and their repetition and composition; without sampling also Laplace noise and
// (ε, δ). The text is parsed and never executed.
func readDpEvent(text []byte) ([]dp.Event, error) {
	var v pyValue
	var err error
	if hasEventNames(text) {
		v, err = fromNamedTuple(text)
	} else {
		v, err = parseEvent(string(text))
	}
	if err != nil {
		return nil, err
	}
	events, err := v.events(1)
	if err != nil {
		return nil, err
	}
	if len(events) == 0 {
		return nil, errors.New("nothing was released")
	}
	return events, nil
}

// parseEvent reads the text of one event.
func parseEvent(text string) (pyValue, error) {
	p := eventParser{text: text}
	v, err := p.value(0)
	if err != nil {
		return v, p.at(err)
	}
	if p.blank(); p.text != "" {
		return v, p.at(errors.New("there is more after the event"))
	}
	return v, nil
}

// pyValue is a Python value: a number, a list, None, a name, or a call with its arguments.
type pyValue struct {
	name   string // of a call or a name; "" otherwise
	call   bool
	number float64
	list   []pyValue // elements, or the arguments of a call
	names  []string  // keywords of the arguments, "" for a positional one
	isList bool
}

// eventParser reads values from the front of text.
type eventParser struct{ text string }

func (p *eventParser) at(err error) error {
	near := p.text
	if len(near) > 30 {
		near = near[:30]
	}
	return fmt.Errorf("at %q: %w", near, err)
}

func (p *eventParser) blank() { p.text = strings.TrimLeft(p.text, " \t\r\n") }

// take skips the mark and returns true if the mark comes next in the text.
func (p *eventParser) take(mark string) bool {
	p.blank()
	rest, ok := strings.CutPrefix(p.text, mark)
	if ok {
		p.text = rest
	}
	return ok
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func isLetter(b byte) bool { return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || b == '_' }

// pyName returns the name at the beginning of text, such as a.b.C, or "".
func pyName(text string) string {
	end := 0
	for end < len(text) && isLetter(text[end]) {
		for end < len(text) && (isLetter(text[end]) || isDigit(text[end])) {
			end++
		}
		if end+1 >= len(text) || text[end] != '.' || !isLetter(text[end+1]) {
			break
		}
		end++
	}
	return text[:end]
}

// pyNumber returns the number at the beginning of text, or "".
func pyNumber(text string) string {
	end := 0
	digits := func() (some bool) {
		for end < len(text) && (isDigit(text[end]) || some && text[end] == '_') {
			end++
			some = true
		}
		return some
	}
	if end < len(text) && (text[end] == '-' || text[end] == '+') {
		end++
	}
	whole, part := digits(), false
	if end < len(text) && text[end] == '.' {
		end++
		part = digits()
	}
	if !whole && !part {
		return ""
	}
	if end < len(text) && (text[end] == 'e' || text[end] == 'E') {
		mantissa := end
		end++
		if end < len(text) && (text[end] == '-' || text[end] == '+') {
			end++
		}
		if !digits() {
			end = mantissa
		}
	}
	return text[:end]
}

// value reads one value at the given nesting depth.
func (p *eventParser) value(depth int) (pyValue, error) {
	if depth > mostNested {
		return pyValue{}, fmt.Errorf("events nested more than %d deep", mostNested)
	}
	if p.take("[") {
		list, _, err := p.values("]", depth)
		return pyValue{list: list, isList: true}, err
	}
	if p.take("(") { // a tuple
		list, _, err := p.values(")", depth)
		return pyValue{list: list, isList: true}, err
	}
	p.blank()
	if digits := pyNumber(p.text); digits != "" {
		p.text = p.text[len(digits):]
		v, err := strconv.ParseFloat(strings.ReplaceAll(digits, "_", ""), 64)
		return pyValue{number: v}, err
	}
	name := pyName(p.text)
	if name == "" {
		return pyValue{}, errors.New("must be an event, a number or a list")
	}
	p.text = p.text[len(name):]
	v := pyValue{name: name[strings.LastIndex(name, ".")+1:]}
	if !p.take("(") {
		return v, nil
	}
	v.call = true
	var err error
	v.list, v.names, err = p.values(")", depth)
	return v, err
}

// values reads comma-separated values up to the closing mark, and their keywords.
func (p *eventParser) values(end string, depth int) (list []pyValue, names []string, err error) {
	for !p.take(end) {
		if len(list) > 0 && !p.take(",") {
			return nil, nil, fmt.Errorf("must be a comma or %q", end)
		}
		if p.take(end) { // trailing comma
			break
		}
		p.blank()
		name := pyName(p.text)
		rest := strings.TrimLeft(p.text[len(name):], " \t\r\n")
		if after, ok := strings.CutPrefix(rest, "="); ok && name != "" {
			p.text = after
		} else {
			name = ""
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, nil, err
		}
		list, names = append(list, v), append(names, name)
	}
	return list, names, nil
}

// shape lists the arguments of each supported event, in order.
var shape = map[string][]string{
	"GaussianDpEvent":                  {"noise_multiplier"},
	"PoissonSampledDpEvent":            {"sampling_probability", "event"},
	"SampledWithoutReplacementDpEvent": {"source_dataset_size", "sample_size", "event"},
	"RandomAllocationDpEvent":          {"event", "num_selected", "num_steps"},
	truncatedEvent:                     {"dataset_size", "sampling_probability", "truncated_batch_size", "noise_multiplier"},
	"SelfComposedDpEvent":              {"event", "count"},
	"ComposedDpEvent":                  {"events"},
	"NoOpDpEvent":                      {},
	"LaplaceDpEvent":                   {"noise_multiplier"},
	"EpsilonDeltaDpEvent":              {"epsilon", "delta"},
	"ZCDpEvent":                        {"rho", "xi"},
	"DiscreteLaplaceDpEvent":           {"noise_parameter", "sensitivity"},
	"RandomizedResponseDpEvent":        {"noise_parameter", "num_buckets"},
}

// otherReleases are the events that are not rounds of training, and optional the value of an argument that dp_accounting has a
// default for.
var (
	otherReleases = []string{"LaplaceDpEvent", "EpsilonDeltaDpEvent", "ZCDpEvent", "DiscreteLaplaceDpEvent", "RandomizedResponseDpEvent"}
	optional      = map[string]float64{"xi": 0, "sensitivity": 1}
)

// covers says for events that no accountant here knows what would cover them. Sums of ε and δ are basic
// composition for one adjacency (C. Dwork and A. Roth, The Algorithmic Foundations of Differential Privacy, 2014, theorem 3.16).
var covers = map[string]string{
	"LaplaceDpEvent":                "; without sampling it is covered",
	"DiscreteLaplaceDpEvent":        "; without sampling it is covered",
	"EpsilonDeltaDpEvent":           "; without sampling it is covered",
	"RandomizedResponseDpEvent":     "; without sampling it is covered",
	"ZCDpEvent":                     "; without sampling it is covered",
	"SampledWithReplacementDpEvent": "; samples without replacement and Poisson samples are covered",
	"NonPrivateDpEvent":             ": it has no noise, so that ε is infinite",
	"UnsupportedDpEvent":            ": give the event that the program really made",
}

// allocationEvent is the event of random allocation. The order of its arguments is not settled, so
// their names must be given, as Python prints them.
const allocationEvent = "RandomAllocationDpEvent"

const truncatedEvent = "TruncatedSubsampledGaussianDpEvent"

// arguments are those of a call, by name.
type arguments map[string]pyValue

// arguments returns the arguments of a call.
func (v pyValue) arguments() (arguments, error) {
	want, known := shape[v.name]
	switch {
	case !v.call:
		return nil, fmt.Errorf("%s is no event", v.text())
	case isPlan(v.name):
		return nil, fmt.Errorf("%s: plans of JAX Privacy are experimental, and their form changes: give its "+
			"dp_event: %w",
			v.name, dp.ErrNotCovered)
	case !known:
		return nil, fmt.Errorf("%s is %w: no accountant here knows it%s", v.name, dp.ErrNotCovered, covers[v.name])
	}
	args := arguments{}
	for i, a := range v.list {
		name := v.names[i]
		if name == "" && v.name == allocationEvent && i > 0 {
			return nil, fmt.Errorf("%s has argument number %d without a name, must be num_selected=… and num_steps=…", v.name,
				i+1)
		}
		if name == "" && i < len(want) {
			name = want[i]
		}
		if !slices.Contains(want, name) {
			return nil, fmt.Errorf("%s has no argument %q, number %d", v.name, name, i+1)
		}
		if _, twice := args[name]; twice {
			return nil, fmt.Errorf("%s has the argument %s twice", v.name, name)
		}
		args[name] = a
	}
	for _, name := range want {
		if _, ok := args[name]; ok {
			continue
		}
		usual, ok := optional[name]
		if !ok {
			return nil, fmt.Errorf("%s has no %s", v.name, name)
		}
		args[name] = pyValue{number: usual}
	}
	return args, nil
}

func (v pyValue) text() string {
	switch {
	case v.isList:
		return "a list"
	case v.name != "":
		return v.name
	}
	return strconv.FormatFloat(v.number, 'g', -1, 64)
}

// number returns an argument as a number. NumPy 2 prints a number as np.float64(0.01). Other widths are
// refused, because their printed digits are not the exact number.
func (a arguments) number(name string) (float64, error) {
	v := a[name]
	if v.call && exactNumber(v.name) && len(v.list) == 1 && v.names[0] == "" {
		v = v.list[0]
	}
	if v.name != "" || v.isList {
		return 0, fmt.Errorf("%s = %s, must be a number", name, v.text())
	}
	return v.number, nil
}

// rate returns the probability with which a record is sampled. dp.Event would take 0 as a rate that is not given.
func (a arguments) rate() (float64, error) {
	q, err := a.number("sampling_probability")
	if err == nil && q == 0 {
		err = errors.New("sampling_probability = 0, must be in (0, 1]")
	}
	return q, err
}

// count returns an argument as an integer of at least 1.
func (a arguments) count(name string) (int, error) {
	n, err := a.number(name)
	if err != nil {
		return 0, err
	}
	return wholeNumber(name, n)
}

// events returns the rounds of an event that is repeated the given number of times.
func (v pyValue) events(times int) ([]dp.Event, error) {
	args, err := v.arguments()
	if err != nil {
		return nil, err
	}
	switch v.name {
	case "NoOpDpEvent":
		return nil, nil
	case "SelfComposedDpEvent":
		count, err := args.count("count")
		if err != nil {
			return nil, err
		}
		if float64(times)*float64(count) > 1<<53 {
			return nil, fmt.Errorf("count = %d of %d, must be at most 2^53 in all", count, times)
		}
		return args["event"].events(times * count)
	case "ComposedDpEvent":
		if !args["events"].isList {
			return nil, fmt.Errorf("events = %s, must be a list", args["events"].text())
		}
		var all []dp.Event
		for _, e := range args["events"].list {
			some, err := e.events(times)
			if err != nil {
				return nil, err
			}
			if all = append(all, some...); len(all) > mostKinds {
				return nil, fmt.Errorf("more than %d kinds of rounds", mostKinds)
			}
		}
		return all, nil
	}
	if slices.Contains(otherReleases, v.name) {
		e, err := v.other(args)
		e.Count = times
		return []dp.Event{e}, err
	}
	e, err := v.round(args)
	e.Count = times
	if e.Sampling == dp.Allocation { // every repetition is an epoch with a separate draw
		steps, stepsErr := args.count("num_steps")
		if stepsErr == nil && float64(times)*float64(steps) > 1<<53 {
			stepsErr = fmt.Errorf("num_steps = %d of %d, must be at most 2^53 in all", steps, times)
		}
		err = errors.Join(err, stepsErr)
		e.Count, e.Rate, e.Redraw = times*steps, 1/float64(max(steps, 1)), dp.EachEpoch
	}
	return []dp.Event{e}, err
}

// other returns a release that is not a round of training.
func (v pyValue) other(args arguments) (e dp.Event, err error) {
	e.Sampling = dp.Unsampled
	switch v.name {
	case "LaplaceDpEvent":
		e.Other, e.Adjacency = dp.LaplaceNoise, dp.AddOrRemove // the noise is relative to what one record adds
		e.NoiseMultiplier, err = args.number("noise_multiplier")
		return e, err
	case "ZCDpEvent":
		e.Other = dp.ConcentratedDP
		var xi float64
		var xiErr error
		e.Rho, err = args.number("rho")
		if xi, xiErr = args.number("xi"); xiErr == nil && xi != 0 {
			xiErr = fmt.Errorf("xi = %v, must be 0: %w", xi, dp.ErrNotCovered)
		}
		return e, errors.Join(err, xiErr)
	case "DiscreteLaplaceDpEvent": // its probabilities fall by e^-a from one whole number to the next
		e.Other, e.Adjacency = dp.PureDP, dp.AddOrRemove
		a, err := args.number("noise_parameter")
		steps, stepsErr := args.count("sensitivity")
		if e.Epsilon = a * float64(steps); e.Epsilon > 0 {
			e.Epsilon = math.Nextafter(e.Epsilon, math.Inf(1))
		}
		return e, errors.Join(err, stepsErr)
	case "RandomizedResponseDpEvent":
		// The answer is the true one of k with probability 1-p+p/k, and each other one with p/k. A record that is
		// not there has no answer.
		e.Other, e.Adjacency = dp.PureDP, dp.ReplaceOne
		p, err := args.number("noise_parameter")
		if err == nil && !(p > 0 && p < 1) {
			err = fmt.Errorf("noise_parameter = %v, must be in (0, 1)", p)
		}
		k, kErr := args.count("num_buckets")
		if k == 2 { // otherwise not all losses are ±ε
			e.Other = dp.RandomizedResponse
		}
		e.Epsilon = math.Log1p(float64(k)*(1-p)/p) * (1 + 1e-15)
		return e, errors.Join(err, kErr)
	}
	var deltaErr error
	e.Epsilon, err = args.number("epsilon")
	e.Delta, deltaErr = args.number("delta")
	if e.Other = dp.ApproximateDP; e.Delta == 0 {
		e.Other = dp.PureDP
	}
	return e, errors.Join(err, deltaErr)
}

// round returns one round: its noise and its sampling.
func (v pyValue) round(args arguments) (e dp.Event, err error) {
	e.Sampling = dp.Poisson
	switch v.name {
	case "GaussianDpEvent":
		e.Rate = 1
		e.NoiseMultiplier, err = args.number("noise_multiplier")
		return e, err
	case "PoissonSampledDpEvent":
		e.Rate, err = args.rate()
	case truncatedEvent:
		var errs [4]error
		e.DatasetSize, errs[0] = args.count("dataset_size")
		e.Rate, errs[1] = args.rate()
		e.Truncated, errs[2] = args.count("truncated_batch_size")
		e.NoiseMultiplier, errs[3] = args.number("noise_multiplier")
		return e, errors.Join(errs[:]...)
	case allocationEvent:
		e.Sampling = dp.Allocation
		var selected int
		if selected, err = args.count("num_selected"); err == nil && selected != 1 {
			err = fmt.Errorf("num_selected = %d is %w: a record must be in 1 of num_steps rounds", selected, dp.ErrNotCovered)
		}
	default:
		e.Sampling = dp.FixedSize
		var sizeErr error
		e.DatasetSize, err = args.count("source_dataset_size")
		e.SampleSize, sizeErr = args.count("sample_size")
		err = errors.Join(err, sizeErr)
	}
	if err != nil {
		return e, err
	}
	sampled := args["event"]
	if sampled.name != "GaussianDpEvent" {
		return e, fmt.Errorf("%s of %s is %w: only that of GaussianDpEvent is%s", v.name, sampled.text(), dp.ErrNotCovered,
			covers[sampled.name])
	}
	noise, err := sampled.arguments()
	if err != nil {
		return e, err
	}
	e.NoiseMultiplier, err = noise.number("noise_multiplier")
	return e, err
}
