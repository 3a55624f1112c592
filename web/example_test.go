package web_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"

	"proactivedp/web"
)

// A server answers questions of package answer, until its context is done.
func ExampleServer() {
	server, err := web.NewServer(web.Options{})
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- server.Serve(ctx, listener) }()
	reply, err := http.Post("http://"+listener.Addr().String()+"/answer", "application/json",
		strings.NewReader(`{"plan": {"n": 10000, "epochs": 5, "epsilon": 0.05, "method": "closed-form"}}`))
	if err != nil {
		log.Fatal(err)
	}
	text, err := io.ReadAll(reply.Body)
	reply.Body.Close()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(reply.Status, strings.Contains(string(text), `"verdict":"Feasible: 1613 rounds of s = 31`))
	stop()
	fmt.Println(<-ended)
	// Output:
	// 200 OK true
	// <nil>
}
