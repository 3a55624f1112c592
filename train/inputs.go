package train

import (
	"fmt"

	"proactivedp/data"
	"proactivedp/data/hog"
	"proactivedp/internal/memory"
)

// inputs has the transformation of records before a model sees them. Each record is transformed
// independently, so this costs no privacy.
type inputs struct {
	features string  // see Spec.FeatureMap
	scale    float64 // see Spec.InputScale
}

// validate reports every problem that does not depend on the data.
func (in inputs) validate() (errs []error) {
	if in.features != "" {
		if _, err := hog.Parse(in.features); err != nil {
			errs = append(errs, err)
		}
	}
	if in.scale != 0 && !(in.scale >= data.MinInputScale && in.scale <= data.MaxInputScale) {
		errs = append(errs, fmt.Errorf("input scale = %v, must be in [%g, %g], or 0 for 1", in.scale,
			data.MinInputScale, data.MaxInputScale))
	}
	return errs
}

// shown returns the source's data set as a model sees it: first the features are computed, then
// they are scaled. The result is computed once and then kept.
func (s *Source) shown(in inputs) (*data.Dataset, error) {
	if in == (inputs{}) {
		return s.data, nil
	}
	if d := s.views[in]; d != nil {
		return d, nil
	}
	d, err := s.view(in)
	if err != nil {
		return nil, err
	}
	s.views[in] = d
	return d, nil
}

func (s *Source) view(in inputs) (*data.Dataset, error) {
	if in.scale != 0 {
		d, err := s.shown(inputs{features: in.features})
		if err != nil {
			return nil, err
		}
		if err := memory.Known().Check(4 * int64(len(d.Value))); err != nil {
			return nil, fmt.Errorf("scaled inputs: %w", err)
		}
		return d.Scaled(in.scale)
	}
	m, err := hog.Parse(in.features)
	if err != nil {
		return nil, err
	}
	if err := memory.Known().Check(m.Bytes(s.data)); err != nil {
		return nil, fmt.Errorf("features %v: %w", m, err)
	}
	return m.Apply(s.data)
}

// viewBytes returns the memory of the transformed data sets, in addition to the data set itself.
func (s *Source) viewBytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	bytes := int64(0)
	for _, d := range s.views {
		if d.Images == nil { // scaled images share their pixels
			bytes += 4 * int64(len(d.Value))
		}
	}
	return bytes
}
