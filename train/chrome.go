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

// Trace writes the timeline of a run: when each client computes, waits or is away, and when messages are sent and
// arrive. Open it in Perfetto or chrome://tracing to see, for example, why clients wait. It is JSON in the Trace
// Event Format (Google, 2016) and is written while the run goes on. Times are those of the virtual clock, and a
// microsecond in the file is a microsecond of that clock. Only rounds and messages that are under way are kept in
// memory. To get a trace, set Prepared.Trace before the run.
//
//   - A client's track has its rounds, each with its number i, its batch size, and its lag i − k, where k is the
//     number of the newest global model that the client has received. Aborted rounds are marked. Between rounds the
//     track shows waits and absences.
//   - The server's track is divided into slices, one from each broadcast of a global model to the next. The slice
//     named "to v̂_k" ends when the global model with the number k is sent. Every update that arrives is a mark, with
//     an arrow from its round.
//   - Arrivals of broadcasts are marks on the client's track. So are lost, resent and duplicated messages, and the
//     client's departures and returns.
//
// Use NewTrace to make one. The methods of a zero Trace return an error or, if they have no error result, may panic.
type Trace struct {
	w       io.Writer
	err     error  // the first error of writing
	gap     string // separator before the next event
	clients timeline.Clients
	cut     sim.Time // when the server's current slice began
	counts  TraceCounts
}

// TraceCounts has the numbers of rounds, updates (the noisy sums that clients send) and broadcasts (the global models
// that the server sends) in a [Trace]. They are stored at the end of the trace's file.
type TraceCounts struct {
	Rounds     int `json:"rounds"`          // completed rounds of all clients
	Aborted    int `json:"rounds_aborted"`  // rounds that a client left before their end; it begins them again later
	Updates    int `json:"updates_arrived"` // updates that arrived, including duplicates
	Broadcasts int `json:"broadcasts"`      // broadcasts sent, including those to a single client that returned
}

// MaxTraceRounds is the largest number of rounds in a [Trace] (the timeline of a run), summed over all clients.
// Programs that show such timelines, like Perfetto, cannot open the file of a longer run.
const MaxTraceRounds = 1 << 18

// CheckTrace returns nil if the run can write a [Trace] (its timeline). It returns an error if the spec's runner is
// not VirtualRunner, so that there is no virtual clock, or if all clients together have more than MaxTraceRounds
// rounds.
func (p *Prepared) CheckTrace() error {
	if err := p.made(); err != nil {
		return err
	}
	if p.Spec.Runner != VirtualRunner {
		return fmt.Errorf("runner of a trace = %q, must be %q: a trace needs the virtual clock", p.Spec.Runner,
			VirtualRunner)
	}
	if n := p.Config.Run().Rounds * p.Config.Clients(); n > MaxTraceRounds {
		return fmt.Errorf("rounds of all clients in a trace = %d, must be at most %d: train with fewer gradient "+
			"computations", n, MaxTraceRounds)
	}
	return nil
}

// NewTrace begins a trace of a run with the given number of clients, and writes it to w. Set Prepared.Trace to it,
// run the training, and call Close, which completes the file. NewTrace panics if w is nil or clients is not in [1,
// MaxTraceRounds].
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

// Close writes the end of the trace. Without Close, the file is incomplete. It returns the first error of all writes
// since NewTrace. It does not close the writer.
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

// record makes the run report its events to p.Trace from now on, if there is a trace.
func (p *Prepared) record(v *sim.Virtual) {
	if p.Trace != nil {
		p.Trace.start(v.Now())
		v.Record(p.Trace.happen)
	}
}

// start sets the time on the virtual clock at which the trace's first slices begin.
func (t *Trace) start(now sim.Time) {
	t.cut = now
	for c := range t.clients {
		t.clients[c].Free = now
	}
}

// traceEvent is one event in the JSON format.
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

// micros is a time that is written in microseconds with three decimals.
type micros sim.Time

func (m micros) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%d.%03d", m/1000, m%1000), nil
}

// The server has the first track. The clients follow.
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

// slice writes an event with a beginning and an end.
func (t *Trace) slice(track int, name string, from, to sim.Time, args traceArgs) {
	took := micros(to - from)
	t.put(traceEvent{Name: name, Phase: "X", At: micros(from), For: &took, TID: track, Args: args})
}

// mark writes an event without duration.
func (t *Trace) mark(track int, name string, at sim.Time, args traceArgs) {
	t.put(traceEvent{Name: name, Phase: "i", Scope: "t", At: micros(at), TID: track, Args: args})
}

// arrow writes the start (phase "s") or the end (phase "f") of the arrow for an update.
func (t *Trace) arrow(phase string, track int, at sim.Time, client, round int) {
	e := traceEvent{Name: "update", Cat: "message", Phase: phase, At: micros(at), TID: track,
		ID: fmt.Sprintf("%d.%d", client, round)}
	if phase == "f" {
		e.Binds = "e"
	}
	t.put(e)
}

// happen adds an event. Events must be in the order of their times.
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

func (t *Trace) made() error {
	if t == nil || t.w == nil {
		return errors.New("this Trace was not made by NewTrace")
	}
	return nil
}
