package sim

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/models"
	"proactivedp/rng"
	"proactivedp/sim/clock"
)

// Config is everything that decides the result of a run.
type Config struct {
	Model     models.Model
	Rows      []data.Subset  // the records that each client holds, N_c of them
	Partition data.Partition // how Rows was dealt, and so whether clients share records
	Mechanism dp.Mechanism   // the mechanism of every client; DatasetSize = N_c
	// Own are the clients' mechanisms, if they differ. They replace Mechanism, and have its sizes,
	// sampling, adjacency and exactness. If Own is nil, all clients have Mechanism. A run of a root is
	// accounted with one mechanism, so with Own each client needs its own run number.
	Own []dp.Mechanism
	// Initial is v̂_0, of the model's length, such as the final model of another run. nil is the default
	// global model. It is sent to all clients, so it is public.
	Initial   []float32
	GradComps int   // K, gradient computations per client; T = the whole rounds that fit
	Delay     Delay // the permissible delay Υ
	Steps     StepSize
	Momentum  float64      // M in [0, 1) of the server's heavy ball, see Server.Receive; 0: none
	Roots     Roots        // where all randomness comes from
	Timing    clock.Timing // the virtual clock; ignored by Hogwild
	// The next fields are what only the virtual clock can do; Hogwild refuses them.
	Speeds  clock.Speeds
	Network clock.Network
	Churn   clock.Churn
	Adapt   Adapt
	// Wire, unless it is nil, is called with each update when it is sent, sent again or sent twice (see
	// Virtual.Record). It may write U, which copies share.
	Wire func(Update)
	// Substitute, unless it is nil, is what clients run instead of Client.Release, such as a faulty
	// mechanism that an audit must find. The ledgers still account for the configured mechanism.
	Substitute Substitute
}

// Perf holds settings that decide how fast a result comes, but not the result.
type Perf struct {
	Workers int // how many goroutines compute gradients in Virtual; with 0 or 1, only the caller's
	// MinWork is the floating-point operations from which a round, taken at the
	// mean sample size, is worth handing to a worker; 0 means DefaultMinWork.
	MinWork float64
}

// paramFLOPs is the approximate number of operations that a forward and a backward pass of one
// example take for each parameter that they use.
const paramFLOPs = 6

// DefaultMinWork is about 100 µs of work, for a model without a method FLOPs.
const DefaultMinWork = paramFLOPs << 17

// FLOPs returns the floating-point operations of one example's clipped gradient. For a model without
// a method FLOPs, it assumes that every parameter is used.
func (c *Config) FLOPs() float64 {
	if m, ok := c.Model.(interface{ FLOPs() int }); ok {
		return float64(m.FLOPs())
	}
	return paramFLOPs * float64(c.Model.NumParams())
}

// work is about the operations of one round at the mean sample size.
func (c *Config) work() float64 {
	run := c.Run()
	return c.FLOPs() * float64(run.Computed) / float64(run.Rounds)
}

// Computing returns how many rounds Virtual computes at the same time.
func (c *Config) Computing(p Perf) int {
	least := p.MinWork
	if least == 0 {
		least = DefaultMinWork
	}
	if c.work() < least {
		return 1
	}
	return max(1, min(p.Workers, c.Clients()))
}

// Clients returns the number of clients n.
func (c *Config) Clients() int { return len(c.Rows) }

// Run returns the rounds of a client: T, K′ and what is left of K.
func (c *Config) Run() dp.Run { return dp.Cut(c.Mechanism.Sizes, c.GradComps) }

func (c *Config) frame() frame {
	return frame{
		params: c.Model.NumParams(), clients: c.Clients(), rounds: c.Run().Rounds, mech: &c.Mechanism,
		own: c.Own, momentum: float32(c.Momentum),
	}
}

// LargestSample returns the largest expected sample size that a round can have.
func (c *Config) LargestSample() int {
	return c.Adapt.largest(c.Run().Max, c.Mechanism.DatasetSize)
}

// Limits of a run. MaxClientParams bounds the parameters of all clients' models
// together; see Vectors for how many vectors of them there are.
const (
	MaxClients      = data.MaxParts
	MaxClientParams = 1 << 30
)

// InitStream returns the stream that draws the default global model v̂_0.
func (c *Config) InitStream() *rng.Stream { return c.Roots.Run.Stream(rng.Init, 0, 0) }

// Observer is called with every broadcast.
type Observer func(Broadcast)

// Broadcast is v̂_k as the server sends it.
type Broadcast struct {
	K         int
	GradComps int       // gradients of each client that v̂_k holds at least, of nominal sizes
	At        Time      // the time on the virtual clock; 0 in Hogwild
	V         []float32 // v̂_k itself, to be neither kept nor changed
}

// Result is the result of a finished run.
type Result struct {
	Params  []float32 // the final global model
	Run     dp.Run    // the rounds of each client, and what was left of K
	Updates int       // updates of all clients, as applied by the server
	Ledgers []dp.Ledger
	// Staleness counts the rounds of all clients by the lag i − k they were
	// computed with. MaxLag is the largest.
	Staleness Staleness
	MaxLag    int
	Clock     Time // virtual time at the end; 0 for Hogwild
	// Busy is the part of Clock that each client spent computing, rounds given up
	// included, and Absent the part that it was away; it waited for the rest. Both
	// are nil for Hogwild.
	Busy, Absent []Time
}

// ParamsSHA256 returns the SHA-256, in hexadecimal, of the parameters'
// little-endian float32 bits.
func (r *Result) ParamsSHA256() string {
	h := sha256.New()
	buf := make([]byte, 0, 4*len(r.Params))
	for _, p := range r.Params {
		buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(p))
	}
	h.Write(buf)
	return hex.EncodeToString(h.Sum(nil))
}

func newResult(server *Server, clients []*Client, run dp.Run, staleness Staleness) (*Result, error) {
	if err := models.CheckFinite(server.Model()); err != nil {
		return nil, err
	}
	if invariants {
		assertEnded(server, clients, staleness)
	}
	r := &Result{Params: server.Model(), Run: run, Updates: server.state.applied, Staleness: slices.Clone(staleness),
		MaxLag: staleness.Max()}
	for _, c := range clients {
		r.Ledgers = append(r.Ledgers, c.Ledger())
	}
	return r, nil
}
