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

// Config has all settings that determine the result of a run.
type Config struct {
	Model     models.Model
	Rows      []data.Subset  // the records that each client holds
	Partition data.Partition // how the records were divided, and so whether clients share records
	// Mechanism is the mechanism of every client: sampling, batch sizes, clipping and noise. Its DatasetSize is the
	// number of records of each client, unless Own has others.
	Mechanism dp.Mechanism
	// Own has a separate mechanism for each client, for example because clients hold different numbers of records. If it
	// is nil, all clients have Mechanism. The elements of Own may differ from Mechanism in number of records, clipping
	// norm, noise and constant batch sizes (dp.ConstantSizes). Sampling, adjacency, the field Exact (exact noise), and
	// batch sizes that change from round to round must be those of Mechanism.
	//
	// A client c with larger batches has fewer rounds T_c, see RunOf. Mechanism must have the batch sizes of a client
	// with the most rounds, T. So that all clients are equally far with their training, the permissible delay (Delay)
	// and the numbers of global models (Broadcast.K) count these T rounds: round i of client c counts as the rounds from
	// ⌊i·T/T_c⌋ until its next round begins. For example, if T = 6 and T_c = 2, round 1 counts as rounds 3, 4 and 5.
	//
	// Clients with different mechanisms need different roots, or different run numbers of one root (rng.Root.ForRun),
	// because dp.Compose refuses rounds of different mechanisms that name the same run of the same root.
	Own []dp.Mechanism
	// Initial is the initial global model v̂_0, of the model's length, such as the final model of another
	// run. If it is nil, the run begins with the model's default. It is sent to all clients, so it is
	// public.
	Initial []float32
	// GradComps is K, the number of gradients that each client may compute. T is the largest number of rounds whose
	// batch sizes add up to at most K. A client c with its own sizes has its own number of rounds T_c.
	GradComps int
	Delay     Delay        // the permissible delay Υ
	Steps     StepSize     // the step size of each round
	Momentum  float64      // M in [0, 1) of the server, see Server.Receive; 0 means none
	Roots     Roots        // where all randomness comes from
	Timing    clock.Timing // how long gradients and messages take on the virtual clock; ignored by Hogwild
	// Only the virtual clock supports Speeds, Network, Churn and Adapt. Hogwild refuses them.
	Speeds  clock.Speeds  // how fast each client is
	Network clock.Network // how messages are lost or duplicated
	Churn   clock.Churn   // how often clients leave and return
	Adapt   Adapt         // how far clients may adapt their batch sizes to their speed
	// Wire, unless it is nil, is called with each update when it is sent, sent again or duplicated (see Virtual.Record).
	// Audits use it to see all updates, as an attacker on the network would, and to plant faults: Wire may change the
	// update's U. Copies of one update share U, so a change for one copy changes all. Hogwild refuses Wire.
	Wire func(Update)
	// Substitute, unless it is nil, replaces Client.Release: it computes what a client sends. An audit uses it to
	// run a faulty mechanism. The ledgers still count the rounds of the configured Mechanism.
	Substitute Substitute
}

// Perf holds the settings that change how fast a run is computed. They do not change its result.
type Perf struct {
	Workers int // goroutines that compute gradients in Virtual; with 0 or 1, the caller's goroutine does it
	// MinWork is the least number of floating-point operations of a round with the mean sample size. If rounds have
	// fewer, Virtual does not hand them to workers, because that would not pay. 0 means DefaultMinWork.
	MinWork float64
}

// paramFLOPs is the approximate number of operations in a forward and a backward pass of one
// example, for each parameter used.
const paramFLOPs = 6

// DefaultMinWork, about 790,000, is the default of Perf.MinWork: a round with fewer floating-point operations is
// computed in the caller's goroutine, because handing it to another (see Perf.Workers) would not pay. Such a round
// takes less than about 100 µs.
const DefaultMinWork = paramFLOPs << 17

// FLOPs returns about how many floating-point operations the clipped gradient of one example takes. It asks the
// model's method FLOPs. Without this method, the estimate is 6 for each parameter.
func (c *Config) FLOPs() float64 {
	if m, ok := c.Model.(interface{ FLOPs() int }); ok {
		return float64(m.FLOPs())
	}
	return paramFLOPs * float64(c.Model.NumParams())
}

// work returns about how many operations a round of the mean sample size takes.
func (c *Config) work() float64 {
	rounds, gradients := c.Total()
	return c.FLOPs() * gradients / rounds
}

// Computing returns how many rounds, of different clients, Virtual computes at the same time with the settings p. It
// is 1 if a round has less work than Perf.MinWork.
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

// Run returns the rounds of Mechanism: the number of rounds T, the number of gradients that these rounds compute, the
// number of gradients of GradComps that are left over because they are too few for another round, and the largest
// batch size. They are equal for all clients, unless clients have their own sizes. Then T is the largest number of
// rounds of any client, and RunOf returns the numbers of one client.
func (c *Config) Run() dp.Run { return dp.Cut(c.Mechanism.Sizes, c.GradComps) }

// RunOf returns what Run returns, for the batch sizes of one client (a number from 0).
func (c *Config) RunOf(client int) dp.Run { return dp.Cut(c.mechanism(client).Sizes, c.GradComps) }

// mechanism returns the mechanism of one client.
func (c *Config) mechanism(client int) *dp.Mechanism {
	if client < len(c.Own) {
		return &c.Own[client]
	}
	return &c.Mechanism
}

// OwnSizes reports whether some client has other batch sizes than Mechanism. It may be called before Validate: it
// does not check that Config.Own is valid.
func (c *Config) OwnSizes() bool {
	return slices.ContainsFunc(c.Own, func(m dp.Mechanism) bool { return !sameSizes(m.Sizes, c.Mechanism.Sizes) })
}

// sameSizes reports whether a and b are the same sequence. Each may be nil.
func sameSizes(a, b dp.Sizes) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.String() == b.String()
}

// Total returns the number of rounds of all clients together, and the number of gradients that they compute. These
// are float64 because the sums may be too large for an int.
func (c *Config) Total() (rounds, gradients float64) {
	if !c.OwnSizes() {
		run, n := c.Run(), float64(c.Clients())
		return n * float64(run.Rounds), n * float64(run.Computed)
	}
	for i := range c.Own {
		run := c.RunOf(i)
		rounds, gradients = rounds+float64(run.Rounds), gradients+float64(run.Computed)
	}
	return rounds, gradients
}

// LargestSample returns the largest expected sample size (batch size) that a round can have, in records.
func (c *Config) LargestSample() int {
	largest := c.Adapt.largest(c.Run().Max, c.Mechanism.DatasetSize)
	if c.OwnSizes() {
		for i := range c.Own {
			largest = max(largest, c.RunOf(i).Max)
		}
	}
	return largest
}

// MaxClients, one million, is the largest number of clients of a run. MaxClientParams is the largest product of the
// number of clients and the number of the model's parameters; it limits the memory of a run, which [Config.Vectors]
// estimates.
const (
	MaxClients      = data.MaxParts
	MaxClientParams = 1 << 30
)

// InitStream returns the random stream that draws the model's initial parameters. It is used if Config.Initial is
// nil.
func (c *Config) InitStream() *rng.Stream { return c.Roots.Run.Stream(rng.Init, 0, 0) }

// Observer is a function that Virtual or Hogwild calls with every global model that the server sends to its clients.
type Observer func(Broadcast)

// Broadcast is a message of the server to its clients: the global model v̂_k. It contains the updates of all clients
// for the rounds below k, and perhaps some later updates.
type Broadcast struct {
	K int // the number k of the global model
	// GradComps is the number of gradients that one client computes in the rounds below K, by the batch sizes of
	// Config.Mechanism (before [Adapt] changes them). V contains the updates of these rounds of each client.
	GradComps int
	At        Time      // the time on the virtual clock; 0 in Hogwild
	V         []float32 // v̂_k itself: do not keep or change it
}

// Result is the result of a finished run: the final model, the time, the staleness, and each client's ledger of
// released rounds.
type Result struct {
	Params  []float32 // the final global model
	Run     dp.Run    // what Config.Run returns: the rounds of each client, unless clients have their own sizes
	Updates int       // number of updates, of all clients together, that the server applied
	Ledgers []dp.Ledger
	// Staleness counts the rounds of all clients by their lag: by how many rounds the client's global model was
	// behind. MaxLag is the largest lag.
	Staleness Staleness
	MaxLag    int
	Clock     Time // virtual time at the end; 0 for Hogwild
	// Busy has, for each client, the part of Clock in which it computed, including rounds that it gave up. Absent
	// has the part in which it was away. Each client spent the rest waiting. Busy and Absent are nil for Hogwild.
	Busy, Absent []Time
}

// ParamsSHA256 returns the SHA-256 of the final parameters in hexadecimal, computed over their little-endian float32
// bits. Use it to compare runs: equal digests mean the same model, bit by bit.
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
		MaxLag: staleness.Max(), Ledgers: make([]dp.Ledger, 0, len(clients))}
	for _, c := range clients {
		r.Ledgers = append(r.Ledgers, c.Ledger())
	}
	return r, nil
}
