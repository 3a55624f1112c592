//go:build nobroker

package broker

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"
)

// Embedded says whether this program has a broker of its own.
const Embedded = false

// Broker is the broker that an engine speaks of.
type Broker struct{ engine Engine }

// Start returns the broker at the engine's URL: this program has none of its own.
func (e Engine) Start() (*Broker, error) {
	if e.URL == "" {
		return nil, errors.New("this program was built without one (tag nobroker): give the URL of a broker")
	}
	if err := e.Validate(); err != nil {
		return nil, err
	}
	return &Broker{e}, nil
}

// URL returns where others reach the broker.
func (b *Broker) URL() string { return b.engine.URL }

// Connect connects this process to the broker.
func (b *Broker) Connect(ctx context.Context, p Peer) (*nats.Conn, error) {
	return Dial(ctx, b.engine.URL, p)
}

// Close does nothing: the broker runs elsewhere.
func (b *Broker) Close() {}
