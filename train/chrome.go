package train

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"proactivedp/internal/timeline"
	"proactivedp/sim"
)

// Trace writes the timeline of a run on the virtual clock as it happens, in the
// JSON of the Trace Event Format that Perfetto and chrome://tracing open (Google,
// "Trace Event Format", 2016). There is a track for the server and one for each
// client; a microsecond there is one of the virtual clock. Only what is under way
// is in memory.
//
//   - A client's track has its rounds (round, lag i − k, sample size), an aborted
//     one marked as such, and between them waits and absences.
//   - The server's track is cut where it broadcasts: the slice "to v̂_k" ends with
//     the broadcast of v̂_k. Every update that arrives is a mark on it, and an
//     arrow from its round.
//   - Broadcasts that arrive, and messages lost, resent and doubled, are marks on
//     the client's track; so are leaving and coming back.
//
// A Trace is made by NewTrace. The methods of any other return an error or, if they
// have none to return, may panic.
type Trace struct {
	w       io.Writer
	err     error  // the first error of writing
	gap     string // what stands before the next event
	clients timeline.Clients
	cut     sim.Time // when the server's slice under way began
	counts  TraceCounts
}

// TraceCounts is what a trace holds.
type TraceCounts struct {
	Rounds     int `json:"rounds"` // completed rounds of all clients
	Aborted    int `json:"rounds_aborted"`
	Updates    int `json:"updates_arrived"` // updates that arrived, duplicates counted
	Broadcasts int `json:"broadcasts"`      // broadcasts sent, with those to one client that returned
}

// MaxTraceRounds bounds the rounds of all clients in a trace: more would make a
// file that viewers do not open.
const MaxTraceRounds = 1 << 18

// CheckTrace refuses a trace of a run that has none or too long a one.
func (p *Prepared) CheckTrace() error {
	if err := p.made(); err != nil {
		return err
	}
	if p.Spec.Runner != VirtualRunner {
		return fmt.Errorf("trace of runner = %q, must be %q: only a virtual clock tells times", p.Spec.Runner,
			VirtualRunner)
	}
	if n := p.Config.Run().Rounds * p.Config.Clients(); n > MaxTraceRounds {
		return fmt.Errorf("trace of %d rounds of all clients, must be at most %d: train with fewer gradient "+
			"computations", n, MaxTraceRounds)
	}
	return nil
}

// NewTrace begins the trace of a run of so many clients. What is written is whole
// after Close. It panics if w is nil or clients is outside [1, MaxTraceRounds].
func NewTrace(w io.Writer, clients int) *Trace {
	if w == nil {
		panic("train: a trace without a writer")
	}
	if clients < 1 || clients > MaxTraceRounds {
		panic(fmt.Sprintf("train: trace of %d clients, must be in [1, %d]", clients, MaxTraceRounds))
	}
	t := &Trace{w: w, clients: make(timeline.Clients, clients)}
	t.print(`{"displayTimeUnit":"ns","traceEvents":[`)
	t.put(traceEvent{Name: "process_name", Phase: "M", Args: traceArgs{"name": "virtual clock"}})
	t.name(serverTrack, "server")
	for c := range clients {
		t.name(clientTrack(c), "client "+strconv.Itoa(c))
	}
	return t
}

// Close ends the trace and reports the first error of writing it.
func (t *Trace) Close() error {
	if err := t.made(); err != nil {
		return err
	}
	counts, err := json.Marshal(t.counts)
	if err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	t.print("\n],\n\"otherData\":" + string(counts) + "}\n")
	return t.err
}

// record has the run shown to the trace, if there is one, from where it stands.
func (p *Prepared) record(v *sim.Virtual) {
	if p.Trace != nil {
		p.Trace.start(v.Now())
		v.Record(p.Trace.happen)
	}
}

// start makes the trace begin at a time on the virtual clock.
func (t *Trace) start(now sim.Time) {
	t.cut = now
	for c := range t.clients {
		t.clients[c].Free = now
	}
}

// traceEvent is one event of the format.
type traceEvent struct {
	Name  string    `json:"name"`
	Cat   string    `json:"cat,omitempty"`
	Phase string    `json:"ph"`
	At    micros    `json:"ts"`
	For   *micros   `json:"dur,omitempty"`
	PID   int       `json:"pid"`
	TID   int       `json:"tid"`
	ID    string    `json:"id,omitempty"`
	Scope string    `json:"s,omitempty"`
	Binds string    `json:"bp,omitempty"`
	Args  traceArgs `json:"args,omitempty"`
}

type traceArgs map[string]any

// micros is a time that is written in microseconds, to the nanosecond.
type micros sim.Time

// MarshalJSON implements json.Marshaler.
func (m micros) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%d.%03d", m/1000, m%1000), nil
}

// The server has the first track, and clients the next ones.
const serverTrack = 0

func clientTrack(client int) int { return client + 1 }

func (t *Trace) print(text string) {
	if t.err == nil {
		_, t.err = io.WriteString(t.w, text)
	}
}

func (t *Trace) put(e traceEvent) {
	text, err := json.Marshal(e)
	if err != nil && t.err == nil {
		t.err = fmt.Errorf("trace: %w", err)
	}
	t.print(t.gap + "\n" + string(text))
	t.gap = ","
}

func (t *Trace) name(track int, name string) {
	t.put(traceEvent{Name: "thread_name", Phase: "M", TID: track, Args: traceArgs{"name": name}})
	t.put(traceEvent{Name: "thread_sort_index", Phase: "M", TID: track, Args: traceArgs{"sort_index": track}})
}

// slice writes something that took from one time to another.
func (t *Trace) slice(track int, name string, from, to sim.Time, args traceArgs) {
	took := micros(to - from)
	t.put(traceEvent{Name: name, Phase: "X", At: micros(from), For: &took, TID: track, Args: args})
}

// mark writes something that happened at an instant.
func (t *Trace) mark(track int, name string, at sim.Time, args traceArgs) {
	t.put(traceEvent{Name: name, Phase: "i", Scope: "t", At: micros(at), TID: track, Args: args})
}

// arrow writes the start (phase "s") or the end ("f") of an update's way.
func (t *Trace) arrow(phase string, track int, at sim.Time, client, round int) {
	e := traceEvent{Name: "update", Cat: "message", Phase: phase, At: micros(at), TID: track,
		ID: fmt.Sprintf("%d.%d", client, round)}
	if phase == "f" {
		e.Binds = "e"
	}
	t.put(e)
}

// happen enters an event; events come in the order of their times.
func (t *Trace) happen(h sim.Happening) {
	if ended, since := t.clients.Enter(h); ended != "" && h.At > since {
		t.slice(clientTrack(h.Client), ended, since, h.At, nil)
	}
	switch h.Kind {
	case sim.RoundBegins:
	case sim.RoundEnds, sim.RoundAborted:
		t.endRound(h)
	case sim.UpdateArrives:
		t.counts.Updates++
		t.mark(serverTrack, fmt.Sprintf("update of client %d", h.Client), h.At,
			traceArgs{"client": h.Client, "round": h.Number})
		t.arrow("f", serverTrack, h.At, h.Client, h.Number)
	case sim.BroadcastSent:
		t.counts.Broadcasts++
		if h.Client != sim.AllClients {
			t.mark(serverTrack, fmt.Sprintf("v̂_%d to client %d", h.Number, h.Client), h.At,
				traceArgs{"k": h.Number, "client": h.Client})
			return
		}
		t.slice(serverTrack, fmt.Sprintf("to v̂_%d", h.Number), t.cut, h.At, traceArgs{"k": h.Number})
		t.cut = h.At
	default:
		t.mark(clientTrack(h.Client), h.Kind.String(), h.At, traceArgs{"number": h.Number, "down": h.Down})
	}
}

func (t *Trace) endRound(h sim.Happening) {
	began := t.clients[h.Client].Round
	name := fmt.Sprintf("round %d", h.Number)
	args := traceArgs{"round": began.Number, "lag": began.Lag, "sample_size": began.Size}
	if h.Kind == sim.RoundAborted {
		t.counts.Aborted++
		name, args["aborted"] = name+", aborted", true
	} else {
		t.counts.Rounds++
		// the arrow must begin within the slice
		t.arrow("s", clientTrack(h.Client), max(began.At, h.At-1), h.Client, h.Number)
	}
	t.slice(clientTrack(h.Client), name, began.At, h.At, args)
}

// made reports a trace that cannot be written.
func (t *Trace) made() error {
	if t == nil || t.w == nil {
		return errors.New("this Trace was not made by NewTrace")
	}
	return nil
}
