package sim

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"proactivedp/internal/testkit"
)

// preamble is how many bytes stand before the header of a checkpoint.
var preamble = len(checkpointFormat.Magic) + 16

// brief is a run of 10 rounds of 4 clients in which everything travels.
func brief(t testing.TB, options ...option) *Config {
	return small(t, append([]option{exponentialTiming, func(c *Config) { c.GradComps = 80 }}, options...)...)
}

func newVirtual(t testing.TB, cfg *Config, perf Perf) *Virtual {
	t.Helper()
	v, err := NewVirtual(cfg, perf, nil)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// written is the run's checkpoint.
func written(t testing.TB, v *Virtual) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := v.WriteCheckpoint(&b, []byte("header"), nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// restore puts v into the state that the file holds.
func restore(v *Virtual, file []byte) error {
	c, err := OpenCheckpoint(bytes.NewReader(file), int64(len(file)), nil)
	if err != nil {
		return err
	}
	return c.Restore(v)
}

// signed is the file with its checksum made anew.
func signed(file []byte) []byte {
	body := file[:len(file)-sha256.Size]
	sum := sha256.Sum256(body)
	return append(slices.Clone(body), sum[:]...)
}

// everyState calls do with runs in all states that matter: at every event of
// runs with every kind of one.
func everyState(t *testing.T, do func(cfg *Config, v *Virtual, events int)) {
	for _, cfg := range []*Config{
		brief(t),
		brief(t, withDelay(Unlimited{})), // updates far ahead
		brief(t, rough),
		brief(t, withMomentum),
		brief(t, exact),
		brief(t, allocated), // also within an epoch
		small(t, func(c *Config) { c.GradComps = 80 }),
		small(t, constantTiming, func(c *Config) { c.GradComps = 80 }),
	} {
		v := newVirtual(t, cfg, Perf{})
		for events := 0; ; events++ {
			do(cfg, v, events)
			more, err := v.Step()
			if err != nil {
				t.Fatal(err)
			}
			if !more {
				break
			}
		}
	}
}

// A checkpoint is taken at any event and restored, with or without workers. The continued run has the bits
// of an uninterrupted one, and the restored state is written as the same bytes. A long test does both at
// each event, a short one in turn.
func TestCheckpointAtAnyEvent(t *testing.T) {
	wants := map[*Config]*Result{}
	everyState(t, func(cfg *Config, v *Virtual, events int) {
		if wants[cfg] == nil {
			wants[cfg] = runVirtual(t, cfg, Perf{})
		}
		want, file := wants[cfg], written(t, v)
		for i, perf := range []Perf{{}, {Workers: 2, MinWork: 1}} {
			if testkit.Sweeps(t) == 1 && events%2 != i {
				continue
			}
			fresh := newVirtual(t, cfg, perf)
			if err := restore(fresh, file); err != nil {
				t.Fatalf("event %d: %v", events, err)
			}
			if !bytes.Equal(written(t, fresh), file) {
				t.Fatalf("event %d: restored, it is written as other bytes", events)
			}
			got, err := fresh.Run(context.Background())
			if err != nil {
				t.Fatalf("event %d: %v", events, err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("restored at event %d: %+v, want %+v", events, got, want)
			}
		}
	})
}

// derived are the fields that are not written but made again from the rest.
var derived = []string{".server.k", ".server.applied", ".server.at[]", ".clients[].shared.readers",
	".clients[].newer.readers",
	".queue[].vector.readers"}

// Every field of the state is written: if a field changes, the file changes, or the state cannot be
// written. The test fails for a new field that the visitor does not visit.
func TestCheckpointHasEveryField(t *testing.T) {
	todo := map[string]bool{}
	for path := range fields("", reflect.TypeFor[virtualState]()) {
		todo[path] = true
	}
	for _, path := range derived {
		if !todo[path] {
			t.Errorf("there is no field %s", path)
		}
		delete(todo, path)
	}
	total := len(todo)
	everyState(t, func(_ *Config, v *Virtual, _ int) {
		if len(todo) == 0 {
			return
		}
		before := written(t, v)
		state := v.state()
		for _, at := range slices.Sorted(maps.Keys(todo)) {
			field := find(reflect.ValueOf(&state).Elem(), at)
			if !field.IsValid() {
				continue
			}
			old := reflect.New(field.Type()).Elem()
			old.Set(field)
			change(t, field)
			v.setState(state)
			var after bytes.Buffer
			if err := v.WriteCheckpoint(&after, []byte("header"), nil); err != nil || !bytes.Equal(after.Bytes(), before) {
				delete(todo, at)
			}
			field.Set(old)
			v.setState(state)
		}
	})
	for _, path := range slices.Sorted(maps.Keys(todo)) {
		t.Errorf("a change of %s did not change the checkpoint, or no state had one: visit it, or extend everyState",
			path)
	}
	if total < 20 {
		t.Errorf("only %d fields were found", total)
	}
}

// fields returns the paths of the plain values of a type.
func fields(path string, t reflect.Type) map[string]reflect.Type {
	all := map[string]reflect.Type{}
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			maps.Copy(all, fields(path+"."+t.Field(i).Name, t.Field(i).Type))
		}
	case reflect.Slice, reflect.Array:
		return fields(path+"[]", t.Elem())
	case reflect.Pointer:
		return fields(path, t.Elem())
	default:
		all[path] = t
	}
	return all
}

// find returns the first value at a path, to be set; none if the state has none.
func find(v reflect.Value, path string) reflect.Value {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return reflect.Value{}
		}
		return find(v.Elem(), path)
	case reflect.Struct:
		name, rest := path[1:], ""
		if i := strings.IndexAny(name, ".["); i >= 0 {
			name, rest = name[:i], name[i:]
		}
		f := v.FieldByName(name)
		return find(reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem(), rest)
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if f := find(v.Index(i), strings.TrimPrefix(path, "[]")); f.IsValid() {
				return f
			}
		}
		return reflect.Value{}
	}
	return v
}

// change gives a plain value another one.
func change(t *testing.T, v reflect.Value) {
	switch {
	case v.CanInt():
		v.SetInt(v.Int() + 1)
	case v.CanUint():
		v.SetUint(v.Uint() + 1)
	case v.CanFloat():
		v.SetFloat(v.Float() + 1)
	case v.Kind() == reflect.Bool:
		v.SetBool(!v.Bool())
	case v.Kind() == reflect.String:
		v.SetString(v.String() + "!")
	default:
		t.Fatalf("a field of kind %v: teach the test to change it", v.Kind())
	}
}

// Golden bytes of a checkpoint. If they change, raise checkpointFormat.Version, so that older checkpoints
// are refused with the right reason.
func TestCheckpointGolden(t *testing.T) {
	const want = "6e051eb0e35bb23f263ec076e125ed999e1d2dd08e8fb9638931cd4ac480571c"
	_, file := midway(t, rough)
	sum := sha256.Sum256(file)
	if got := hex.EncodeToString(sum[:]); got != want {
		t.Errorf("version %d hashes to %s, want %s", checkpointFormat.Version, got, want)
	}
}

// midway is a run and its checkpoint at an event in the middle.
func midway(t testing.TB, options ...option) (*Config, []byte) {
	cfg := brief(t, options...)
	v := newVirtual(t, cfg, Perf{})
	for range 60 {
		if _, err := v.Step(); err != nil {
			t.Fatal(err)
		}
	}
	return cfg, written(t, v)
}

// A checkpoint with one changed bit, or cut off at any length, is refused, and the run does not change.
func TestDamagedCheckpointIsRefused(t *testing.T) {
	cfg, file := midway(t)
	v := newVirtual(t, cfg, Perf{})
	before := written(t, v)
	for i := range file {
		bad := slices.Clone(file)
		bad[i] ^= 1 << (i % 8)
		err := restore(v, bad)
		if i < len(checkpointFormat.Magic) {
			if err == nil || !strings.Contains(err.Error(), "not a checkpoint") {
				t.Fatalf("byte %d changed: error %v", i, err)
			}
		} else if !errors.Is(err, ErrDamaged) {
			t.Fatalf("byte %d changed: error %v, want %v", i, err, ErrDamaged)
		}
		if restore(v, file[:i]) == nil {
			t.Fatalf("cut off at %d of %d bytes and taken", i, len(file))
		}
		// As a writer would leave it who knows no better.
		if i > preamble+sha256.Size && restore(v, signed(file[:i])) == nil {
			t.Fatalf("cut off at %d of %d bytes, signed, and taken", i, len(file))
		}
	}
	if err := restore(v, signed(append(slices.Clone(file), 0))); err == nil ||
		!strings.Contains(err.Error(), "bytes after the state") {
		t.Errorf("a byte too many: %v", err)
	}
	if !bytes.Equal(written(t, v), before) {
		t.Error("a refused checkpoint changed the run")
	}
}

func TestForeignCheckpointIsRefused(t *testing.T) {
	cfg, file := midway(t)
	other := signed(func() []byte {
		b := slices.Clone(file)
		binary.LittleEndian.PutUint64(b[len(checkpointFormat.Magic):], uint64(checkpointFormat.Version)+1)
		return b
	}())
	for name, c := range map[string]struct {
		file []byte
		cfg  *Config
		want string
	}{
		"nothing":       {nil, cfg, "not a checkpoint"},
		"a text":        {[]byte("accuracy 0.9\n"), cfg, "not a checkpoint"},
		"the beginning": {[]byte(checkpointFormat.Magic), cfg, "truncated"},
		"another version": {other, cfg, fmt.Sprintf("version %d, this program has version %d",
			checkpointFormat.Version+1, checkpointFormat.Version)},
		"fewer clients":    {file, brief(t, withClients(3)), "number of clients = 4, must be in [3, 3]"},
		"more rounds":      {file, brief(t, func(c *Config) { c.GradComps = 88 }), "number of rounds = 10"},
		"another noise":    {file, brief(t, func(c *Config) { c.Mechanism.NoiseMultiplier = 3 }), ""}, // in the header
		"the same, really": {file, cfg, ""},
	} {
		err := restore(newVirtual(t, c.cfg, Perf{}), c.file)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}

// Memory for a length in the file is allocated only as the bytes arrive.
func TestCheckpointLengthsAreNotTrusted(t *testing.T) {
	cfg, file := midway(t, rough)
	v := newVirtual(t, cfg, Perf{})
	for at := preamble + len("header"); at+8 <= len(file)-sha256.Size; at += 4 {
		bad := slices.Clone(file)
		binary.LittleEndian.PutUint64(bad[at:], 1<<31-1) // the most that any list may have
		bad = signed(bad)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_ = restore(v, bad) // a vector's number may be any
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 1<<21 {
			t.Fatalf("length at byte %d: %d bytes allocated for a file of %d", at, took, len(bad))
		}
	}
}

// limited is a writer on a disk with so many bytes left.
type limited int

var errFull = errors.New("no space left")

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), int(*l))
	*l -= limited(n)
	if n < len(p) {
		return n, errFull
	}
	return n, nil
}

func TestCheckpointOnAFullDisk(t *testing.T) {
	cfg, file := midway(t)
	v := newVirtual(t, cfg, Perf{})
	if err := restore(v, file); err != nil {
		t.Fatal(err)
	}
	for room := range len(file) {
		left := limited(room)
		if err := v.WriteCheckpoint(&left, []byte("header"), nil); !errors.Is(err, errFull) {
			t.Fatalf("room for %d of %d bytes: error %v", room, len(file), err)
		}
	}
	if err := v.WriteCheckpoint(io.Discard, make([]byte, 1<<26+1), nil); err == nil {
		t.Error("a header too long to be read was written")
	}
	r, err := v.Run(context.Background())
	if err != nil || r.ParamsSHA256() != runVirtual(t, cfg, Perf{}).ParamsSHA256() {
		t.Errorf("the run did not go on: %v", err)
	}
}

// Checkpoints that are written while workers compute can be restored.
func TestCheckpointWhileTheCrewComputes(t *testing.T) {
	cfg := brief(t, rough)
	want := runVirtual(t, cfg, Perf{}).ParamsSHA256()
	v := newVirtual(t, cfg, Perf{Workers: 2, MinWork: 1})
	var files [][]byte
	if _, err := v.RunUntil(context.Background(), func() bool {
		files = append(files, written(t, v))
		return false
	}); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(files); i += 10 {
		fresh := newVirtual(t, cfg, Perf{})
		if err := restore(fresh, files[i]); err != nil {
			t.Fatal(err)
		}
		if r, err := fresh.Run(context.Background()); err != nil || r.ParamsSHA256() != want {
			t.Fatalf("from checkpoint %d: other bits, error %v", i, err)
		}
	}
}

// Any state is either refused, or the run continues with it. The fuzzer does not have to find the
// checksum.
func FuzzCheckpoint(f *testing.F) {
	cfg, file := midway(f, rough)
	state := file[preamble+len("header") : len(file)-sha256.Size]
	f.Add(state)
	for at := 0; at+8 <= len(state); at += 8 {
		for _, n := range []uint64{0, 1, 2, 3, 10, 1 << 40, 1<<64 - 1} {
			bad := slices.Clone(state)
			binary.LittleEndian.PutUint64(bad[at:], n)
			f.Add(bad)
		}
	}
	head := file[:preamble+len("header")]
	f.Fuzz(func(t *testing.T, state []byte) {
		v := newVirtual(t, cfg, Perf{})
		if restore(v, signed(slices.Concat(head, state, make([]byte, sha256.Size)))) != nil {
			return
		}
		// A state that nobody was ever in may go on for ever: clients come and go
		// while all wait for a message that is not under way.
		for range 10_000 {
			if more, err := v.Step(); err != nil || !more {
				break
			}
		}
	})
}

// A checkpoint with a key is refused if somebody changed it, even with a new digest. It is also refused
// with another key, or if only one of the two keys is given.
func TestKeyedCheckpointsAreOfWhoHasTheKey(t *testing.T) {
	v := newVirtual(t, brief(t), Perf{})
	key, other := bytes.Repeat([]byte("k"), MinKey), bytes.Repeat([]byte("o"), MinKey)
	var b bytes.Buffer
	if err := v.WriteCheckpoint(&b, []byte("header"), key); err != nil {
		t.Fatal(err)
	}
	keyed, plain := b.Bytes(), written(t, v)
	forged := bytes.Replace(keyed, []byte("header"), []byte("hEader"), 1)
	open := func(file, key []byte) error {
		c, err := OpenCheckpoint(bytes.NewReader(file), int64(len(file)), key)
		if err == nil && string(c.Header) != "header" {
			t.Errorf("header %q", c.Header)
		}
		return err
	}
	if err := errors.Join(open(keyed, key), open(plain, nil)); err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{
		"another key": open(keyed, other), "no key": open(keyed, nil), "no HMAC": open(plain, key),
		"changed": open(forged, key), "changed, with a digest": open(signed(forged), key),
		"changed, its HMAC made a digest": open(unkeyed(forged), key),
	} {
		if !errors.Is(err, ErrKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, short := range [][]byte{key[1:], {1}} {
		if open(keyed, short) == nil || v.WriteCheckpoint(io.Discard, nil, short) == nil {
			t.Errorf("a key of %d bytes was taken", len(short))
		}
	}
}

// unkeyed is the file made one without a key, whole by its digest.
func unkeyed(file []byte) []byte {
	file = slices.Clone(file)
	binary.LittleEndian.PutUint64(file[len(checkpointFormat.Magic):], uint64(checkpointFormat.Version))
	return signed(file)
}
