package train

import (
	"fmt"
	"runtime/debug"
	"strings"

	"proactivedp/data"
	"proactivedp/data/hog"
	"proactivedp/data/scatter"
	"proactivedp/internal/memory"
)

// inputs has the transformation of records before a model sees them. Each record is transformed
// independently, so this costs no privacy.
type inputs struct {
	features string  // see Spec.FeatureMap
	scale    float64 // see Spec.InputScale
}

// ParseFeatures reads the text of Spec.FeatureMap, which chooses image features that are fixed, so that computing
// them costs no privacy. The text is hog:CELL:BINS (histograms of BINS gradient directions in cells of CELL×CELL
// pixels, see package data/hog) or scatter[:OPTION=VALUE…] (wavelet features, see package data/scatter). The
// result computes the features of a data set: see [data.Dataset.Featured].
func ParseFeatures(text string) (data.FeatureMap, error) {
	if text == scatter.Name || strings.HasPrefix(text, scatter.Name+":") {
		return scatter.Parse(text)
	}
	if strings.HasPrefix(text, hog.Prefix) {
		return hog.Parse(text)
	}
	return nil, fmt.Errorf("features = %.60q, must be hog:CELL:BINS, such as hog:4:8, or scatter[:OPTION=VALUE…]", text)
}

// validate reports every problem that does not depend on the data.
func (in inputs) validate() (errs []error) {
	if in.features != "" {
		if _, err := ParseFeatures(in.features); err != nil {
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
// they are scaled. The result is computed once and then kept, until others need its memory.
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
	if in.features == "" {
		if err := s.makeRoom(4*int64(len(s.data.Value)), "scaled inputs"); err != nil {
			return nil, err
		}
		return s.data.Scaled(in.scale)
	}
	m, err := ParseFeatures(in.features)
	if err != nil {
		return nil, err
	}
	if _, err := m.Features(s.data); err != nil {
		return nil, err
	}
	if err := s.makeRoom(m.Bytes(s.data), fmt.Sprintf("features %v", m)); err != nil {
		return nil, err
	}
	d, err := s.data.Featured(m)
	if err == nil && in.scale != 0 {
		err = d.ScaleRows(in.scale)
	}
	return d, err
}

// mostKept bounds the bytes of the views that a source keeps in addition to the one in use. The
// features of 60,000 images take from 0.1 to 2 GB.
const mostKept = 1 << 29

// makeRoom checks that the memory suffices for a new view. It first drops the other views if all together
// would take too much, or if they leave no memory for the new one. A run that still uses a view keeps it.
func (s *Source) makeRoom(need int64, what string) error {
	if need > 0 && (s.rowBytes()+need > mostKept || memory.Known().Check(need) != nil) {
		for in, d := range s.views {
			if d.Images == nil {
				s.drop(in)
			}
		}
		debug.FreeOSMemory()
	}
	if err := memory.Known().Check(need); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// drop forgets a view and everything that refers to it.
func (s *Source) drop(in inputs) {
	shape := s.views[in].Shape()
	delete(s.views, in)
	for spec := range s.prepared {
		if spec.inputs() == in {
			delete(s.prepared, spec)
		}
	}
	for key := range s.deals {
		if key.inputs == in {
			delete(s.deals, key)
		}
	}
	for key := range s.models { // linear models keep rows
		if key.shape == shape {
			delete(s.models, key)
		}
	}
}

// rowBytes returns the memory of the views that have rows. Scaled images share their pixels.
func (s *Source) rowBytes() int64 {
	bytes := int64(0)
	for _, d := range s.views {
		if d.Images == nil {
			bytes += 4 * int64(len(d.Value))
		}
	}
	return bytes
}

// viewBytes returns the memory of the transformed data sets, in addition to the data set itself.
func (s *Source) viewBytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rowBytes()
}
