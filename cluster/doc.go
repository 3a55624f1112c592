// Package dist trains over several processes: the server and the clients of asynchronous
// DP-SGD, each with its own data, randomness, ledger and journal, which meet at a broker
// (package dist/broker). They drive the same machines as the runners of package sim.
//
//	report, err := dist.Serve(ctx, dist.ServeOptions{Prepared: p, Dir: "server", Engine: …})
//	report, err := dist.Join(ctx, dist.JoinOptions{URL: "nats://127.0.0.1:4222", Client: 0, Dir: "client", …})
//
// # What is sent
//
// An update travels as messages of package dist/internal/wire under pdp.RUN.up.CLIENT.ROUND.CHUNK,
// which a stream keeps in files and takes once: a second message of one name is refused
// for as long as the first is there. Short updates go to the server past the stream, under
// pdp.RUN.early.CLIENT.ROUND.0, and to the stream many together, a little later. The server publishes v̂_k under
// pdp.RUN.down.SLOT.CHUNK, k mod 2 being the slot, of which a stream in memory keeps the
// newest. All else is questions to the server: pdp.find (which runs are there),
// pdp.RUN.hello.CLIENT (I am here; what do you have of me?), pdp.RUN.status and
// pdp.RUN.expel; and pdp.RUN.call, by which the server asks clients to say hello now.
//
// # Each update once, and no release twice
//
// A client writes a release to its journal, and flushes that to disk, before a bit of it is
// sent; rounds that Υ lets it compute meanwhile share the next flush, and travel together in
// one message where they are short. After a restart it sends the same bytes again, and
// computes the next round: never one that is in the journal. The server folds what is sent in
// the order in which it comes: an update of one message as it is published, since its client's
// journal has it, and what has not come so, as while the server was away, from the stream;
// sim.Server drops what it has. From time to time it saves its state, flushes it to disk, tells clients
// which rounds that covers, and then takes the messages of these rounds out of the stream, in
// this order. A client forgets a release when it is covered.
//
// So nobody needs the broker to keep what it has acknowledged. A server that starts again
// folds the whole stream from its beginning, whatever it remembers. A client sends again
// what the server says it does not have. A broker that lost its last minutes, or all,
// costs time.
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
