//go:build nobroker

package broker

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"
)

// Embedded reports whether this program contains a broker. It is false if the program was built with the tag
// nobroker.
const Embedded = false

// Broker is the message broker that an [Engine] describes.
type Broker struct{ engine Engine }

// Start returns a reference to the broker at e.URL. Without a URL it returns an error, because this program contains
// no broker.
func (e Engine) Start(context.Context) (*Broker, error) {
	if e.URL == "" {
		return nil, errors.New("this program was built without a broker (tag nobroker): give the URL of one")
	}
	if err := e.Validate(); err != nil {
		return nil, err
	}
	return &Broker{e}, nil
}

// URL returns the URL at which other processes reach the broker.
func (b *Broker) URL() string { return b.engine.URL }

// Connect connects this process to the broker.
func (b *Broker) Connect(ctx context.Context, p Peer) (*nats.Conn, error) {
	return Dial(ctx, b.engine.URL, p)
}

// Close does nothing: the broker runs elsewhere.
func (b *Broker) Close() {}
