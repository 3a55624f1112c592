package cluster

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"

	"proactivedp/cluster/broker"
	"proactivedp/cluster/internal/wire"
	"proactivedp/data"
	"proactivedp/data/libsvm"
	"proactivedp/dp"
	"proactivedp/internal/message"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/train"
)

// Announcement is the message in which a server describes its run (one distributed training) to clients: the
// settings, the model's size, and digests of the data and the program. A client gets it in JoinOptions.Prepare and
// JoinOptions.Agree, and takes part only if it accepts the whole announcement.
type Announcement struct {
	Protocol int        `json:"protocol"` // version of the message format, which server and client must share
	Run      string     `json:"run"`      // id of the run, 16 hexadecimal digits; a client names it in JoinOptions.Run
	Spec     train.Spec `json:"config"`
	Delta    float64    `json:"delta"`
	Rounds   int        `json:"rounds"`   // number of rounds of each client
	Params   int        `json:"params"`   // number of the model's parameters
	Records  int        `json:"records"`  // number of training records that the server assumes each client to have
	Features int        `json:"features"` // number of features of a record in the data file, before Spec.FeatureMap is applied
	// Labels has the label of each class, as in the server's data. The labels are public. A client uses them to read
	// its own records, because a client with other labels would train other classes.
	Labels []string `json:"labels"`
	// Chunk is the largest number of parameters (float32 values) in one message. A longer model or update is sent in
	// several messages. It is chosen when the run begins, from the largest message that the broker accepts.
	Chunk   int    `json:"chunk_floats"`
	Data    string `json:"data_sha256"`    // SHA-256 of the server's data set
	Initial string `json:"initial_sha256"` // SHA-256 of the parameters of the global model with which the run begins
	// Code is the version of the program's numerical code, see train.Spec.CodeVersion. The client's program must have
	// the same.
	Code int `json:"code_version"`
	// Constants is the digest of the public constants that the run's features need, such as fixed filters, or "" if
	// they need no constants. Each client computes the features of its own records, so its program must have the same
	// constants.
	Constants string `json:"feature_constants_sha256,omitempty"`
	size      int    // of its message, in bytes
}

// protocol is the version of the messages between processes. Raise it whenever they change.
const protocol = 5

func announce(run string, p *train.Prepared, chunk wire.Chunk) (*Announcement, error) {
	if p.Config.Own != nil { // clients would not know their mechanisms
		return nil, errors.New("clients have different mechanisms, must have one for all")
	}
	server, err := sim.NewServer(p.Config)
	if err != nil {
		return nil, err
	}
	a := &Announcement{
		Protocol: protocol, Run: run, Spec: p.Spec, Delta: p.Delta, Rounds: p.Config.Run().Rounds,
		Params: p.Config.Model.NumParams(), Records: p.Config.Mechanism.DatasetSize,
		Features: p.Read().Features, Labels: train.NewInputs(p.Read(), "", nil).Labels, Data: p.DataSHA256(),
		Initial: paramsSHA256(server.Model()), Code: p.Spec.CodeVersion(), Chunk: int(chunk),
		Constants: constants(p.Spec),
	}
	text, err := a.bytes()
	if err != nil {
		return nil, err
	}
	a.size = len(text)
	_, err = parseAnnouncement(text) // a client would refuse an invalid announcement
	return a, err
}

// constants returns the digest of the constants of the spec's features, or "".
func constants(s train.Spec) string {
	m, err := train.ParseFeatures(s.FeatureMap)
	if err != nil {
		return "" // there are no features
	}
	return m.Constants()
}

func paramsSHA256(x []float32) string { return (&sim.Result{Params: x}).ParamsSHA256() }

// newRun draws the id of a run.
func newRun() (string, error) {
	secret, err := rng.NewSecret()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", secret[:8]), nil
}

// id returns a.Run, which is hexadecimal, as the number in the headers of messages.
func (a *Announcement) id() (uint64, error) {
	id, err := strconv.ParseUint(a.Run, 16, 64)
	if err != nil || len(a.Run) != 16 {
		return 0, fmt.Errorf("run = %q, must be 16 hexadecimal digits", a.Run)
	}
	return id, nil
}

// maxAnswer is the largest answer to a question, in bytes.
const maxAnswer = 1 << 20

// parseAnnouncement reads and checks a server's announcement. The server is not trusted.
func parseAnnouncement(text []byte) (*Announcement, error) {
	a := &Announcement{size: len(text)}
	var other struct {
		Protocol int `json:"protocol"`
	}
	if err := json.Unmarshal(text, &other); err == nil && other.Protocol != protocol {
		return nil, fmt.Errorf("the server uses protocol %d, this program uses %d", other.Protocol, protocol)
	}
	if err := decode(text, a); err != nil {
		return nil, fmt.Errorf("announcement: %w", err)
	}
	_, err := a.id()
	errs := []error{err, a.Spec.Validate(), checkSpec(a.Spec), a.checkNumbers(), a.chunk().Validate()}
	if own := constants(a.Spec); a.Constants != own {
		errs = append(errs, fmt.Errorf("feature constants of the server's program = %.80q, this program has %q", a.Constants, own))
	}
	if a.Code != a.Spec.CodeVersion() {
		errs = append(errs, fmt.Errorf("code version of the server's program = %d, this program has %d", a.Code,
			a.Spec.CodeVersion()))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return a, nil
}

// checkSpec returns an error for settings that a distributed run does not support. With some of them, a server could
// make clients read files (traces). With others, it could make clients release more than was stated beforehand:
// adaptive sample sizes can be many times the planned sizes.
func checkSpec(s train.Spec) error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if s.Runner != train.DistributedRunner {
		fail("runner = %q, must be %q", s.Runner, train.DistributedRunner)
	}
	if usual := train.DefaultSpec(); s.Compute != usual.Compute || s.Latency != usual.Latency {
		fail("compute time = %q and latency = %q need the virtual clock, must be left out", s.Compute, s.Latency)
	}
	if s.Clients > MaxClients {
		fail("clients = %d, must be at most %d", s.Clients, MaxClients)
	}
	if s.SeedFromOS {
		fail("seed from the system = true, must be false: every client draws its own secret, and all share the seed")
	}
	if s.Averages() {
		fail("average = %q, must be none", s.Average)
	}
	return errors.Join(errs...)
}

// checkNumbers returns an error if a number is out of range or contradicts the settings.
func (a *Announcement) checkNumbers() error {
	var errs []error
	fail := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("announcement: "+format, args...))
	}
	for _, one := range []struct {
		name        string
		value, most int
	}{
		{"parameters", a.Params, wire.MaxParams}, {"records", a.Records, math.MaxInt32},
		{"rounds", a.Rounds, dp.MaxRounds}, {"features", a.Features, libsvm.MaxIndex},
	} {
		if err := dp.CheckCount(one.name, one.value, 1, one.most); err != nil {
			fail("%w", err)
		}
	}
	sizes, err := dp.ParseSizes(a.Spec.SampleSize)
	if err == nil && dp.Cut(sizes, a.Spec.GradComps).Rounds != a.Rounds {
		fail("rounds = %d, must match %d gradient computations in rounds of sizes %v", a.Rounds,
			a.Spec.GradComps, sizes)
	}
	if !(a.Delta > 0 && a.Delta < 1) || a.Spec.Delta != 0 && a.Spec.Delta != a.Delta {
		fail("delta = %v, but the settings have %v: must be the same number in (0, 1)", a.Delta, a.Spec.Delta)
	}
	for name, digest := range map[string]string{"data_sha256": a.Data, "initial_sha256": a.Initial} {
		b, err := hex.DecodeString(digest)
		if err != nil || len(b) != sha256.Size || strings.ToLower(digest) != digest {
			fail("%s = %q, must be %d hexadecimal digits", name, digest, 2*sha256.Size)
		}
	}
	_, err = data.LabelsOf(a.Labels)
	return errors.Join(append(errs, err)...)
}

// bytes returns the announcement in the form in which it is sent and pinned: JSON on one line.
func (a *Announcement) bytes() ([]byte, error) {
	text, err := json.Marshal(a)
	if err != nil {
		return nil, fmt.Errorf("announcement: %w", err)
	}
	return text, nil
}

// Prepare prepares a client that trains on its part of the run's data set. Call it in your function
// JoinOptions.Prepare if every client has a copy of the data set, as in an experiment. d must be the same data set as
// the server's; it is an error if its digest differs. For a client with its own records use PrepareOwn.
func (a *Announcement) Prepare(d *data.Dataset) (*train.Prepared, error) {
	if got := d.Hash(); got != a.Data {
		return nil, fmt.Errorf("the data set %s has the digest %s, the run's data set has %s", d.Name, got, a.Data)
	}
	spec := a.Spec
	spec.Delta = cmp.Or(spec.Delta, a.Delta)
	p, err := spec.Prepare(d, nil)
	if err != nil {
		return nil, err
	}
	return p, a.fits(p)
}

// PrepareOwn prepares a client that trains on its own records, all records of d. Call it in your function
// [JoinOptions].Prepare. client is the client's number in the run. The classes of d must be those of the run: pass
// data.LabelsOf(a.Labels) to the function that reads the file. If the file has other labels and you have mapped each
// of them to a class yourself, set d.Names to a.Labels.
func (a *Announcement) PrepareOwn(d *data.Dataset, client int) (*train.Prepared, error) {
	if err := a.checkClasses(d); err != nil {
		return nil, err
	}
	spec := a.Spec
	spec.Delta = cmp.Or(spec.Delta, a.Delta)
	p, err := train.NewSource(d).PrepareOwn(spec, client, a.Records)
	if err != nil {
		return nil, err
	}
	return p, a.fits(p)
}

// checkClasses returns an error if the classes of d may differ from those of the run.
func (a *Announcement) checkClasses(d *data.Dataset) error {
	run, err := data.LabelsOf(a.Labels)
	if err != nil {
		return fmt.Errorf("announcement: %w", err)
	}
	if d.Classes != len(a.Labels) {
		return fmt.Errorf("%s has %d classes, the run has %d: %v", message.Name(d.Name), d.Classes, len(a.Labels),
			run)
	}
	for class, label := range d.Names {
		if of, err := run.Class(label); err != nil {
			return fmt.Errorf("label %s of %s is not one of the run's labels, %v", message.Quoted(label),
				message.Name(d.Name), run)
		} else if int(of) != class {
			return fmt.Errorf("label %s of %s was read as class %d, but it is class %d of the run, whose labels are "+
				"%v", message.Quoted(label), message.Name(d.Name), class, of, run)
		}
	}
	return nil
}

// fits returns an error if the prepared run differs from the announced one.
func (a *Announcement) fits(p *train.Prepared) error {
	if got := p.Config.Model.NumParams(); got != a.Params {
		return fmt.Errorf("the model has %d parameters here, %d in the run", got, a.Params)
	}
	server, err := sim.NewServer(p.Config)
	if err != nil {
		return err
	}
	if got := paramsSHA256(server.Model()); got != a.Initial {
		return fmt.Errorf("the initial model has the digest %s here, %s in the run", got, a.Initial)
	}
	if got := p.Config.Run().Rounds; got != a.Rounds {
		return fmt.Errorf("%d rounds here, %d in the run", got, a.Rounds)
	}
	return nil
}

// chunk returns the largest number of floats in a message.
func (a *Announcement) chunk() wire.Chunk { return wire.Chunk(a.Chunk) }

// chunks returns how many messages a vector of the run needs.
func (a *Announcement) chunks() int { return a.chunk().Chunks(a.Params) }

// checkBroker returns an error if a connection cannot be used for the run.
func (a *Announcement) checkBroker(c *nats.Conn) error {
	if err := broker.CheckConn(c, int64(max(a.chunk().MaxMessage(), a.size))); err != nil {
		return fmt.Errorf("run %s: %w", a.Run, err)
	}
	return nil
}

// chunkFor returns the number of floats in a message for a new run, at a broker that accepts messages of at most the
// given number of bytes.
func chunkFor(most int64) (wire.Chunk, error) {
	c := wire.ChunkFor(most)
	if c < wire.MinChunk {
		return 0, fmt.Errorf("the broker takes messages of at most %d bytes, must be at least %d: raise max_payload in "+
			"its configuration", most, wire.MinChunk.MaxMessage())
	}
	return c, nil
}

// names returns the run's subjects.
func (a *Announcement) names() names { return names{a.Run} }

// peerOf describes how a process connects to the broker. log, unless it is nil, receives the reason if the broker
// cannot be reached. again is called when a lost connection returns.
func peerOf(role broker.Role, client int, creds *broker.Credentials, log *slog.Logger, again func()) broker.Peer {
	p := broker.Peer{Name: fmt.Sprintf("proactivedp %s %d", role, client), Creds: creds,
		Inbox: inbox(role, client), Reconnected: again}
	if log != nil {
		p.Unreachable = broker.LogUnreachable(log)
	}
	return p
}
