package pool

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
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

// store keeps each finished cell in a file. It keeps nothing if dir is "".
type store struct{ dir string }

// make creates the folder of the store, if it has one, and removes temporary files that killed
// processes left in it.
func (s store) make() error {
	if s.dir == "" {
		return nil
	}
	if err := os.MkdirAll(s.dir, 0o777); err != nil {
		return err
	}
	return files.SweepFolder(s.dir)
}

// kept returns a text for messages which says where finished cells are stored.
func (s store) kept() string {
	if s.dir == "" {
		return "which are not kept"
	}
	return "which are kept in " + s.dir
}

func (s store) path(key string) string { return filepath.Join(s.dir, key+".json") }

// sealed is the content of a finished cell's file. One changed bit can change a figure, so a result
// is used only if its digest and its key match.
type sealed struct {
	Key    string          `json:"key"`
	SHA256 string          `json:"sha256"` // see digest
	Result json.RawMessage `json:"result"`
}

func (s sealed) digest() string {
	sum := sha256.Sum256(append([]byte(s.Key+"\n"), s.Result...))
	return hex.EncodeToString(sum[:])
}

// maxCellBytes is the largest file of a finished cell.
const maxCellBytes = 256 << 20

// errDamaged reports a finished cell that has changed since it was written.
var errDamaged = errors.New("damaged")

// load returns a finished cell, or nil if it is not stored. If the file was changed since it was
// written, the error is errDamaged, and the cell is computed again.
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

// quick is the time in which a lost cell is computed again: its file need not be flushed to disk, which would take
// about as long. If the machine fails before the file is on the disk, load finds no cell, or a damaged one.
const quick = 100 * time.Millisecond

// save stores a finished cell that took so long.
func (s store) save(key string, result any, took time.Duration) (json.RawMessage, error) {
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
	return text, files.WriteSwept(s.path(key), took >= quick, files.Text(whole))
}

// timePath is the file with the time that a cell has taken so far. It is not in the file of the
// result, because that file has the same bytes wherever it is computed.
func (s store) timePath(key string) string { return filepath.Join(s.dir, key+".seconds") }

// maxTimeBytes is the largest size of that file.
const maxTimeBytes = 64

// took returns how long a cell has taken so far, or 0 if that is unknown.
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

// before returns how long a cell took until the checkpoint from which it continues, or 0 if it
// begins. If a process was killed, only its checkpoints have its time.
func (s store) before(key string, from *train.Checkpoint) time.Duration {
	if from == nil {
		return 0
	}
	return max(s.took(key), duration(from.Seconds))
}

// duration converts seconds to a duration. It returns 0 for an implausible number.
func duration(seconds float64) time.Duration {
	if !(seconds >= 0 && seconds <= maxSeconds) {
		return 0
	}
	return time.Duration(seconds * float64(time.Second))
}

// maxSeconds is about thirty years.
const maxSeconds = 1e9

// setTook stores how long a cell has taken so far, unless that is 0 ms. If the machine fails then, the time may be lost.
func (s store) setTook(key string, took time.Duration) error {
	if s.dir == "" || took < time.Millisecond/2 {
		return nil
	}
	return files.WriteSwept(s.timePath(key), false, files.Text(fmt.Sprintf("%.3f\n", took.Seconds())))
}

// keep returns where a running cell writes its checkpoints, and the checkpoint from which it
// continues if it was stopped. If the checkpoint is damaged, the cell begins again.
func (s store) keep(key string) train.Keep {
	if s.dir == "" {
		return train.Keep{}
	}
	k := train.Keep{Path: s.checkpoint(key), Aside: true}
	if from, err := train.OpenCheckpoint(k.Path, nil); err == nil {
		k.From = from
	}
	return k
}

func (s store) checkpoint(key string) string { return filepath.Join(s.dir, key+".checkpoint") }

// forget removes the checkpoint of a cell whose result is stored. It does not look for temporary files that a killed
// process left, as train.Keep.Forget does, because make has removed them: with many small cells, reading the
// names of all files after each cell would take as long as the trainings.
func (s store) forget(key string) error {
	if s.dir == "" {
		return nil
	}
	if err := os.Remove(s.checkpoint(key)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
