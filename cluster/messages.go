package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"proactivedp/cluster/internal/journal"
	"proactivedp/rng"
)

// hello is a client's regular message about itself.
type hello struct {
	Journal  string `json:"journal"`  // the public name of its journal's secret
	Life     int    `json:"life"`     // how often its journal was opened
	Instance string `json:"instance"` // of the process, drawn at its start
	First    bool   `json:"first"`    // the client asks what the server has before it does anything
	// Replace asks to take the client's number from a journal that is lost, see replace.go.
	Replace bool `json:"replace,omitempty"`
	Oldest  int  `json:"oldest"` // the first round that the journal can send again
	Next    int  `json:"next"`   // the first round that was not released
	Newest  int  `json:"newest"` // the k of its newest broadcast
	// Ledger is what the client has released in all its rounds. It is sent when all of them are saved
	// by the server.
	Ledger *clientLedger `json:"ledger,omitempty"`
	Bye    bool          `json:"bye,omitempty"` // the client has heard that its ledger is there, and is going
}

// clientLedger is the message form of a client's ledger.
type clientLedger struct {
	Records int `json:"records"` // N_c
	First   int `json:"first"`   // the first round of the journal
	// Replaced is how many lost journals this one replaces. The server may remember fewer.
	Replaced int               `json:"replaced,omitempty"`
	Noise    rng.Name          `json:"noise"`
	Sizes    []journal.Stretch `json:"sizes"`
	Lags     []int             `json:"lags"`
	Sent     int64             `json:"bytes_sent"` // of updates, those that were sent again included
	Resent   int               `json:"resent"`     // updates that were sent again
	Seconds  float64           `json:"seconds"`    // that its processes lived
}

// answer is the server's answer to a hello.
type answer struct {
	Error string `json:"error,omitempty"` // why the client must stop
	// Gone says that the client was expelled.
	Gone      bool   `json:"gone,omitempty"`
	K         int    `json:"k"`
	Next      int    `json:"next"`              // the first round of the client that is not in
	Highest   int    `json:"highest"`           // the highest round of which anything has come; -1: none
	Missing   []int  `json:"missing,omitempty"` // the first rounds up to Highest that are not in
	Covered   int    `json:"covered"`           // rounds below are safe with the server
	First     int    `json:"first"`             // the first round of the client's journal
	Replaced  int    `json:"replaced"`          // how many journals the client's journal replaces
	Processed uint64 `json:"processed"`         // up to which message the stream is folded
	Farewell  bool   `json:"farewell,omitempty"`
	lacks     bool   // whether the journal has forgotten round Next: see ErrLost
}

// maxMissing bounds the rounds that an answer names as missing.
const maxMissing = 256

// Status is the state of a run.
type Status struct {
	Run       string         `json:"run"`
	K         int            `json:"k"`
	Rounds    int            `json:"rounds"`
	Updates   int            `json:"updates"`
	Params    int            `json:"params"`
	Seconds   float64        `json:"seconds"` // from the first update to the last, of each life of the server
	Done      bool           `json:"done"`
	Received  int64          `json:"bytes_received"` // of updates that were applied, as messages
	Broadcast int64          `json:"bytes_broadcast"`
	Lags      []int          `json:"lags"`    // updates by i − k
	Refused   map[string]int `json:"refused"` // messages by why they were refused
	Clients   []ClientStatus `json:"clients"`
}

// ClientStatus is the state of a client, as the server knows it.
type ClientStatus struct {
	Client   int     `json:"client"`
	Next     int     `json:"next"`    // the first round that is not in
	Covered  int     `json:"covered"` // rounds below are on the server's disk
	Oldest   int     `json:"oldest"`  // the first round that its journal can send again, as it said last
	Lost     int     `json:"lost"`    // this many rounds from Next on are lost
	Newest   int     `json:"newest"`  // the k of its newest broadcast, as it said last
	Life     int     `json:"life"`
	Heard    float64 `json:"heard_seconds_ago"` // -1: never in this life of the server
	Expelled bool    `json:"expelled"`
	Ended    bool    `json:"ended"` // its ledger is there
	Refused  int     `json:"refused"`
}

// expulsion asks to expel a client.
type expulsion struct {
	Client int `json:"client"`
}

// reply is the answer to an expulsion.
type reply struct {
	Error string `json:"error,omitempty"`
}

// ask sends a question and reads the answer into v.
func ask(ctx context.Context, c *nats.Conn, subject string, question, v any, patience time.Duration) error {
	text, err := json.Marshal(question)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	m, err := c.RequestWithContext(ctx, subject, text)
	if err != nil {
		return fmt.Errorf("%s: %w", subject, err)
	}
	if err := decode(m.Data, v); err != nil {
		return fmt.Errorf("the answer under %s: %w", subject, err)
	}
	return nil
}

// silent reports whether an error of ask only says that nobody answered.
func silent(err error) bool {
	return errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrTimeout) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrDisconnected) ||
		errors.Is(err, nats.ErrReconnectBufExceeded) || errors.Is(err, nats.ErrConnectionReconnecting)
}
