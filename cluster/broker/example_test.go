//go:build !nobroker

package broker_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"proactivedp/cluster/broker"
)

// A broker in this process, that listens on loopback, and somebody who reaches it there.
func ExampleEngine_Start() {
	dir, err := os.MkdirTemp("", "broker")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	b, err := broker.Engine{Listen: "127.0.0.1:0", StoreDir: dir}.Start(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer b.Close()
	server, err := b.Connect(ctx, broker.Peer{Name: "server", Inbox: "_INBOX_server"})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	questions, err := server.SubscribeSync("greeting")
	if err != nil {
		log.Fatal(err)
	}
	if err := server.FlushWithContext(ctx); err != nil { // the broker knows of it before anybody asks
		log.Fatal(err)
	}
	client, err := broker.Dial(ctx, b.URL(), broker.Peer{Name: "client", Inbox: "_INBOX_client"})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	if err := client.Publish("greeting", []byte("hello")); err != nil {
		log.Fatal(err)
	}
	m, err := questions.NextMsgWithContext(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", m.Data)
	// Output: hello
}
