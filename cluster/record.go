package cluster

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"proactivedp/cluster/internal/wire"
	"proactivedp/internal/bounded"
	"proactivedp/internal/decimal"
	"proactivedp/internal/files"
	"proactivedp/internal/sealed"
	"proactivedp/internal/strictjson"
	"proactivedp/sim"
	"proactivedp/train"
)

// These are the files in a server's folder. The server may stop between any two writes, so their
// order matters. An update goes through these steps:
//
//  1. The update is applied: the machine changes in memory, and a line for appliedFile is
//     buffered. If the server stops here, nothing is lost: the stream or the client's journal
//     still has the update, and the next life of the server applies it.
//  2. save flushes appliedFile. If the server stops here, the state still names the old length
//     of the list. openApplied cuts the list to it, and the update is applied and listed again.
//  3. save replaces stateFile as a whole. It has the model, the set of applied updates, the length
//     of the list, and the expelled clients. From now on a server that restarts has the update.
//  4. Only then does the server tell the client that the round is covered, and delete the message
//     from the stream. The client's journal forgets the round. If this came before step 3, and the
//     server stopped in between, nobody would have the round.
//
// stateFile also has the list of expelled clients, so that an expulsion is saved together with the
// updates before it. Suppose that it were saved separately:
//
//  1. The server applies round 5 of client 2 and does not save it. Others receive a model that
//     has it.
//  2. Client 2 is expelled. The server stops before it saves its state.
//  3. The next life reads round 5 from the stream and refuses it, because its client is
//     expelled. The model lacks an update that it had before.
//
// clientsFile is written before the server answers a hello from a new life of a journal. Each opening
// of a journal is a life of it, and they are numbered. Otherwise:
//
//  1. A journal that was opened twice is copied. The original is opened again, which is its life 3,
//     and the server lets it continue.
//  2. The server stops before it has written that the journal is in life 3.
//  3. The copy is opened, which is life 3 of the copy. The restarted server has only life 2 on
//     record, so the copy may continue. Now both release the same rounds.
const (
	runFile     = "run.json"     // the announcement
	stateFile   = "server.state" // the machine's state and a tally
	appliedFile = "applied.csv"  // the applied updates, in order
	clientsFile = "clients.json" // the clients' journals, and the ledgers of those that have finished
	reportFile  = "report.json"  // the report of a finished run
	addressFile = "address"      // where clients reach the broker
)

// stateFormat is the format of stateFile.
var stateFormat = sealed.Format{Magic: "proactivedp distributed server\n", Version: 1, Name: "state of the server"}

// record holds the facts about a run that the server keeps on disk.
type record struct {
	dir   string
	key   []byte
	about *Announcement
	tally
	before  float64  // seconds of the lives before this one
	out     *os.File // appliedFile
	buffer  *bufio.Writer
	written int64 // bytes of the list of applied updates
}

// tally has the counts that are saved together with the machine's state.
type tally struct {
	Run       string         `json:"run"`
	Seconds   float64        `json:"seconds"`
	Received  int64          `json:"bytes_received"` // bytes of the messages whose updates were applied
	Broadcast int64          `json:"bytes_broadcast"`
	Lags      []int          `json:"lags"`
	Refused   map[string]int `json:"refused"`
	Applied   int64          `json:"applied_bytes"` // the length of the list of applied updates
	Expelled  []int          `json:"expelled"`
	Clients   []clientRecord `json:"-"` // in clientsFile
}

// clientRecord holds the facts about a client that the server keeps on disk.
type clientRecord struct {
	// Journal is the public name of the journal that has the client's number. First is its first
	// round. Replaced lists the journals that had the number before.
	Journal  string        `json:"journal"`
	First    int           `json:"first"`
	Replaced []string      `json:"replaced,omitempty"`
	Life     int           `json:"life"`     // how often the journal was opened
	Instance string        `json:"instance"` // the last process that opened it
	Ledger   *clientLedger `json:"ledger,omitempty"`
	Expelled bool          `json:"-"` // in tally
}

// replaced returns how many lost journals the client's journal replaces. If the server's folder was
// restored from an older copy, the journal may know of more than the server does.
func (r *clientRecord) replaced() int {
	if r.Ledger == nil {
		return len(r.Replaced)
	}
	return max(len(r.Replaced), r.Ledger.Replaced)
}

// older returns the reason why the hello h may come from an older copy of the client's journal, or
// "" if there is none. Each opening of a journal raises its life by one, and each process draws an
// instance. So a hello with a smaller life comes from an older copy, and one with the same life and
// another instance comes from a second copy.
func (r *clientRecord) older(h hello) string {
	if h.Life > r.Life || h.Life == r.Life && h.Instance == r.Instance {
		return ""
	}
	return fmt.Sprintf("this copy of its journal was opened %s, another copy of it %s. So this may be an older copy, "+
		"which would release rounds twice. Use the other copy. If it is lost for good, join from a new folder with "+
		"--replace, or expel the client", decimal.Many(h.Life, "time"), decimal.Many(r.Life, "time"))
}

// openRecord opens the folder of a run of p. If the folder has a saved state, the machine continues
// from it.
//
// chunk returns the number of floats in a message. It is called only if a run begins.
func openRecord(dir string, key []byte, p *train.Prepared, machine *sim.Server,
	chunk func() (wire.Chunk, error)) (*record, error) {
	r := &record{dir: dir, key: key}
	if err := r.openRun(p, chunk); err != nil {
		return nil, err
	}
	r.Run, r.Refused, r.Clients = r.about.Run, map[string]int{}, make([]clientRecord, p.Config.Clients())
	if err := errors.Join(r.readState(machine), r.readClients()); err != nil {
		return nil, err
	}
	r.before = r.Seconds
	for _, c := range r.Expelled {
		if c < 0 || c >= len(r.Clients) {
			return nil, fmt.Errorf("%s: expelled client %d does not exist, the run has %d", r.path(stateFile), c,
				len(r.Clients))
		}
		r.Clients[c].Expelled = true
		machine.Expel(c)
	}
	return r, r.openApplied()
}

func (r *record) path(name string) string { return filepath.Join(r.dir, name) }

// openRun reads which run the folder belongs to. In an empty folder it begins a run.
func (r *record) openRun(p *train.Prepared, chunk func() (wire.Chunk, error)) error {
	text, err := bounded.File(r.path(runFile), maxAnswer)
	if errors.Is(err, fs.ErrNotExist) {
		run, err := newRun()
		if err != nil {
			return err
		}
		floats, err := chunk()
		if err != nil {
			return err
		}
		if r.about, err = announce(run, p, floats); err != nil {
			return err
		}
		return files.Write(r.path(runFile), files.JSON(r.about))
	}
	if err != nil {
		return err
	}
	if r.about, err = parseAnnouncement(text); err != nil {
		return fmt.Errorf("%s: %w", r.path(runFile), err)
	}
	want, err := announce(r.about.Run, p, r.about.chunk())
	if err != nil {
		return err
	}
	r.about.size = want.size // that of the message, not of the file
	if !reflect.DeepEqual(want, r.about) {
		return fmt.Errorf("%s holds another run: its settings, data or program differ. Continue with the same "+
			"flags, or use another folder", r.dir)
	}
	return nil
}

// readState reads the machine's state and the tally, if the file exists.
func (r *record) readState(machine *sim.Server) error {
	f, err := os.Open(r.path(stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	header, content, err := stateFormat.Open(f, info.Size(), r.key)
	if err != nil {
		return fmt.Errorf("%s: %w", r.path(stateFile), err)
	}
	clients := r.Clients
	if err := strictjson.DecodeWhole(header, &r.tally, mostText); err != nil {
		return fmt.Errorf("%s: %w", r.path(stateFile), err)
	}
	if r.Clients = clients; r.Run != r.about.Run {
		return fmt.Errorf("%s belongs to run %s, but the folder to run %s", r.path(stateFile), r.Run, r.about.Run)
	}
	if r.Refused == nil {
		r.Refused = map[string]int{}
	}
	return machine.Restore(bufio.NewReaderSize(content, 1<<20))
}

// maxClientsFile is the largest clients' file, in bytes.
const maxClientsFile = 1 << 30

func (r *record) readClients() error {
	text, err := bounded.File(r.path(clientsFile), maxClientsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var all []clientRecord
	if err := strictjson.DecodeWhole(text, &all, mostText); err != nil {
		return fmt.Errorf("%s: %w", r.path(clientsFile), err)
	}
	if len(all) != len(r.Clients) {
		return fmt.Errorf("%s has %d clients, must have %d", r.path(clientsFile), len(all), len(r.Clients))
	}
	r.Clients = all
	return nil
}

// writeAddress writes the broker's address for clients.
func (r *record) writeAddress(url string) error {
	return files.Write(r.path(addressFile), files.Text(url+"\n"))
}

func (r *record) saveClients() error { return files.Write(r.path(clientsFile), files.JSON(r.Clients)) }

// openApplied opens the list of applied updates and cuts it to the length in the state. The lines
// after that are about updates that the state does not have.
func (r *record) openApplied() error {
	f, err := os.OpenFile(r.path(appliedFile), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	r.out, r.buffer, r.written = f, bufio.NewWriterSize(f, 1<<16), r.Applied
	info, err := f.Stat()
	if err == nil && info.Size() < r.Applied {
		err = fmt.Errorf("%s has %d bytes, but the state was saved with %d", appliedFile, info.Size(), r.Applied)
	}
	if err == nil {
		err = f.Truncate(r.Applied)
	}
	if err == nil {
		_, err = f.Seek(r.Applied, io.SeekStart)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	if r.Applied == 0 {
		return r.line("client,round,k,sample_size,digest,seconds\n")
	}
	return nil
}

func (r *record) line(text string) error {
	n, err := r.buffer.WriteString(text)
	r.written += int64(n)
	if err != nil {
		return fmt.Errorf("%s: %w", appliedFile, err)
	}
	return nil
}

// applied records an update that was applied.
func (r *record) applied(h wire.Header, life time.Duration) error {
	for lag := h.Number - h.Newest; len(r.Lags) <= lag; {
		r.Lags = append(r.Lags, 0)
	}
	r.Lags[h.Number-h.Newest]++
	return r.line(fmt.Sprintf("%d,%d,%d,%d,%016x,%.3f\n", h.Client, h.Number, h.Newest, h.Size, h.Digest,
		r.seconds(life)))
}

// seconds returns the duration of the training so far: life, the duration of this life of the
// server, plus those of the earlier lives.
func (r *record) seconds(life time.Duration) float64 { return r.before + life.Seconds() }

func (r *record) refuse(why Refusal) { r.Refused[string(why)]++ }

// save writes the machine's state to disk, after the list of applied updates.
func (r *record) save(machine *sim.Server, life time.Duration) error {
	if err := errors.Join(r.buffer.Flush(), r.out.Sync()); err != nil {
		return fmt.Errorf("%s: %w", appliedFile, err)
	}
	r.Seconds, r.Applied, r.Expelled = r.seconds(life), r.written, nil
	for c := range r.Clients {
		if r.Clients[c].Expelled {
			r.Expelled = append(r.Expelled, c)
		}
	}
	header, err := json.Marshal(r.tally)
	if err != nil {
		return err
	}
	return files.Write(r.path(stateFile), func(w io.Writer) error {
		return stateFormat.Write(w, header, r.key, machine.Save)
	})
}

// report returns the report of a finished run, or nil if the run has not finished.
func (r *record) report() (*Report, error) {
	return readReport[Report](r.path(reportFile))
}

// readReport reads the report of a finished run. It returns nil if the file does not exist.
func readReport[T any](path string) (*T, error) {
	text, err := bounded.File(path, maxClientsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := new(T)
	if err := strictjson.Decode(text, out); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return out, nil
}

func (r *record) close() {
	if r.out != nil {
		r.out.Close() // the next life writes again what was not flushed
	}
}
