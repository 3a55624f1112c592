package clock

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"proactivedp/data"
	"proactivedp/internal/bounded"
)

// Trace holds measured durations that a simulation plays back, for example those of a real system. Each client has a
// separate list of durations; after the last one, the list begins again. Gradients and messages can have different
// traces (see [Timing]). A Trace is immutable.
//
// Durations in a list are numbered from 0. In a trace of gradient times, each round of a client uses the next
// duration, also a round that begins again because the client had left (see [Churn]). In a trace of message times, a
// client's update of round i takes duration i of the client's list, and broadcast k to the client takes duration k.
// There is one exception: if messages can be lost or duplicated ([Network]) or clients can leave ([Churn]), a message
// takes duration n, where n counts all messages that were sent before it, both from and to this client. So a lost
// message that is sent again takes another duration than the first time.
type Trace struct {
	durations [][]time.Duration // each client's durations, at least one
	means     []float64         // mean of each client's durations, in nanoseconds
}

// MaxTraceBytes is the size in bytes of the longest trace that [ParseTrace] reads. It has room for about five million
// durations.
const MaxTraceBytes = 64 << 20

// byteOrder is the byte order mark, with which some programs begin a CSV file in UTF-8.
const byteOrder = "\uFEFF"

// maxTraceErrors is the number of bad lines that are reported at most.
const maxTraceErrors = 10

// ParseTrace reads a trace from r, a CSV text: the header client,duration, then one line for each duration, such as
// 0,1.5ms. Clients are numbered from 0 without gaps. The lines of one client are in order; lines of different clients
// may alternate. A duration is at most one hour. Blanks around fields are ignored. One error lists all problems of the
// text, up to about ten. It is an error if the trace is longer than [MaxTraceBytes] (64 MiB).
func ParseTrace(r io.Reader) (*Trace, error) {
	lines := csv.NewReader(bounded.Reader(r, MaxTraceBytes))
	lines.FieldsPerRecord, lines.ReuseRecord, lines.TrimLeadingSpace = 2, true, true
	at := func(column int) string {
		line, _ := lines.FieldPos(column)
		return strconv.Itoa(line)
	}
	byClient := map[int][]time.Duration{}
	var bad []error
	for first := true; len(bad) < maxTraceErrors; first = false {
		record, err := lines.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			bad = append(bad, fmt.Errorf("trace: %w", err))
			if first || !errors.Is(err, csv.ErrFieldCount) {
				break // the lines after it cannot be read reliably
			}
			continue
		}
		for i := range record {
			record[i] = strings.TrimSpace(record[i])
		}
		if first {
			record[0] = strings.TrimPrefix(record[0], byteOrder)
			if record[0] != "client" || record[1] != "duration" {
				return nil, fmt.Errorf("trace:%s: header = %q, must be client,duration", at(0), record)
			}
			continue
		}
		client, err := strconv.ParseUint(record[0], 10, 32)
		if err != nil || client >= data.MaxParts {
			bad = append(bad, fmt.Errorf("trace:%s: client = %q, must be in [0, %d]", at(0), record[0],
				data.MaxParts-1))
		}
		d, err := time.ParseDuration(record[1])
		if err != nil || d < 0 || d > MaxDuration {
			bad = append(bad, fmt.Errorf("trace:%s: duration = %q, must be a time such as 1.5ms, in [0, %v]",
				at(1), record[1], MaxDuration))
		}
		byClient[int(client)] = append(byClient[int(client)], d)
	}
	if len(bad) > 0 {
		return nil, errors.Join(bad...)
	}
	if len(byClient) == 0 {
		return nil, errors.New("trace: no durations")
	}
	t := &Trace{}
	for client := range len(byClient) {
		own := byClient[client]
		if len(own) == 0 {
			return nil, fmt.Errorf("trace: client %d of %d has no durations", client, len(byClient))
		}
		t.durations = append(t.durations, own)
		sum := 0.0
		for _, d := range own {
			sum += float64(d)
		}
		t.means = append(t.means, sum/float64(len(own)))
	}
	return t, nil
}

// Clients returns how many clients the trace has. A run must have the same number of clients.
func (t *Trace) Clients() int { return len(t.durations) }

// at returns a client's duration number i ≥ 0.
func (t *Trace) at(client, i int) time.Duration {
	own := t.durations[client]
	return own[i%len(own)]
}

func (t *Trace) checkClients(n int) error {
	if t.Clients() != n {
		return fmt.Errorf("clients of the trace = %d, must be the run's %d", t.Clients(), n)
	}
	return nil
}
