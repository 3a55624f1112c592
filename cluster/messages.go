package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"proactivedp/cluster/internal/journal"
	"proactivedp/internal/strictjson"
	"proactivedp/rng"
)

// hello is a client's regular message about itself.
type hello struct {
	Journal  string `json:"journal"`  // the public name of its journal's secret
	Life     int    `json:"life"`     // how often its journal was opened
	Instance string `json:"instance"` // identifies the process; drawn at its start
	First    bool   `json:"first"`    // the client asks what the server has, before it does anything else
	// Replace asks to take the client's number from a journal that is lost, see replace.go.
	Replace bool `json:"replace,omitempty"`
	Oldest  int  `json:"oldest"` // the first round that the journal can send again
	Next    int  `json:"next"`   // the first round that was not released
	Newest  int  `json:"newest"` // the k of its newest broadcast
	// Ledger is the ledger of all rounds of the client. It is sent when the server has saved all of
	// them.
	Ledger *clientLedger `json:"ledger,omitempty"`
	Bye    bool          `json:"bye,omitempty"` // the client knows that the server has its ledger, and ends
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
	Sent     int64             `json:"bytes_sent"` // of updates, including those that were sent again
	Resent   int               `json:"resent"`     // updates that were sent again
	Seconds  float64           `json:"seconds"`    // duration of its present life
}

// answer is the server's answer to a hello.
type answer struct {
	Error string `json:"error,omitempty"` // why the client must stop
	// Gone says that the client was expelled.
	Gone      bool   `json:"gone,omitempty"`
	K         int    `json:"k"`
	Next      int    `json:"next"`              // the client's first round that is not in
	Highest   int    `json:"highest"`           // the highest round received, even in part; -1 if none
	Missing   []int  `json:"missing,omitempty"` // the lowest rounds up to Highest that are not in
	Covered   int    `json:"covered"`           // the server has saved all rounds below this one
	First     int    `json:"first"`             // the first round of the client's journal
	Replaced  int    `json:"replaced"`          // how many lost journals the client's journal replaces
	Processed uint64 `json:"processed"`         // the newest message of the stream that is folded
	Farewell  bool   `json:"farewell,omitempty"`
	lacks     bool   // whether the journal has forgotten round Next, see ErrLost
}

// maxMissing is the largest number of rounds that an answer lists as missing.
const maxMissing = 256

// Status is the state of a distributed training while it runs. Operator.Status asks the server for it, and
// ServeOptions.Watch receives it in the server's process. K is the number of the newest global model, and Rounds the
// number at which the training is done.
type Status struct {
	Run     string `json:"run"`
	K       int    `json:"k"`
	Rounds  int    `json:"rounds"`
	Updates int    `json:"updates"` // number of updates, of all clients together, that were applied to the model
	Params  int    `json:"params"`
	// Seconds is the time from the first to the last update. If the server was started several times, it is the sum
	// over its starts.
	Seconds   float64 `json:"seconds"`
	Done      bool    `json:"done"`
	Received  int64   `json:"bytes_received"` // bytes of the messages whose updates were applied to the model
	Broadcast int64   `json:"bytes_broadcast"`
	// Lags has the staleness of the updates: element l is the number of updates for a round i that was computed from
	// global model i − l.
	Lags    []int          `json:"lags"`
	Refused map[string]int `json:"refused"` // number of refused messages, by reason, see [Refusal]
	Clients []ClientStatus `json:"clients"`
}

// ClientStatus is what the server knows about one client, in a [Status]: how far it is, and when the server last
// heard from it. Life is the number of times that the client was started.
type ClientStatus struct {
	Client int `json:"client"`
	Next   int `json:"next"` // first round of the client whose update the server does not have
	// Covered is the first round that the server has not saved to disk. It has saved all earlier ones, so the client
	// can forget them.
	Covered int `json:"covered"`
	// Oldest is the first round that the client can still send again, as the client said in its last hello message.
	Oldest int `json:"oldest"`
	// Lost is the number of rounds from Next on that neither server nor client has, see [ErrLost]; 0 normally.
	Lost int `json:"lost"`
	// Newest is the number k of the newest global model that the client has received, as it said in its last hello
	// message.
	Newest int `json:"newest"`
	Life   int `json:"life"`
	// Heard is the number of seconds since the client's last message. It is -1 if there was none since the server
	// started.
	Heard    float64 `json:"heard_seconds_ago"`
	Expelled bool    `json:"expelled"`
	Ended    bool    `json:"ended"`   // the client has finished its rounds, and the server has the list of them
	Refused  int     `json:"refused"` // number of the client's messages that were refused since the server started
}

// expulsion asks to expel a client.
type expulsion struct {
	Client int `json:"client"`
}

// reply is the answer to an expulsion.
type reply struct {
	Error string `json:"error,omitempty"`
}

// mostText is the largest text in a message, in bytes.
const mostText = 2000

// decode reads a message of another process, which is not trusted.
func decode(text []byte, v any) error {
	if len(text) > maxAnswer {
		return fmt.Errorf("message has %d bytes, must have at most %d", len(text), maxAnswer)
	}
	return strictjson.DecodeWhole(text, v, mostText)
}

// ask sends a question and decodes the answer into v.
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

// silent reports whether an error of ask means only that nobody answered.
func silent(err error) bool {
	return errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrTimeout) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrDisconnected) ||
		errors.Is(err, nats.ErrReconnectBufExceeded) || errors.Is(err, nats.ErrConnectionReconnecting)
}
