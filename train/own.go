package train

import (
	"cmp"
	"errors"
	"fmt"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/rng"
	"proactivedp/sim"
)

// PrepareOwn prepares the work of one client of a training with separate processes, in which each client keeps its
// own records (package cluster). The client's process calls it. s has only the records of this client, and the client
// uses all of them. client is its number, 0 ≤ client < spec.Clients.
//
// records is the number of records that the server assumes for every client, because it does not know the real ones.
// It determines only the ridge penalty λ and δ, where the spec leaves them to their defaults 1/N. Sampling and
// accounting use the number of records in s. Spec.Partition is not used. All errors are reported together.
func (s *Source) PrepareOwn(spec Spec, client, records int) (*Prepared, error) {
	if err := s.made(); err != nil {
		return nil, err
	}
	errs := []error{spec.Validate(), dp.CheckCount("client", client, 0, spec.Clients-1)}
	if records < 1 {
		errs = append(errs, fmt.Errorf("records = %d, must be at least 1", records))
	}
	if spec.Features != 0 && spec.Features != s.data.Features {
		errs = append(errs, fmt.Errorf("features = %d, must be %d as in %s", spec.Features, s.data.Features,
			s.data.Name))
	}
	if spec.AtMost != 0 || s.data.Person != nil {
		errs = append(errs, errors.New("persons with several records, must not be given: clients that hold records of one "+
			"person do not know of each other"))
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
	model, err := s.model(in.model, set, spec, records)
	if err != nil {
		return nil, err
	}
	rows := set.All()
	config := spec.config(in)
	config.Model, config.Mechanism = model, spec.mechanism(in, rows.Len())
	config.Rows = make([]data.Subset, spec.Clients)
	config.Rows[client] = rows
	config.Roots = sim.SharedRoots(rng.New(spec.Seed), spec.Clients)
	return &Prepared{Spec: spec, Delta: cmp.Or(spec.Delta, 1/float64(records)), Config: &config, source: s}, nil
}
