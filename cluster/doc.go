// Package cluster runs one DP-SGD training in several processes, without rounds in which all wait for each other: a
// server ([Serve]) holds the global model, and clients ([Join]) train on their own data. Each client has its own
// randomness, a ledger of the rounds that cost privacy, and a journal (a file with the rounds that it has released).
// The processes exchange messages through a broker (package cluster/broker) and drive the same state machines as the
// runners of package sim.
//
//	report, err := cluster.Serve(ctx, cluster.ServeOptions{Prepared: p, Dir: "server", Engine: …})
//	report, err := cluster.Join(ctx, cluster.JoinOptions{URL: "nats://127.0.0.1:4222", Client: 0, Dir: "client", …})
//
// # What is sent
//
// An update is one or more messages of package cluster/internal/wire with the subject pdp.RUN.up.CLIENT.ROUND.CHUNK.
// A stream keeps these messages in files, and refuses a second message of a subject while it has the first.
//
// Updates of at most 16 KiB are sent twice: directly to the server, as pdp.RUN.early.CLIENT.ROUND.0, and a little
// later to the stream, many in one message.
//
// The server publishes the global model v̂_k, which has all rounds below k of all clients, as
// pdp.RUN.down.SLOT.CHUNK. SLOT is k mod 2. A stream in memory keeps the newest message of each of these subjects.
//
// All other messages are questions to the server: pdp.find (which runs exist?), pdp.RUN.hello.CLIENT (I am here;
// which of my rounds do you have?), pdp.RUN.status and pdp.RUN.expel. With pdp.RUN.call the server asks the clients
// to say hello now.
//
// # Each update once, and no release twice
//
// An update goes through these steps, in this order:
//
//  1. The client writes the release to its journal and flushes it to disk. If the permissible delay
//     lets it compute more rounds in the meantime, these share the next flush, and also the next
//     message if they are short.
//  2. It sends the update. After a restart it sends the same bytes again and computes the next
//     round, never one that is in the journal.
//  3. The server folds the update, that is, reads and applies it. An update that fits into one
//     message reaches it at once, before the stream has stored it. The server reads all others from
//     the stream, and also those that were sent while it was away. sim.Server drops an update that
//     it already has.
//  4. From time to time the server saves its state and flushes it to disk.
//  5. It tells each client how many of its first rounds are in the saved state. The client's journal
//     then forgets them.
//  6. It deletes the messages of these rounds from the stream.
//
// So no update is lost if the broker loses messages that it has acknowledged. A server that starts again folds the
// whole stream from its beginning, and a client sends again what the server does not have. If the broker loses its
// newest messages, or all of them, that only costs time.
//
// A client's journal may be copied, or restored from an old copy. Such a copy could release rounds a second time. Two
// rules prevent that. First, each opening of a journal begins a new "life" with a number, and the server accepts only
// the latest life. Second, if the server has more rounds of a client than the client's own journal, the client stops
// before it computes anything.
//
// If the server and the broker are restored from old copies too, nobody remembers the newest rounds, and the client
// releases them again. Samples and noise of a life are independent of those of earlier lives.
//
// A client's number belongs to the journal that used it first. JoinOptions.Replace lets another journal take the
// number over (the protocol is described in replace.go). If neither the server nor the client's journal has a round,
// the run ends with ErrLost.
//
// # Who learns what
//
// A client's samples, noise and dropout come from the secret in its journal, which nobody else has, and from the salt
// of the journal's opening. The client's own noise protects its records (record level) against the server and
// everybody else who sees its updates. The privacy statement is computed from the client's ledger, as for every other
// run.
//
// This is not local differential privacy of a person who holds many records. There is no secure aggregation: the
// server sees each client's updates. Clients see the broadcasts and, with the right credentials, nothing else of each
// other. The time at which a message is sent may depend on how long a gradient takes; (ε, δ) assumes that this does
// not depend on the records.
//
// Messages that no honest client sends are refused, counted and deleted from the stream: see Refusal.
package cluster
