package data

import "context"

// FeatureMap computes features that replace the content of images. The features of a record depend
// only on that record and on public constants, so they cost no privacy.
type FeatureMap interface {
	// String returns the recipe, from which the map can be read again.
	String() string
	// Features returns the number of features of a record of d, or an error if d has none.
	Features(d *Dataset) (int, error)
	// Bytes returns how many bytes Apply takes for d, or 0 if Apply fails.
	Bytes(d *Dataset) int64
	// Constants returns the SHA-256 of the public constants, or "" if there are none.
	Constants() string
	// Apply returns the records of d with dense rows of their features. progress is called with the
	// number of records that are done; it may be nil.
	Apply(ctx context.Context, d *Dataset, progress func(done int)) (*Dataset, error)
}

// Featured returns the records of d with dense rows of their features, which the caller may change.
func (d *Dataset) Featured(m FeatureMap) (*Dataset, error) {
	if d.Featurer != nil {
		return d.Featurer(d, m)
	}
	return m.Apply(context.Background(), d, nil)
}
