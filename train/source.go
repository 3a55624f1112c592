package train

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"proactivedp/data"
	"proactivedp/models"
	"proactivedp/nn"
	"proactivedp/rng"
	"proactivedp/sim"
)

// Source prepares trainings with several specs on one data set. It prepares each spec only once. The prepared
// trainings share the data, the clients' rows, the models, and the content of traces (files of measured durations,
// see clock.Trace), which saves memory and time. A Source is safe for concurrent use.
//
// Use NewSource to make one. The methods of a zero Source return an error or, if they have no error result, may
// panic.
type Source struct {
	data *data.Dataset
	hash func() string

	mu       sync.Mutex
	prepared map[Spec]*Prepared
	views    map[inputs]*data.Dataset
	deals    map[dealt]deal
	models   map[modelFor]models.Model
	traces   map[string]trace
}

// NewSource returns a Source that prepares trainings on d. The data set d must not change afterwards.
func NewSource(d *data.Dataset) *Source {
	return &Source{
		data: d, hash: sync.OnceValue(d.Hash),
		prepared: map[Spec]*Prepared{}, views: map[inputs]*data.Dataset{}, deals: map[dealt]deal{},
		models: map[modelFor]models.Model{}, traces: map[string]trace{},
	}
}

// Data returns the data set that was given to [NewSource].
func (s *Source) Data() *data.Dataset { return s.data }

// Hash returns the SHA-256 of the data set's content in hexadecimal (see [data.Dataset.Hash]). Use it to recognise
// the same data again. It is computed only once.
func (s *Source) Hash() string { return s.hash() }

// Prepare returns the run of spec on the source's data, as [Spec.Prepare] does. All random numbers come from
// spec.Seed. Use [Source.PrepareWith] for another source of randomness. Calls with the same spec usually return the
// same Prepared, so callers must not change it. But if the image features of all specs (Spec.FeatureMap) need too much
// memory, the Source removes those of earlier specs with their Prepared, and a later call prepares such a spec again.
func (s *Source) Prepare(spec Spec) (*Prepared, error) {
	if err := s.made(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.prepared[spec]; p != nil {
		return p, nil
	}
	p, err := s.prepare(spec, rng.New(spec.Seed))
	if err == nil {
		s.prepared[spec] = p
	}
	return p, err
}

// PrepareWith returns the run of spec on the source's data, with random numbers from root instead of spec.Seed. Use
// it for a training whose model is published, with a root from rng.NewFromOS and Spec.SeedFromOS set. If root is nil,
// it is that of spec.Seed. Each call returns a new Prepared, but image features that the Source has computed for
// another spec are used again.
func (s *Source) PrepareWith(spec Spec, root *rng.Root) (*Prepared, error) {
	if err := s.made(); err != nil {
		return nil, err
	}
	if root == nil {
		root = rng.New(spec.Seed)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.prepare(spec, root)
}

// dealt has the settings of a spec that determine a deal; equal ones share it.
type dealt struct {
	root      rng.Name
	split     string
	holdout   float64
	fold      int
	partition data.Partition
	clients   int
	atMost    int
	inputs    inputs
}

// deal has the rows of each client, and the rows for evaluation.
type deal struct {
	rows []data.Subset
	test data.Subset
}

func (d deal) of(set *data.Dataset) deal {
	d.rows, d.test.Data = slices.Clone(d.rows), set
	for i := range d.rows {
		d.rows[i].Data = set
	}
	return d
}

// deal splits the data and divides the training rows among the spec's clients.
func (s *Source) deal(spec Spec, partition data.Partition, root *rng.Root) (deal, error) {
	key := dealt{root.Name(), spec.Split, spec.Holdout, spec.Fold, partition, spec.Clients, spec.AtMost, spec.inputs()}
	if s.data.Train > 0 && partition == data.Replicate && spec.Holdout == 0 && spec.AtMost == 0 {
		key.root = rng.Name{} // such a deal does not depend on the root
	}
	if d, done := s.deals[key]; done {
		return d, nil
	}
	if key.inputs != (inputs{}) {
		set, err := s.shown(key.inputs)
		if err != nil {
			return deal{}, err
		}
		spec.FeatureMap, spec.InputScale = "", 0
		d, err := s.deal(spec, partition, root)
		if err != nil {
			return deal{}, err
		}
		s.deals[key] = d.of(set)
		return s.deals[key], nil
	}
	train, test, err := spec.SplitRows(s.data, root)
	if err != nil {
		return deal{}, err
	}
	if spec.Holdout > 0 {
		if train, test, err = data.HoldOut(train, spec.Holdout, spec.Fold, root); err != nil {
			return deal{}, err
		}
	}
	if spec.AtMost > 0 {
		if train, err = train.AtMost(spec.AtMost, root); err != nil {
			return deal{}, err
		}
	}
	rows, err := partition.Deal(train, spec.Clients, root)
	if err != nil {
		return deal{}, err
	}
	s.deals[key] = deal{rows, test}
	return s.deals[key], nil
}

// prepare checks the spec and builds the run.
func (s *Source) prepare(spec Spec, root *rng.Root) (*Prepared, error) {
	p, err := s.configure(spec, root)
	if err != nil {
		return nil, err
	}
	if err := p.finish(p.Config.Rows[0].Len()); err != nil {
		return nil, err
	}
	return p, nil
}

// configure builds the run of a spec. The caller must call finish, which checks the run.
func (s *Source) configure(spec Spec, root *rng.Root) (*Prepared, error) {
	if s.data == nil {
		return nil, errors.New("no data set")
	}
	if err := errors.Join(root.Check(), spec.Validate()); err != nil {
		return nil, err
	}
	if spec.Features != 0 && spec.Features != s.data.Features {
		return nil, fmt.Errorf("features = %d, must be %d as in %s, or 0", spec.Features, s.data.Features,
			s.data.Name)
	}
	in, err := spec.parse()
	if err != nil {
		return nil, err
	}
	if spec, err = spec.readTraces(&in, s.readTrace); err != nil {
		return nil, err
	}
	spec.Model = in.model.name
	deal, err := s.deal(spec, in.partition, root)
	if err != nil {
		return nil, err
	}
	n := deal.rows[0].Len()
	model, err := s.model(in.model, deal.test.Data, spec, n)
	if err != nil {
		return nil, err
	}
	if err := spec.MetricOf().Check(model, deal.test.Data); err != nil {
		return nil, err
	}
	config := spec.config(in)
	if spec.Initial != "" {
		if config.Initial, spec.InitialSHA256, err = spec.readInitial(model, classNames(deal.test.Data)); err != nil {
			return nil, err
		}
	}
	config.Model, config.Rows, config.Mechanism = model, deal.rows, spec.mechanism(in, n)
	config.Roots = sim.SharedRoots(root, spec.Clients).ForRun(spec.Run)
	return &Prepared{Spec: spec, Test: deal.test, Delta: spec.Delta, Config: &config, source: s}, nil
}

// modelFor identifies a model with a penalty for records of a shape.
type modelFor struct {
	name      string
	precision nn.Precision
	shape     string
	lambda    float64
	weights   string
	clipping  string
}

// model returns a model of the spec for the data set, for clients with n records. It is built once, because a network has
// tables for its shapes.
func (s *Source) model(kind modelKind, set *data.Dataset, spec Spec, n int) (models.Model, error) {
	precision, lambda, weights := nn.Precision(spec.Precision), spec.lambda(n), spec.ClassWeights
	key := modelFor{kind.name, precision, set.Shape(), lambda, weights, spec.Clipping}
	if m := s.models[key]; m != nil {
		return m, nil
	}
	m, err := kind.build(set, lambda)
	if err == nil && precision != nn.Float32 {
		m, err = precise(m, precision)
	}
	if err == nil && weights != "" {
		m, err = weigh(m, weights, classNames(set))
	}
	if err == nil && spec.Clipping == AutomaticClipping {
		clipper, ok := m.(models.AutomaticClipper)
		if !ok {
			return nil, fmt.Errorf("clipping = %q: the model %s does not support it", spec.Clipping, m.Name())
		}
		m = clipper.WithAutomaticClipping()
	}
	if err == nil {
		s.models[key] = m
	}
	return m, err
}

// weigh returns a model with weights of its classes, see Spec.ClassWeights.
func weigh(m models.Model, text string, labels []string) (models.Model, error) {
	weights, err := parseClassWeights(text, labels)
	if err != nil {
		return nil, err
	}
	weightable, ok := m.(models.Weightable)
	if !ok {
		return nil, fmt.Errorf("class weights: the model %s takes none", m.Name())
	}
	return weightable.WithClassWeights(weights)
}

// WeightsOn translates the class weights of s (Spec.ClassWeights) from the labels of the data set d to those of
// the data set other, and returns them as text: class i of other gets the weight of class i of d. Use it to train
// on a data set that has the same classes under other labels. It is an error if the numbers of classes differ.
func (s Spec) WeightsOn(d, other *data.Dataset) (string, error) {
	if s.ClassWeights == "" {
		return "", nil
	}
	weights, err := parseClassWeights(s.ClassWeights, classNames(d))
	if err != nil {
		return "", err
	}
	if other.Classes != d.Classes {
		return "", fmt.Errorf("class weights = %q of %d classes, but %s has %d", s.ClassWeights, d.Classes, other.Name, other.Classes)
	}
	var parts []string
	for i, label := range classNames(other) {
		parts = append(parts, fmt.Sprintf("%s:%v", label, weights[i]))
	}
	return strings.Join(parts, ","), nil
}

func parseClassWeights(text string, labels []string) ([]float64, error) {
	weights := slices.Repeat([]float64{1}, len(labels))
	given := make([]bool, len(labels))
	var errs []error
	for part := range strings.SplitSeq(text, ",") {
		at := strings.LastIndex(part, ":")
		if at < 0 {
			errs = append(errs, fmt.Errorf("class weights: %.60q, must be LABEL:WEIGHT", part))
			continue
		}
		class := slices.Index(labels, part[:at])
		w, err := strconv.ParseFloat(part[at+1:], 64)
		switch {
		case class < 0:
			errs = append(errs, fmt.Errorf("class weights: the label %.60q is unknown, must be one of %s", part[:at],
				strings.Join(labels, ", ")))
		case given[class]:
			errs = append(errs, fmt.Errorf("class weights: the label %.60q is given twice", part[:at]))
		case err != nil || !(w >= models.LeastClassWeight && w <= models.MostClassWeight):
			errs = append(errs, fmt.Errorf("class weights: %.60q of the label %.60q, must be in [%v, %v]", part[at+1:],
				part[:at], models.LeastClassWeight, models.MostClassWeight))
		default:
			weights[class], given[class] = w, true
		}
	}
	return weights, errors.Join(errs...)
}

// readTrace reads the file of a trace once.
func (s *Source) readTrace(file string) (trace, error) {
	if t, done := s.traces[file]; done {
		return t, nil
	}
	t, err := readTrace(file)
	if err == nil {
		s.traces[file] = t
	}
	return t, err
}

func (s *Source) made() error {
	if s == nil || s.hash == nil {
		return errors.New("this Source was not made by NewSource")
	}
	return nil
}
