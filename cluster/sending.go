package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// sending is a message on its way to a stream.
type sending struct {
	subject string
	data    []byte
	ack     jetstream.PubAckFuture // nil if sending failed
}

// publish sends a message to a stream.
func publish(js jetstream.JetStream, subject string, data []byte) (sending, error) {
	ack, err := js.PublishMsgAsync(&nats.Msg{Subject: subject, Data: data})
	if err != nil {
		return sending{}, fmt.Errorf("%s: %w", subject, err)
	}
	return sending{subject, data, ack}, nil
}

// errTaken reports that the stream already has a message with the subject.
var errTaken = errors.New("there is a message already")

// storeFailed is the broker's error code for a message that a stream refuses.
const storeFailed jetstream.ErrorCode = 10077

// wait waits until the stream has the message and returns its number there. The error is errTaken if
// the stream already had a message with the subject.
func (s sending) wait(ctx context.Context) (uint64, error) {
	if s.ack == nil {
		return 0, s.failed(nats.ErrDisconnected)
	}
	select {
	case ack := <-s.ack.Ok():
		return ack.Sequence, nil
	case err := <-s.ack.Err():
		return 0, s.failed(err)
	case <-ctx.Done():
		return 0, s.failed(context.Cause(ctx))
	}
}

// failed returns why the stream does not have the message.
func (s sending) failed(err error) error {
	api, ok := errors.AsType[*jetstream.APIError](err)
	if ok && api.ErrorCode == storeFailed && api.Description == "maximum messages per subject exceeded" {
		return errTaken
	}
	return fmt.Errorf("%s: %w", s.subject, err)
}
