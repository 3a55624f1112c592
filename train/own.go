package train

import (
	"errors"
	"fmt"

	"proactivedp/data"
	"proactivedp/nn"
	"proactivedp/rng"
	"proactivedp/sim"
)

// PrepareOwn prepares the part of one client, 0 ≤ client < n, that holds all records of
// the source, and no other client's: of a training whose clients keep their records to
// themselves. The model and δ are those of clients of records each, as the server has
// them; what is sampled and accounted goes by how many records there are. The spec's own
// deal of records is not made. All that is wrong is reported together.
func (s *Source) PrepareOwn(spec Spec, client, records int) (*Prepared, error) {
	if err := s.made(); err != nil {
		return nil, err
	}
	errs := []error{spec.Validate()}
	if client < 0 || client >= spec.Clients {
		errs = append(errs, fmt.Errorf("client = %d, must be in [0, %d]", client, spec.Clients-1))
	}
	if records < 1 {
		errs = append(errs, fmt.Errorf("records = %d, must be at least 1", records))
	}
	if spec.Features != 0 && spec.Features != s.data.Features {
		errs = append(errs, fmt.Errorf("features = %d, must be the %d of %s", spec.Features, s.data.Features,
			s.data.Name))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	in, err := spec.parse()
	if err != nil {
		return nil, err
	}
	spec.Model = in.model.name
	set, err := s.shown(spec.inputs())
	if err != nil {
		return nil, err
	}
	model, err := s.model(in.model, nn.Precision(spec.Precision), set, spec.lambda(records))
	if err != nil {
		return nil, err
	}
	rows := set.All()
	config := spec.config(in)
	config.Model, config.Mechanism = model, spec.mechanism(in, rows.Len())
	config.Rows = make([]data.Subset, spec.Clients)
	config.Rows[client] = rows
	config.Roots = sim.SharedRoots(rng.New(spec.Seed), spec.Clients)
	p := &Prepared{Spec: spec, Delta: spec.Delta, Config: &config, source: s}
	if p.Delta == 0 {
		p.Delta = 1 / float64(records)
	}
	return p, nil
}
