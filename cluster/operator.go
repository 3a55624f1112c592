package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/nats-io/nats.go"

	"proactivedp/cluster/broker"
	"proactivedp/internal/message"
	"proactivedp/internal/report"
)

// Operator is a connection through which a person or a program asks the server of a run for the run's state, and
// expels clients. Make one with [Operate], and close it after use.
type Operator struct {
	conn  *nats.Conn
	names names
}

// Operate connects to the broker at url as an operator of a run (a distributed training): the one with the given id
// or, if run is "", the only one at the broker. creds are the operator's credentials; nil means none. Operate waits
// at most two seconds for the broker. For the server of the run, it waits until ctx is cancelled.
func Operate(ctx context.Context, url, run string, creds *broker.Credentials) (*Operator, error) {
	if err := creds.Check(broker.Operator); err != nil {
		return nil, err
	}
	reaching, cancel := context.WithTimeoutCause(ctx, reach, fmt.Errorf("tried for %v", reach))
	defer cancel()
	c, err := broker.Dial(reaching, url, peerOf(broker.Operator, 0, creds, nil, nil))
	if err != nil {
		return nil, err
	}
	a, err := Find(ctx, c, run)
	if err != nil {
		c.Close()
		return nil, err
	}
	return &Operator{c, a.names()}, nil
}

// reach is how long an operator tries to reach a broker.
const reach = 2 * time.Second

// Close ends the connection to the broker. The run continues.
func (o *Operator) Close() { o.conn.Close() }

// ErrNoServer is wrapped by the errors of an [Operator] if the server of the run no longer answers: it has ended or
// cannot be reached.
var ErrNoServer = errors.New("its server has ended or cannot be reached")

// Status returns the state of the run. If the server does not answer, Status repeats the question for ten seconds,
// because the server may be starting again. If there is still no answer, the error wraps ErrNoServer.
func (o *Operator) Status(ctx context.Context) (*Status, error) {
	s := new(Status)
	if err := o.ask(ctx, o.names.status(), struct{}{}, s); err != nil {
		return nil, err
	}
	if s.Run != o.names.run || len(s.Clients) > MaxClients {
		return nil, fmt.Errorf("status is of run %s with %d clients, must be of run %s with at most %d",
			message.Name(s.Run), len(s.Clients), o.names.run, MaxClients)
	}
	return s, nil
}

// ask sends the question to the server until it answers, for at most ten seconds, and decodes the
// answer into v.
func (o *Operator) ask(ctx context.Context, subject string, question, v any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("no answer for %v", patience))
	defer cancel()
	for {
		err := ask(ctx, o.conn, subject, question, v, patience)
		if err == nil || !silent(err) {
			return err
		}
		if pause(ctx, beat/4) != nil {
			return fmt.Errorf("%w: run %s: %w", ErrNoServer, o.names.run, context.Cause(ctx))
		}
	}
}

// Expel removes a client from the run for good, for example because its machine is gone. While a client is missing,
// the server makes no new global model, and the other clients wait as soon as theirs is too old for the run's
// permissible delay (sim.Delay). The client cannot join the run again. If the server does not answer, Expel returns the
// same error as [Operator.Status].
func (o *Operator) Expel(ctx context.Context, client int) error {
	var r reply
	if err := o.ask(ctx, o.names.expel(), expulsion{client}, &r); err != nil {
		return err
	}
	if r.Error != "" {
		return fmt.Errorf("expel: the server refuses: %s", message.Quoted(r.Error))
	}
	return nil
}

// WriteText writes the status as text for people: the progress of the run, and a table with a line for each client.
func (s *Status) WriteText(w io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "run %s: k = %d of %d rounds, %d updates (%s), %s of broadcasts, %s\n", s.Run,
		s.K, s.Rounds, s.Updates, bytesText(s.Received), bytesText(s.Broadcast), report.Duration(s.Seconds))
	if len(s.Refused) > 0 {
		fmt.Fprintf(&text, "refused messages: %s\n", refusedText(s.Refused))
	}
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "client\tnext round\ton disk\tnewest k\theard\tstarts\trefused\t")
	for _, c := range s.Clients {
		fmt.Fprintf(t, "%d\t%d\t%d\t%d\t%s\t%d\t%d\t%s\n", c.Client, c.Next, c.Covered, max(c.Newest, 0),
			c.heard(), c.Life, c.Refused, c.state())
	}
	t.Flush() // writing to memory does not fail
	_, err := io.WriteString(w, text.String())
	return err
}

func (c *ClientStatus) heard() string {
	if c.Heard < 0 {
		return "never"
	}
	return fmt.Sprintf("%.1f s ago", c.Heard)
}

func (c *ClientStatus) state() string {
	switch {
	case c.Expelled:
		return "expelled"
	case c.Ended:
		return "has ended"
	case c.Lost > 0:
		return roundsText(c.Next, c.Next+c.Lost) + " are lost"
	}
	return ""
}
