package clock

import (
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"proactivedp/rng"
)

func TestDurationsReadWhatTheyPrint(t *testing.T) {
	for _, text := range []string{
		"constant:1ms", "exponential:250µs", "uniform:1ms,3ms", "uniform:0s,0s", "lognormal:1ms,0.5",
		"pareto:1h0m0s,1.1", "trace:my,trace:1.csv", "constant:0s",
	} {
		d, err := ParseDuration(text)
		if err != nil || d.String() != text {
			t.Errorf("%q is read as %v, %v", text, d, err)
		}
	}
	for _, text := range []string{
		"", "1ms", "constant", "constant:", "constant:1", "constant:-1ms", "constant:61m", "constant:1ms,2ms",
		"gamma:1ms",
		"uniform:3ms,1ms", "uniform:1ms", "uniform:1ms,2h", "lognormal:1ms", "lognormal:1ms,-1", "lognormal:1ms,6",
		"lognormal:1ms,NaN",
		"pareto:1ms,1", "pareto:1ms,Inf", "pareto:1ms,1.5,2", "trace:",
	} {
		if d, err := ParseDuration(text); err == nil || !strings.Contains(err.Error(), "duration = ") {
			t.Errorf("%q is read as %v, %v", text, d, err)
		}
	}
}

// Every family has the mean that it says, and the median of its formula: within 6
// standard deviations of the empirical distribution at either, a false alarm in
// 10⁸ runs. The mean of a heavy tail has no such bound, and is tested at a shape
// where it has.
func TestDurationsHaveTheirMeanAndMedian(t *testing.T) {
	const draws = 40_000
	for _, c := range []struct {
		text             string
		mean, sd, median float64
	}{
		{"constant:1ms", 1e6, 0, 1e6},
		{"exponential:1ms", 1e6, 1e6, 1e6 * math.Ln2},
		{"uniform:1ms,4ms", 2.5e6, 3e6 / math.Sqrt(12), 2.5e6},
		{"lognormal:1ms,0.5", 1e6, 1e6 * math.Sqrt(math.Exp(0.25)-1), 1e6 * math.Exp(-0.125)},
		{"pareto:1ms,3", 1e6, 1e6 / math.Sqrt(3), 1e6 * 2 / 3 * math.Cbrt(2)},
		{"pareto:1ms,1.5", 1e6, math.Inf(1), 1e6 / 3 * math.Pow(2, 2.0/3)},
	} {
		d, err := ParseDuration(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if d.Expected() != c.mean {
			t.Errorf("%s: mean %v, want %v", c.text, d.Expected(), c.mean)
		}
		root, s := rng.New(2), new(rng.Stream)
		sum, below := 0.0, 0
		for i := range draws {
			x := d.At(root, rng.ComputeTime, 0, i, 1, s)
			sum += float64(x)
			if float64(x) < c.median {
				below++
			}
		}
		if off := math.Abs(sum/draws - c.mean); off > 6*c.sd/math.Sqrt(draws) {
			t.Errorf("%s: mean %v, want %v", c.text, sum/draws, c.mean)
		}
		if off := math.Abs(float64(below) - draws/2); c.sd > 0 && off > 6*math.Sqrt(draws)/2 {
			t.Errorf("%s: %d of %d below the median", c.text, below, draws)
		}
	}
}

func TestSpeedsReadWhatTheyPrint(t *testing.T) {
	for _, text := range []string{"", "1", "1,0.1,3", "lognormal:0.5", "pareto:1.5"} {
		s, err := ParseSpeeds(text)
		if err != nil || s.String() != text {
			t.Errorf("%q is read as %v, %v", text, s, err)
		}
	}
	for _, text := range []string{",", "0", "1,", "1,-1", "NaN", "2000", "gamma:1", "pareto:1", "lognormal:",
		"exponential:1"} {
		if s, err := ParseSpeeds(text); err == nil {
			t.Errorf("%q is read as %v", text, s)
		}
	}
	// Drawn factors on the time have mean 1: of σ = 0.5 within 6 standard deviations.
	const clients = 20_000
	sum := 0.0
	for _, f := range (Speeds{Kind: Lognormal, Shape: 0.5}).Factors(clients, rng.New(1)) {
		sum += f
	}
	if off := math.Abs(sum/clients - 1); off > 6*math.Sqrt((math.Exp(0.25)-1)/clients) {
		t.Errorf("drawn factors have mean %v", sum/clients)
	}
}

func FuzzParseDuration(f *testing.F) {
	for _, text := range []string{"constant:1ms", "uniform:1ms,3ms", "lognormal:1ms,0.5", "pareto:1ms,1.5", "trace:x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseDuration(text)
		if err != nil {
			return
		}
		again, err := ParseDuration(d.String())
		if err != nil || again != d {
			t.Errorf("%q is %v, and that is %v, %v", text, d, again, err)
		}
	})
}

func FuzzParseTrace(f *testing.F) {
	for _, text := range []string{"client,duration\n0,1ms\n", "client,duration\n1,1ms\n",
		"client,duration\n\"0\",\"1ms\"\r\n0,2h", "client\n", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		trace, err := ParseTrace(strings.NewReader(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "trace") {
				t.Errorf("error %v", err)
			}
			return
		}
		for c := range trace.Clients() {
			if d := trace.at(c, 1_000_003); d < 0 || d > MaxDuration || trace.means[c] > float64(MaxDuration) {
				t.Errorf("client %d: %v, mean %v", c, d, trace.means[c])
			}
		}
	})
}

// A trace that a spreadsheet wrote, or that is aligned by hand, is the same trace.
func TestTraceMayHaveBlanks(t *testing.T) {
	want, err := ParseTrace(strings.NewReader("client,duration\n0,1ms\n1,2s\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"\uFEFFclient,duration\r\n0,1ms\r\n1,2s\r\n",
		" client , duration \n 0 ,\t1ms \n \"1\",2s\n"} {
		if got, err := ParseTrace(strings.NewReader(text)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func TestTraceErrorsNameTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "no durations",
		"client,duration\n":                  "no durations",
		"client,time\n0,1ms\n":               "trace:1: header",
		"client,duration\n0,1ms\n\n-1,1ms\n": "trace:4: client = \"-1\"",
		"client,duration\n0,1ms\n0,x\n":      "trace:3: duration = \"x\"",
		"client,duration\n0,2h\n":            "trace:2: duration = \"2h\"",
		"client,duration\n0,1ms,2\n":         "line 2",
		"client,duration\n1,1ms\n":           "client 0 of 1 has no durations",
		"client,duration\nx,1ms\n0\n0,-1s\n": "client = \"x\", must be in [0, 999999]\ntrace: record on line " +
			"3: wrong number of fields\ntrace:4: duration = \"-1s\"",
	} {
		if _, err := ParseTrace(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// endless is a file without an end, of one line.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestParseTraceIsBounded(t *testing.T) {
	for _, head := range []string{"", "client,duration\n0,1ms\n0,"} {
		_, err := ParseTrace(io.MultiReader(strings.NewReader(head), endless{}))
		if err == nil || !strings.Contains(err.Error(), "too large: more than 67108864 bytes") {
			t.Errorf("after %q: %v", head, err)
		}
	}
}

// Whole nanoseconds are those of math.Round, halves upwards, to the last that the clock
// holds.
func TestWholeIsRound(t *testing.T) {
	check := func(ns float64) {
		want := Beyond
		if r := math.Round(ns); r < float64(Beyond) {
			want = time.Duration(r)
		}
		if got := whole(ns); got != want {
			t.Errorf("whole(%v) = %d, want %d", ns, got, want)
		}
	}
	edges := []float64{0, 0.5, 1, 1.5, 2.5, 1<<51 + 0.5, 1<<52 - 0.5, 1 << 52, 1<<53 + 2, 0x1p62, 0x1p63, 1e300}
	for _, x := range append(edges, math.Inf(1), math.NaN()) {
		check(x)
		check(math.Nextafter(x, math.Inf(1)))
		check(max(0, math.Nextafter(x, 0)))
	}
	s := rng.New(1).Stream(rng.ComputeTime, 0, 0)
	for i := range 100_000 {
		check(math.Ldexp(s.Float64(), i%70))
	}
}
