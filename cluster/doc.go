// Package cluster trains with several processes: the server and the clients of asynchronous DP-SGD. Each
// client has its own data, randomness, ledger and journal. They exchange messages through a broker
// (package internal/broker), and drive the same machines as the runners of package sim.
//
//	report, err := cluster.Serve(ctx, cluster.ServeOptions{Prepared: p, Dir: "server", Engine: …})
//	report, err := cluster.Join(ctx, cluster.JoinOptions{URL: "nats://127.0.0.1:4222", Client: 0, Dir: "client", …})
//
// # What is sent
//
// An update is one or more messages of package cluster/internal/wire under
// pdp.RUN.up.CLIENT.ROUND.CHUNK. A stream keeps them in files, and refuses a second message of a
// subject as long as it has the first. Short updates go to the server past the stream, under
// pdp.RUN.early.CLIENT.ROUND.0, and a little later to the stream, many in one message. The server
// publishes v̂_k under pdp.RUN.down.SLOT.CHUNK, where the slot is k mod 2. A stream in memory keeps
// the newest message of each of these subjects. All other messages are questions to the server:
// pdp.find (which runs are there), pdp.RUN.hello.CLIENT (I am here; what do you have of me?),
// pdp.RUN.status and pdp.RUN.expel. By pdp.RUN.call the server asks clients to say hello now.
//
// # Each update once, and no release twice
//
// An update goes these steps, in this order:
//
//  1. The client writes the release to its journal and flushes that to disk. Rounds that Υ lets it
//     compute meanwhile share the next flush, and the next message if they are short.
//  2. It sends the update. After a restart it sends the same bytes again and computes the next
//     round, never one that is in the journal.
//  3. The server folds the update, that is reads and applies it: past the stream if it is one
//     message, or from the stream, for example after the server was away. sim.Server drops an
//     update that it has.
//  4. From time to time the server saves its state and flushes it to disk.
//  5. It tells clients which rounds the saved state covers. A client's journal forgets these.
//  6. It takes the messages of these rounds out of the stream.
//
// So nobody needs the broker to keep what it has acknowledged. A server that starts again folds the
// whole stream from its beginning. A client sends again what the server does not have. A broker
// that lost its last minutes, or everything, only costs time.
//
// A client's journal may be copied, or restored from an old copy, and then it would release rounds
// a second time. Each opening of a journal is a new life; the server hears no life but the latest,
// and a client that learns that the server has more of it than its own journal stops before it
// computes anything. If the server and the broker are restored too, nobody remembers these rounds,
// and the client releases them again. Samples and noise of a life are independent of those of
// earlier lives.
//
// A client's number belongs to the journal that took it. See replace.go for how another journal can
// take it over. If neither the server nor a journal has a round, the run ends, see ErrLost.
//
// # Who learns what
//
// A client's samples, noise and dropout come from the secret in its journal, which nobody else
// has, and from the salt of the journal's opening. Each update is private at record level by
// the client's own noise, towards the server and everybody who sees it; the statement is of
// the client's ledger, as for every other run. It is not local differential privacy of a
// person who holds many records, and there is no secure aggregation: the server sees each
// client's update by itself. Clients see the broadcasts, and with the right credentials
// nothing else of each other. When a message is sent may depend on how long a gradient takes
// to compute; (ε, δ) takes that to be independent of the records.
//
// What no honest client sends is refused, counted and taken out of the stream: see Refusal.
package cluster
