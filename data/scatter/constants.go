package scatter

import (
	"crypto/sha256"
	_ "embed" // for the constants
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"
)

// stored holds the statistics of drawn images for each of kinds, one after another: means, deviations,
// and the correlations above the diagonal, row by row. TestConstants computes them.
//
//go:embed constants.bin
var stored []byte

// kinds are the maps with statistics of their own, in the order of the file.
var kinds = []Map{
	{Root: No}, {Root: Yes},
	{Colour: RGB, Root: No}, {Colour: RGB, Root: Yes},
	{Colour: Opponent, Root: No}, {Colour: Opponent, Root: Yes},
}

func (m Map) planes() int {
	if m.Colour == "" {
		return 1
	}
	return 3
}

// Constants returns the SHA-256, in hexadecimal, of the constants by which features are normalised. Machines that
// train together compare it: with equal digests, they compute the same features, up to rounding. The constants are
// statistics of randomly generated images, not of the user's images. The digest is the same for every m.
func (m Map) Constants() string {
	sum := sha256.Sum256(stored)
	return hex.EncodeToString(sum[:])
}

// statistics describes the channels of drawn images. They are the same for mirrored images.
type statistics struct {
	mean, deviation []float32
	correlation     *mat.SymDense
}

// grain is the largest number of a stored correlation, which stands for 1.
const grain = math.MaxInt16

// storedBytes returns the number of bytes of statistics of n channels.
func storedBytes(n int) int { return 8*n + n*(n-1) }

// statisticsOf returns the stored statistics for a map that For returned.
func statisticsOf(m Map) statistics {
	at := stored
	for _, kind := range kinds {
		if kind.Colour == m.Colour && kind.Root == m.Root {
			return readStatistics(at, m.planes()*channels)
		}
		at = at[storedBytes(kind.planes()*channels):]
	}
	panic("scatter: a map without constants")
}

func readStatistics(at []byte, n int) statistics {
	s := statistics{make([]float32, n), make([]float32, n), mat.NewSymDense(n, nil)}
	for _, x := range [][]float32{s.mean, s.deviation} {
		for i := range x {
			x[i] = math.Float32frombits(binary.LittleEndian.Uint32(at))
			at = at[4:]
		}
	}
	for i := range n {
		s.correlation.SetSym(i, i, 1)
		for j := i + 1; j < n; j++ {
			s.correlation.SetSym(i, j, float64(int16(binary.LittleEndian.Uint16(at)))/grain)
			at = at[2:]
		}
	}
	return s
}

// whiten sets the recipe's constants: the matrix (Σ + λI)^−½ of standardised channels, and the scale
// that gives drawn images the mean squared norm Norm².
func (r *recipe) whiten(s statistics, ridge float64) error {
	n := len(s.mean)
	var e mat.EigenSym
	if !e.Factorize(s.correlation, true) {
		return errors.New("the eigenvalues of the correlations do not converge")
	}
	var vectors, scaled, root mat.Dense
	e.VectorsTo(&vectors)
	values, energy := e.Values(nil), 0.0
	for i, v := range values { // rounded correlations may have eigenvalues just below 0
		values[i] = max(v, 0) + ridge
		energy += 1 - ridge/values[i]
	}
	scaled.Apply(func(_, j int, v float64) float64 { return v / math.Sqrt(values[j]) }, &vectors)
	root.Mul(&scaled, vectors.T())
	r.matrix, r.shift = make([]float32, n*n), make([]float32, n)
	for i := range n {
		sum := 0.0
		for j := range n {
			v := root.At(i, j) / float64(s.deviation[j])
			r.matrix[i*n+j] = float32(v)
			sum -= v * float64(s.mean[j])
		}
		r.shift[i] = float32(sum)
	}
	energy *= float64(r.grid.rows * r.grid.columns)
	if r.fold {
		energy /= 2
	}
	r.scale = float32(Norm / math.Sqrt(energy))
	return nil
}
