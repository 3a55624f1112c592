package dp

import (
	"math"
	"testing"
)

// An invalid batch size is 0, which no mechanism allows. Its round is counted, so that Mechanism.Validate
// reports it.
func TestSizesThatAreNone(t *testing.T) {
	for _, s := range []Sizes{ConstantSizes(0), ConstantSizes(-5), ConstantSizes(math.MinInt), ListSizes{},
		ListSizes{-3},
		PolynomialSizes{}, PolynomialSizes{First: math.NaN()}, PolynomialSizes{First: -1e300},
		PolynomialSizes{First: 1, Slope: math.NaN(), Power: 1}, PolynomialSizes{First: 1, Slope: -10, Power: 1}} {
		run := Cut(s, 1000)
		if run.Rounds < 1 || run.Rounds > 2 || run.Computed < 0 || run.Computed > 1 {
			t.Errorf("%v: %+v", s, run)
		}
		m := Mechanism{Sampling: Poisson, Adjacency: AddOrRemove, ClipNorm: 1, NoiseMultiplier: 1, DatasetSize: 100,
			Sizes: s}
		if m.Validate(run.Rounds) == nil {
			t.Errorf("%v is accepted", s)
		}
	}
	if at := (PolynomialSizes{First: 1, Slope: 1e300, Power: 10}).At(1e6); at != math.MaxInt32 {
		t.Errorf("size %d", at)
	}
}

// If an int cannot hold the sum of a ledger's counts, there is no sum.
func TestLedgersDoNotOverflow(t *testing.T) {
	for _, events := range [][]Event{
		{{Count: math.MaxInt, SampleSize: 2}}, {{Count: math.MaxInt, SampleSize: 1}, {Count: 1, SampleSize: 3}},
		{{Count: 1 << 32, SampleSize: 1 << 32}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v has a sum", events)
				}
			}()
			var l Ledger
			for _, e := range events {
				l.Record(e)
			}
			t.Logf("%+v", l.Run())
		}()
	}
}
