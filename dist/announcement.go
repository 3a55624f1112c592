package dist

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"proactivedp/data"
	"proactivedp/dist/broker"
	"proactivedp/dist/internal/wire"
	"proactivedp/internal/strictjson"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/train"
)

// Announcement is what a server says of its run: all that a client must agree to.
type Announcement struct {
	Protocol int        `json:"protocol"`
	Run      string     `json:"run"` // the run's id, 16 hexadecimal digits
	Spec     train.Spec `json:"config"`
	Delta    float64    `json:"delta"`
	Rounds   int        `json:"rounds"`  // T, of each client
	Params   int        `json:"params"`  // the model's length
	Records  int        `json:"records"` // N_c, as the server's model has it
	Features int        `json:"features"`
	Data     string     `json:"data_sha256"`    // the server's data set
	Initial  string     `json:"initial_sha256"` // v̂_0
	Code     int        `json:"code_version"`   // see train.Spec.CodeVersion
}

// protocol is raised with every change of what processes say to each other.
const protocol = 3

// announce returns what is said of a run.
func announce(run string, p *train.Prepared) (*Announcement, error) {
	server, err := sim.NewServer(p.Config)
	if err != nil {
		return nil, err
	}
	return &Announcement{
		Protocol: protocol, Run: run, Spec: p.Spec, Delta: p.Delta, Rounds: p.Config.Run().Rounds,
		Params: p.Config.Model.NumParams(), Records: p.Config.Mechanism.DatasetSize,
		Features: p.Test.Data.Features, Data: p.DataSHA256(), Initial: paramsSHA256(server.Model()),
		Code: p.Spec.CodeVersion(),
	}, nil
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

// id returns the run's id as messages have it.
func (a *Announcement) id() (uint64, error) {
	id, err := strconv.ParseUint(a.Run, 16, 64)
	if err != nil || len(a.Run) != 16 {
		return 0, fmt.Errorf("dist: run = %q, must be 16 hexadecimal digits", a.Run)
	}
	return id, nil
}

// maxAnswer bounds an answer to a question, in bytes.
const maxAnswer = 1 << 20

// parseAnnouncement reads what a server says. It is not trusted.
func parseAnnouncement(text []byte) (*Announcement, error) {
	a := new(Announcement)
	if len(text) > maxAnswer {
		return nil, fmt.Errorf("dist: announcement of %d bytes, must have at most %d", len(text), maxAnswer)
	}
	if err := strictjson.Decode(text, a); err != nil {
		return nil, fmt.Errorf("dist: announcement: %w", err)
	}
	if a.Protocol != protocol {
		return nil, fmt.Errorf("dist: the server speaks protocol %d, this program %d", a.Protocol, protocol)
	}
	_, err := a.id()
	errs := []error{err, a.Spec.Validate(), checkClock(a.Spec)}
	if a.Code != a.Spec.CodeVersion() {
		errs = append(errs, fmt.Errorf("dist: the server's program computes by version %d, this one by %d", a.Code,
			a.Spec.CodeVersion()))
	}
	if a.Params < 1 || a.Params > wire.MaxParams || a.Records < 1 || a.Rounds < 1 || !(a.Delta > 0 && a.Delta < 1) {
		errs = append(errs, fmt.Errorf("dist: announcement: %d parameters, %d records, %d rounds, δ = %v", a.Params,
			a.Records, a.Rounds, a.Delta))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return a, nil
}

// checkClock reports times on the virtual clock, which a distributed run has not: they
// could name files.
func checkClock(s train.Spec) error {
	if usual := train.DefaultSpec(); s.Compute != usual.Compute || s.Latency != usual.Latency {
		return fmt.Errorf("dist: compute time = %q and latency = %q are of the virtual clock, must be left out",
			s.Compute, s.Latency)
	}
	return nil
}

// bytes returns the announcement as it is sent and pinned, on one line.
func (a *Announcement) bytes() ([]byte, error) {
	text, err := json.Marshal(a)
	if err != nil {
		return nil, fmt.Errorf("dist: announcement: %w", err)
	}
	return text, nil
}

// Prepare prepares the part of a client that holds its part of the run's data set d, which
// must be the server's.
func (a *Announcement) Prepare(d *data.Dataset) (*train.Prepared, error) {
	if got := d.Hash(); got != a.Data {
		return nil, fmt.Errorf("dist: the data set %s has the digest %s, the run's has %s", d.Name, got, a.Data)
	}
	spec := a.Spec
	if spec.Delta == 0 {
		spec.Delta = a.Delta
	}
	p, err := spec.Prepare(d, nil)
	if err != nil {
		return nil, err
	}
	return p, a.fits(p)
}

// PrepareOwn prepares the part of a client that holds all records of d, its own.
func (a *Announcement) PrepareOwn(d *data.Dataset, client int) (*train.Prepared, error) {
	spec := a.Spec
	if spec.Delta == 0 {
		spec.Delta = a.Delta
	}
	p, err := train.NewSource(d).PrepareOwn(spec, client, a.Records)
	if err != nil {
		return nil, err
	}
	return p, a.fits(p)
}

// fits reports that what was prepared is not what the server has announced.
func (a *Announcement) fits(p *train.Prepared) error {
	if got := p.Config.Model.NumParams(); got != a.Params {
		return fmt.Errorf("dist: the model has %d parameters here, the run's has %d", got, a.Params)
	}
	server, err := sim.NewServer(p.Config)
	if err != nil {
		return err
	}
	if got := paramsSHA256(server.Model()); got != a.Initial {
		return fmt.Errorf("dist: the initial model has the digest %s here, the run's has %s", got, a.Initial)
	}
	if got := p.Config.Run().Rounds; got != a.Rounds {
		return fmt.Errorf("dist: %d rounds here, the run's has %d", got, a.Rounds)
	}
	return nil
}

// names returns the run's subjects.
func (a *Announcement) names() names { return names{a.Run} }

// peerOf is how a user connects.
func peerOf(role broker.Role, client int, creds *broker.Credentials, again func()) broker.Peer {
	return broker.Peer{Name: fmt.Sprintf("proactivedp %s %d", role, client), Creds: creds,
		Inbox: inbox(role, client), Reconnected: again}
}
