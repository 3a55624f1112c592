package cluster

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"proactivedp/cluster/broker"
	"proactivedp/cluster/internal/wire"
)

// A client that names its run finds it even if a server of another version is running, too. Without a
// name, the client gets an error that mentions the server of the other version.
func TestARunIsFoundBesideServersOfOtherVersions(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), enough)
	defer cancel()
	b, err := broker.Engine{StoreDir: t.TempDir()}.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	conn, err := b.Connect(ctx, peerOf(broker.Client, 0, nil, nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const run = "0123456789abcdef"
	about, err := announce(run, prepare(t, smallSpec(12), drawn()), wire.MaxChunk)
	if err != nil {
		t.Fatal(err)
	}
	text, err := about.bytes()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Subscribe(findSubject, func(m *nats.Msg) {
		for _, answer := range []string{`{"protocol": 1, "run": "00000000000000aa", "much": "else"}`, string(text)} {
			if err := m.Respond([]byte(answer)); err != nil {
				t.Error(err)
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	if a, err := Find(ctx, conn, run); err != nil || !reflect.DeepEqual(a, about) {
		t.Errorf("the run: %+v, %v", a, err)
	}
	if a, err := Find(ctx, conn, ""); err == nil || !strings.Contains(err.Error(), "protocol 1") {
		t.Errorf("any run: %+v, %v", a, err)
	}
}
