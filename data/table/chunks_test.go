package table

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/internal/memory"
)

// large returns a table of several chunks. Its quoted fields have line ends, separators and double quotes, so a
// chunk may not end at each of its lines.
func large() string {
	var text bytes.Buffer
	text.WriteString("a,note,b,who,y\n")
	draw := rand.New(rand.NewPCG(1, 2))
	for i := range 50_000 {
		note := []string{"", "plain", "\"two\nlines, and a \"\"quote\"\"\"", "\"\n\n\"", "\"ends\r\nin a line\""}[draw.IntN(5)]
		fmt.Fprintf(&text, "%v,%s,%v,p%d,%d\n", float32(draw.NormFloat64()), note, draw.NormFloat64()*1e9, draw.IntN(999), i%2)
		if i%1000 == 0 {
			text.WriteString("\r\n")
		}
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// onProcessors calls read with different numbers of processors.
func onProcessors(read func(n int)) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, n := range []int{1, 2, 5} {
		runtime.GOMAXPROCS(n)
		read(n)
	}
}

// A table of several chunks is what package encoding/csv reads, with any number of processors.
func TestChunks(t *testing.T) {
	text := large()
	path := written(t, "large.csv", text)
	if len(text) < 4*chunkBytes {
		t.Fatalf("%d bytes are too few chunks", len(text))
	}
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	onProcessors(func(n int) {
		kept := &Kept{Names: []string{"note"}}
		columns, err := ParseColumns("column,kind,values\nnote,ignored,\n")
		if err != nil {
			t.Fatal(err)
		}
		d, err := ParseFile(path, Options{Label: "y", Labels: labels(t, "0,1"), Person: "who", Kept: kept, Columns: columns})
		if err != nil {
			t.Fatal(err)
		}
		if d.Len() != len(records)-1 || len(kept.Rows) != d.Len() {
			t.Fatalf("%d processors: %d rows, %d kept, want %d", n, d.Len(), len(kept.Rows), len(records)-1)
		}
		for i, want := range records[1:] {
			a, errA := strconv.ParseFloat(want[0], 32)
			b, errB := strconv.ParseFloat(want[2], 32)
			if row := d.Row(i).Value; errA != nil || errB != nil || !slices.Equal(row, []float32{float32(a), float32(b)}) ||
				kept.Rows[i][0] != strings.TrimSpace(want[1]) || d.Person[i] != data.PersonOf(want[3]) || fmt.Sprint(d.Label[i]) != want[4] {
				t.Fatalf("%d processors: row %d: %v, %q, label %d, want %q", n, i, row, kept.Rows[i], d.Label[i], want)
			}
		}
	})
}

// The errors of a table of several chunks are those of the first invalid field of each column, up to the record that
// ends the reading, whatever the number of processors.
func TestFaultsOfChunks(t *testing.T) {
	lines := strings.Repeat("1,2,0\n", 300_000)
	at := func(line int) int { return 6 * (line - 2) } // the first byte of a line after the header
	damaged := []byte("a,b,y\n" + lines)
	for line, field := range map[int]string{200_000: "1,x,0\n", 250_000: "x,x,0\n", 250_001: "x,x,7\n"} {
		copy(damaged[6+at(line):], field)
	}
	whole := written(t, "t.csv", string(damaged))
	short := written(t, "t.csv", strings.Replace(string(damaged), "x,x,7\n", "1;2;3\n", 1))
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte("a,b,y\n" + lines)); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	packed.Truncate(packed.Len() - 8)
	cut := written(t, "t.csv.gz", packed.String())
	for _, c := range []struct {
		path string
		want []string
	}{
		{whole, []string{":200000: column \"b\"", ":250000: column \"a\"", ":250001: label \"7\""}},
		{short, []string{":200000: column \"b\"", ":250000: column \"a\"", ":250001: 1 fields, must be 3"}},
		{cut, []string{"line 300002: unexpected EOF"}},
	} {
		first := ""
		onProcessors(func(n int) {
			p := &parser{Options: Options{Label: "y", Labels: labels(t, "0,1")}, set: &data.Dataset{Classes: 2}, file: c.path, left: 1 << 40}
			end := p.parseFile()
			err := errors.Join(append(p.faults, end)...)
			if err == nil {
				t.Fatalf("%s: no error", filepath.Base(c.path))
			}
			got := strings.Split(err.Error(), "\n")
			if first == "" {
				first = err.Error()
			}
			if err.Error() != first || len(got) != len(c.want) {
				t.Errorf("%d processors: %v\nwant %q, and as on one processor %s", n, err, c.want, first)
				return
			}
			for i, want := range c.want {
				if !strings.Contains(got[i], want) {
					t.Errorf("%d processors: %s, want %s", n, got[i], want)
				}
			}
		})
	}
}

// A table within a limit of memory ends at the same row, with the same room, whatever the number of processors.
func TestMemoryOfChunks(t *testing.T) {
	path := written(t, "t.csv", "a,b,y\n"+strings.Repeat("-0.125,2,0\n", 500_000))
	type end struct {
		rows, room int
		err        string
	}
	for _, left := range []int64{1 << 20, 5 << 20, 1 << 40} {
		var first end
		onProcessors(func(n int) {
			p := &parser{Options: Options{Label: "y", Labels: labels(t, "0,1")}, set: &data.Dataset{Classes: 2}, file: path, left: left}
			err := p.parseFile()
			got := end{p.set.Len(), cap(p.value), fmt.Sprint(err)}
			if first.rows == 0 {
				first = got
			}
			if errors.Is(err, memory.ErrTooLittle) != (left < 1<<40) || !reflect.DeepEqual(got, first) {
				t.Errorf("%d processors, %d bytes: %+v, on one %+v", n, left, got, first)
			}
		})
	}
}

// Long records need no more memory on many processors, and short records after a long one are not in its chunk: one of
// their bytes may become many numbers.
func TestLongRecords(t *testing.T) {
	long := `"` + strings.Repeat("x", 4*chunkBytes) + `",1` + "\n"
	path := written(t, "t.csv", "note,y\n"+strings.Repeat(long, 2*maxChunks))
	columns, err := ParseColumns("column,kind,values\nnote,one-of,a|*\n")
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	d, err := ParseFile(path, Options{Label: "y", Labels: labels(t, "0,1"), Columns: columns})
	if err != nil || d.Len() != 2*maxChunks {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if all := after.TotalAlloc - before.TotalAlloc; all > 5*maxChunks*uint64(len(long)) {
		t.Errorf("%d bytes for records of %d", all, len(long))
	}

	c, more := chunk{}, true
	in := bufio.NewReader(strings.NewReader(long + strings.Repeat("a,1\n", 1000)))
	if _, more = c.fill(in, nil, 100); !more || len(c.text) > len(long)+100 {
		t.Errorf("a chunk of %d bytes for a record of %d", len(c.text), len(long))
	}
}
