package modeltest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"testing"

	"proactivedp/data"
	"proactivedp/internal/cpu"
	"proactivedp/internal/f32"
	"proactivedp/models"
	"proactivedp/rng"
)

// Golden fails the test if the bits of a network's results have changed. Use it to notice that a change of the code
// changes results that users have stored. Golden computes the sum of the clipped gradients of d at the initial
// parameters of seed 1, and compares its hash with want: the first 8 bytes of its SHA-256, in hexadecimal. It does so
// with each variant of the arithmetic code (for different processor instructions) that this machine has, except for
// the portable one, which rounds differently. tiled is the hash with matrix tiles (AMX instructions); leave it out if
// they give the same bits. If the change of the bits is intended, raise the number that train.Spec.CodeVersion
// returns, so that stored results are no longer used, and recompute the results.
func Golden(t *testing.T, m models.Model, d *data.Dataset, want string, tiled ...string) {
	t.Helper()
	params, sum := make([]float32, m.NumParams()), make([]float32, m.NumParams())
	m.Init(params, rng.New(1).Stream(rng.Init, 0, 0))
	all := d.All().All()
	for _, class := range f32.Classes() {
		if class == cpu.Portable {
			continue
		}
		restore, err := f32.Use(class)
		if err != nil {
			t.Fatal(err)
		}
		err = m.ClippedGradSum(sum, params, all, 0.5, m.NewScratch())
		restore()
		if err != nil {
			t.Fatal(err)
		}
		bits := make([]byte, 0, 4*len(sum))
		for _, v := range sum {
			bits = binary.LittleEndian.AppendUint32(bits, math.Float32bits(v))
		}
		hash, want := sha256.Sum256(bits), want
		if class == cpu.AMX && len(tiled) > 0 {
			want = tiled[0]
		}
		if got := hex.EncodeToString(hash[:8]); got != want {
			t.Errorf("%s, %v: the sum hashes to %s, want %s", m.Name(), class, got, want)
		}
	}
}
