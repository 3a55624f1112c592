package data

import "context"

// FeatureMap computes features from images, with which a model then trains instead of the pixels. The features of a
// record depend only on that record and on public constants, so they cost no privacy. Packages data/hog and
// data/scatter have implementations. Apply one with [Dataset.Featured].
type FeatureMap interface {
	// String returns the name and the options of the map as text, from which the same map can be parsed again.
	String() string
	// Features returns the number of features of each record of d, or an error if they cannot be computed for d.
	Features(d *Dataset) (int, error)
	// Bytes returns how many bytes of memory the result of Apply takes for d, or 0 if Apply would fail.
	Bytes(d *Dataset) int64
	// Constants returns the SHA-256, in hexadecimal, of the public constants with which features are computed, or ""
	// without such constants. Two programs whose hashes differ compute different features.
	Constants() string
	// Apply returns the records of d with dense rows of their features instead of images. It calls progress, unless
	// that is nil, with the number of records that are done.
	Apply(ctx context.Context, d *Dataset, progress func(done int)) (*Dataset, error)
}

// Featured returns the records of d with dense rows of the features m in place of images. It calls the function
// d.Featurer, which can read features from a file instead of computing them again. If d.Featurer is nil, it calls
// m.Apply. The caller may change the returned rows.
func (d *Dataset) Featured(m FeatureMap) (*Dataset, error) {
	if d.Featurer != nil {
		return d.Featurer(d, m)
	}
	return m.Apply(context.Background(), d, nil)
}
