package experiments

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/sourcegraph/conc/pool"

	"proactivedp/internal/atomicfile"
)

// cellVersion is part of every cell's identity. Raise it when a change of the
// code changes what a cell's spec gives (the golden tests of packages sim and
// experiments show that).
const cellVersion = 2

// cell is one piece of work of a grid: its spec says all that its result
// depends on, so equal specs are computed once and a finished cell is found
// again by a later run.
type cell struct {
	spec  any // JSON-able
	run   func(context.Context) (any, error)
	check func(json.RawMessage) error // of a result read from the store
}

// key returns the cell's identity.
func (c cell) key() (string, error) {
	text, err := json.Marshal(struct {
		Version int `json:"version"`
		Spec    any `json:"spec"`
	}{cellVersion, c.spec})
	if err != nil {
		return "", fmt.Errorf("experiments: cell: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), nil
}

// store keeps finished cells as files, one each.
type store struct{ dir string }

func (s store) path(key string) string { return filepath.Join(s.dir, key+".json") }

// load returns a finished cell, or nil if there is none that is whole: then it
// is computed again.
func (s store) load(key string, check func(json.RawMessage) error) (json.RawMessage, error) {
	text, err := os.ReadFile(s.path(key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("experiments: finished cell: %w", err)
	}
	if check(text) != nil {
		return nil, nil
	}
	return text, nil
}

func (s store) save(key string, result any) (json.RawMessage, error) {
	text, err := json.Marshal(result)
	if err != nil {
		return nil, fmt.Errorf("experiments: cell: %w", err)
	}
	err = atomicfile.Write(s.path(key), func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	return text, err
}

// grid runs cells on workers goroutines.
type grid struct {
	store    store
	workers  int
	progress io.Writer // nil: silent
}

// run returns the result of every cell, in order, and how many were computed.
// Cells found in the store are not. When the context is cancelled or a cell fails, those under way
// stop, the finished ones stay in the store, and run fails.
func (g grid) run(ctx context.Context, cells []cell) ([]json.RawMessage, int, error) {
	if err := os.MkdirAll(g.store.dir, 0o777); err != nil {
		return nil, 0, fmt.Errorf("experiments: %w", err)
	}
	keys := make([]string, len(cells))
	first := map[string]int{} // where a key is computed
	results := make([]json.RawMessage, len(cells))
	var todo []int
	for i, c := range cells {
		key, err := c.key()
		if err != nil {
			return nil, 0, err
		}
		keys[i] = key
		if _, seen := first[key]; seen {
			continue
		}
		first[key] = i
		if results[i], err = g.store.load(key, c.check); err != nil {
			return nil, 0, err
		}
		if results[i] == nil {
			todo = append(todo, i)
		}
	}
	if err := g.compute(ctx, cells, keys, todo, results); err != nil {
		return nil, 0, err
	}
	for i, key := range keys {
		results[i] = results[first[key]]
	}
	return results, len(todo), nil
}

func (g grid) compute(ctx context.Context, cells []cell, keys []string, todo []int, results []json.RawMessage) error {
	bar := newBar(g.progress, len(todo))
	var mu sync.Mutex
	done := 0
	p := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError().WithMaxGoroutines(max(g.workers, 1))
	for _, i := range todo {
		p.Go(func(ctx context.Context) error {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			result, err := cells[i].run(ctx)
			if err != nil {
				return err
			}
			text, err := g.store.save(keys[i], result)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			results[i] = text
			done++
			bar.Add(1)
			return nil
		})
	}
	err := p.Wait()
	bar.Exit()
	if err != nil {
		return fmt.Errorf("experiments: stopped with %d of %d cells done, which are kept in %s: %w", done, len(todo), g.store.dir, err)
	}
	return nil
}

// newBar returns a progress bar over n cells with the time left.
func newBar(w io.Writer, n int) *progressbar.ProgressBar {
	if w == nil {
		w = io.Discard
	}
	return progressbar.NewOptions(n,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription("training"),
		progressbar.OptionShowCount(),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionThrottle(250*time.Millisecond),
		progressbar.OptionSetWidth(30),
		progressbar.OptionOnCompletion(func() { fmt.Fprintln(w) }),
	)
}

// decode reads a cell's result.
func decode[T any](text json.RawMessage) (T, error) {
	var out T
	if err := json.Unmarshal(text, &out); err != nil {
		return out, fmt.Errorf("experiments: finished cell: %w", err)
	}
	return out, nil
}
