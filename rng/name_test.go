package rng

import (
	"bytes"
	"encoding/hex"
	"math"
	"strings"
	"testing"
)

// Run 0 has the streams that the root always had. Every other run of every root has its own streams, also
// if it is requested from another run.
func TestRunsHaveStreamsOfTheirOwn(t *testing.T) {
	secret, err := NewFromSecret(make([]byte, MinSecret))
	if err != nil {
		t.Fatal(err)
	}
	first := func(r *Root) uint64 { return r.Stream(Noise, 0, 0).Uint64() }
	seen := map[uint64]string{}
	for _, root := range []*Root{New(0), New(1), New(math.MaxUint64), secret} {
		if first(root.ForRun(0)) != first(root) || root.ForRun(0).Name() != root.Name() {
			t.Errorf("run 0 of %s is not the root", root.Name())
		}
		for _, n := range []uint64{0, 1, 2, 1 << 32, math.MaxUint64} {
			run := root.ForRun(n)
			u := first(run)
			if other, twice := seen[u]; twice {
				t.Errorf("%s draws what %s does", run.Name(), other)
			}
			seen[u] = run.Name().String()
			if first(run.ForRun(7)) != first(root.ForRun(7)) || run.ForRun(0).Name() != root.Name() {
				t.Errorf("runs of %s are not those of its root", run.Name())
			}
		}
	}
	// Golden: a change here changes every run but the first of every seed.
	const golden = 0x44322ef5e6023060
	if got := first(New(1).ForRun(1)); got != golden {
		t.Errorf("first draw of seed 1, run 1 = %#x, want %#x", got, uint64(golden))
	}
}

// A salted root has the public name of its root, and streams that depend on root, run and salt.
func TestSaltedRootsHaveTheNameAndStreamsOfTheirOwn(t *testing.T) {
	secret, err := NewFromSecret(make([]byte, MinSecret))
	if err != nil {
		t.Fatal(err)
	}
	first := func(r *Root) uint64 { return r.Stream(Noise, 0, 0).Uint64() }
	seen := map[uint64]string{}
	for _, root := range []*Root{secret, secret.ForRun(1), New(1)} {
		for _, salt := range []string{"", "a", "b", string(make([]byte, MinSecret))} {
			salted := root.Salted([]byte(salt))
			if salted.Name() != root.Name() {
				t.Errorf("%s salted with %q has the name %s", root.Name(), salt, salted.Name())
			}
			if again := root.Salted([]byte(salt)); first(again) != first(salted) {
				t.Errorf("%s salted with %q draws other bits the second time", root.Name(), salt)
			}
			runs := []*Root{salted}
			if root.Name().Run == 0 { // the runs of a run are those of its root
				runs = append(runs, salted.ForRun(2))
			}
			for _, r := range runs {
				if other, twice := seen[first(r)]; twice {
					t.Errorf("%s salted with %q draws what %s does", r.Name(), salt, other)
				}
				seen[first(r)] = r.Name().String() + " salted with " + salt
			}
		}
		if other, twice := seen[first(root)]; twice {
			t.Errorf("%s draws what %s does", root.Name(), other)
		}
	}
}

// A name contains the number of a seed, but nothing of a secret: neither its bytes, nor its key, nor the
// first bytes of its origin. If one bit of the secret changes, the whole name changes.
func TestNames(t *testing.T) {
	secret := bytes.Repeat([]byte{7}, MinSecret)
	private, err := NewFromSecret(secret)
	if err != nil {
		t.Fatal(err)
	}
	secret[0]++
	other, err := NewFromSecret(secret)
	if err != nil {
		t.Fatal(err)
	}
	name := private.ForRun(3).Name()
	if name.Root != private.Name().Root || name.Run != 3 || name.Simulated() || !name.Known() ||
		other.Name() == private.Name() || name.Validate() != nil {
		t.Errorf("%+v", name)
	}
	digits := strings.TrimPrefix(name.Root, "secret:")
	if len(digits) != 32 {
		t.Errorf("%q has %d digits, want 32", digits, len(digits))
	}
	for i := range len(private.origin) - 3 {
		if strings.Contains(digits, hex.EncodeToString(private.origin[i:i+4])) {
			t.Errorf("the name holds bytes %d to %d of the key", i, i+3)
		}
	}
	for _, c := range []struct {
		name Name
		text string
		sim  bool
	}{
		{New(1).Name(), "seed 1, run 0", true},
		{New(math.MaxUint64).ForRun(2).Name(), "seed 18446744073709551615, run 2", true},
		{Name{Root: "laboratory 4", Run: 1}, "laboratory 4, run 1", false},
		{Name{}, "no root named", false},
		{(*Root)(nil).Name(), "no root named", false},
	} {
		if c.name.String() != c.text || c.name.Simulated() != c.sim {
			t.Errorf("%s, simulated %v, want %s", c.name, c.name.Simulated(), c.text)
		}
	}
	if next, ok := New(1).Name().Next(); next != New(1).ForRun(1).Name() || !ok {
		t.Errorf("%s comes after run 0", next)
	}
	if _, ok := (Name{"seed:1", math.MaxUint64}).Next(); ok {
		t.Error("there is a run after the last")
	}
}

// Each root has only one spelling of its name. With two spellings, one release could pass for two.
func TestNamesWithOneSpelling(t *testing.T) {
	for _, root := range []string{"seed:0", "seed:18446744073709551615", "secret:00ff", "opacus run 3", "a~b (!)"} {
		if err := (Name{Root: root}).Validate(); err != nil {
			t.Errorf("%q: %v", root, err)
		}
	}
	for _, root := range []string{"", "seed:", "seed:01", "seed:+1", "seed: 1", "seed:1 ", " seed:1", "seed:-1",
		"seed:1e3", "seed:18446744073709551616", "Seed:1", "SEED:1", "secret:00FF", "a\nb", "a\x00", "\xff", "a\x7f",
		"Zürich", "ѕeed:1", "seed\u200b:1", "seed：1", strings.Repeat("x", 201)} {
		err := (Name{Root: root}).Validate()
		if err == nil || !strings.HasPrefix(err.Error(), "the name of the root") {
			t.Errorf("%q: %v", root, err)
		}
	}
}

// A root without a key has no runs.
func TestRunsOfZeroRootsAreRefused(t *testing.T) {
	for name, r := range map[string]*Root{"nil": nil, "zero": new(Root)} {
		if p := panicOf(func() { r.ForRun(1) }); p != ErrNoKey || r.Name().Known() {
			t.Errorf("%s: ForRun panics with %v, want ErrNoKey", name, p)
		}
	}
}
