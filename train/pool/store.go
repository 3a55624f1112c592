package pool

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"proactivedp/internal/bounded"
	"proactivedp/internal/files"
	"proactivedp/internal/strictjson"
	"proactivedp/train"
)

// store keeps finished cells as files, one each, or nothing if dir is "".
type store struct{ dir string }

// make makes the folder of the store, if it has one, and removes what killed
// writers left in it.
func (s store) make() error {
	if s.dir == "" {
		return nil
	}
	if err := os.MkdirAll(s.dir, 0o777); err != nil {
		return err
	}
	return files.SweepFolder(s.dir)
}

// kept says in words where finished cells are kept.
func (s store) kept() string {
	if s.dir == "" {
		return "which are not kept"
	}
	return "which are kept in " + s.dir
}

func (s store) path(key string) string { return filepath.Join(s.dir, key+".json") }

// sealed is the content of a finished cell's file. One changed bit changes figures, so a result is used only with
// its digest, and only for its own key.
type sealed struct {
	Key    string          `json:"key"`
	SHA256 string          `json:"sha256"` // see digest
	Result json.RawMessage `json:"result"`
}

// digest is of the key and the result.
func (s sealed) digest() string {
	sum := sha256.Sum256(append([]byte(s.Key+"\n"), s.Result...))
	return hex.EncodeToString(sum[:])
}

// maxCellBytes bounds the file of a finished cell.
const maxCellBytes = 256 << 20

// errDamaged reports a finished cell that has changed since it was written.
var errDamaged = errors.New("damaged")

// load returns a finished cell, or nil if there is none. The error is errDamaged
// for one that is not as it was written: it is computed again.
func (s store) load(key string, check func(json.RawMessage) error) (json.RawMessage, error) {
	if s.dir == "" {
		return nil, nil
	}
	text, err := bounded.Within(s.dir, filepath.Base(s.path(key)), maxCellBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, bounded.ErrTooLarge):
		return nil, errDamaged
	case err != nil:
		return nil, fmt.Errorf("finished cell: %w", err)
	}
	var cell sealed
	if strictjson.Decode(text, &cell) != nil || cell.Key != key || cell.SHA256 != cell.digest() ||
		check(cell.Result) != nil {
		return nil, errDamaged
	}
	return cell.Result, nil
}

func (s store) save(key string, result any) (json.RawMessage, error) {
	text, err := json.Marshal(result)
	if err != nil {
		return nil, fmt.Errorf("cell: %w", err)
	}
	if s.dir == "" {
		return text, nil
	}
	cell := sealed{Key: key, Result: text}
	cell.SHA256 = cell.digest()
	whole, err := json.Marshal(cell)
	if err != nil {
		return nil, fmt.Errorf("cell: %w", err)
	}
	err = files.WriteSwept(s.path(key), func(w io.Writer) error {
		_, err := w.Write(whole)
		return err
	})
	return text, err
}

// timePath is the file with the time that a cell has taken so far. It is not in the result's file, which has the
// same bytes wherever it is computed.
func (s store) timePath(key string) string { return filepath.Join(s.dir, key+".seconds") }

// maxTimeBytes bounds such a file.
const maxTimeBytes = 64

// took returns how long a cell has taken so far, or 0 if that is not known.
func (s store) took(key string) time.Duration {
	if s.dir == "" {
		return 0
	}
	text, err := bounded.Within(s.dir, filepath.Base(s.timePath(key)), maxTimeBytes)
	if err != nil {
		return 0
	}
	seconds, err := strconv.ParseFloat(string(bytes.TrimSpace(text)), 64)
	if err != nil {
		return 0
	}
	return duration(seconds)
}

// before returns how long a cell took until the checkpoint from which it continues, or 0 if it begins. If a
// process was killed, only its checkpoints have its time.
func (s store) before(key string, from *train.Checkpoint) time.Duration {
	if from == nil {
		return 0
	}
	return max(s.took(key), duration(from.Seconds))
}

// duration is so many seconds, 0 if a file has a number that cannot be meant.
func duration(seconds float64) time.Duration {
	if !(seconds >= 0 && seconds <= maxSeconds) {
		return 0
	}
	return time.Duration(seconds * float64(time.Second))
}

// maxSeconds is some thirty years.
const maxSeconds = 1e9

// setTook keeps how long a cell has taken so far.
func (s store) setTook(key string, took time.Duration) error {
	if s.dir == "" {
		return nil
	}
	return files.WriteSwept(s.timePath(key), func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%.3f\n", took.Seconds())
		return err
	})
}

// keep returns where a cell under way keeps its checkpoints, and the checkpoint from which it continues if it was
// stopped. If the checkpoint is not whole, the cell begins again.
func (s store) keep(key string) train.Keep {
	if s.dir == "" {
		return train.Keep{}
	}
	k := train.Keep{Path: filepath.Join(s.dir, key+".checkpoint"), Aside: true}
	if from, err := train.OpenCheckpoint(k.Path); err == nil {
		k.From = from
	}
	return k
}
