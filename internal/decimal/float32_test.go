package decimal

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// sameAsStrconv reports an error unless Float32 leaves the text or reads it as strconv does.
func sameAsStrconv(t testing.TB, text string) (short bool) {
	t.Helper()
	got, ok := Float32(text)
	fromBytes, same := Float32([]byte(text))
	if same != ok || math.Float32bits(fromBytes) != math.Float32bits(got) {
		t.Errorf("%q is %v, %v, and as bytes %v, %v", text, got, ok, fromBytes, same)
	}
	if !ok {
		return false
	}
	want, err := strconv.ParseFloat(text, 32)
	if err != nil || math.Float32bits(got) != math.Float32bits(float32(want)) {
		t.Errorf("%q is %x (%v), strconv: %x, %v", text, math.Float32bits(got), got, math.Float32bits(float32(want)), err)
	}
	return true
}

// The oracle is strconv.ParseFloat. Numbers in the middle between two float32 and close to it are the hard ones.
func TestFloat32(t *testing.T) {
	for text, short := range map[string]bool{
		"0": true, "-0": true, "+0.0": true, "0e0": true, "1": true, "0.18257": true, "1.": true, ".5": true, "-.5e1": true,
		"1e10": true, "1E+2": true, "1.25e-07": true, "0.000000000000001": true, "1234567890123456789": true,
		"0.00000000000000000000000012345": true, "3.4028234e38": true, "1.1754944e-38": false, "18446744073709551615": false,
		"16777217": false, "16777219": false, "33554433.0": true, "9007199254740993": true, "1e-38": false, "1e-45": false,
		"3.4028235e38": false, "3.4028236e38": false, "1e39": false, "123456789012345678901234567890": false,
		"": false, "+": false, ".": false, "-.e1": false, "e1": false, "1e": false, "1e+": false, "1e100": false, "1e1.": false,
		"1 ": false, " 1": false, "--1": false, "1..": false, "1_0": false, "0x1p-2": false, "inf": false, "NaN": false,
		"1,5": false, "1e-+1": false, "0.1234567:": false, "0./2345678": false, "0.12345678": true, "0.1234567 1": false, "٣": false, "1\x00": false,
	} {
		if got := sameAsStrconv(t, text); got != short {
			t.Errorf("%q: read %v, want %v", text, got, short)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	short, all := 0, 0
	for range 30_000 {
		v := math.Float32frombits(random.Uint32())
		if v != v || math.IsInf(float64(v), 0) {
			continue
		}
		middle := (float64(v) + float64(math.Nextafter32(v, 0))) / 2
		near := math.Float64frombits(math.Float64bits(middle) + random.Uint64N(17) - 8)
		normal := random.NormFloat64()
		form := "eEfg"[random.IntN(4)]
		for _, text := range []string{
			strconv.FormatFloat(float64(v), 'g', -1, 32),
			strconv.FormatFloat(middle, 'g', 9+random.IntN(10), 64),
			strconv.FormatFloat(near, 'e', 16+random.IntN(3), 64),
			strconv.FormatFloat(normal, form, random.IntN(19), 64),
			strconv.FormatFloat(normal, 'g', -1, 64),
			strconv.FormatFloat(float64(1<<24+random.IntN(1<<24))+0.5, 'f', 1+random.IntN(6), 64),
			strconv.FormatUint(random.Uint64()>>random.IntN(64), 10) + "e" + strconv.Itoa(random.IntN(80)-50),
		} {
			all++
			if sameAsStrconv(t, text) {
				short++
			}
		}
	}
	if short < all/2 {
		t.Errorf("%d of %d numbers were read", short, all)
	}
}

func FuzzFloat32(f *testing.F) {
	for text := range strings.FieldsSeq("1 -0.5 1.25e-07 16777217.0000001 +.5E+3 340282346638528859811704183484516925440 1e-39") {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { sameAsStrconv(t, text) })
}

func BenchmarkFloat32(b *testing.B) {
	for _, text := range []string{"7", "-0.123456", "0.13337460465860485", "1.25e-07"} {
		b.Run(text, func(b *testing.B) {
			field := []byte(text)
			for b.Loop() {
				Float32(field)
			}
		})
	}
}
