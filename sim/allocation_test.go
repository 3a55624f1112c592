package sim

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"proactivedp/data"
	"proactivedp/dp"
)

// allocated makes a run draw by random allocation, with epochs of four rounds.
func allocated(c *Config) {
	c.Mechanism.Sampling, c.Mechanism.Batches, c.Adapt = dp.Allocation, 4, 0
}

// sampled has the records of each round, by client and round.
type sampled map[[2]int][]int32

// check returns an error unless each of n records is in exactly one of the t rounds of each finished
// epoch, and the epochs have draws of their own.
func (s sampled) check(n, t int) error {
	epochs := map[string][2]int{}
	for at := range maps.Keys(s) {
		client, epoch := at[0], at[1]/t
		if at[1]%t != 0 || s[[2]int{client, at[1] + t - 1}] == nil {
			continue
		}
		var all []int32
		draw := ""
		for j := range t {
			rows := s[[2]int{client, at[1] + j}]
			all, draw = append(all, rows...), draw+fmt.Sprint(rows)
		}
		if slices.Sort(all); len(all) != n || len(slices.Compact(all)) != n {
			return errors.New("a record is not in one round of its epoch")
		}
		if other, seen := epochs[draw]; seen {
			return fmt.Errorf("client %d has in epoch %d the draw of %v", client, epoch, other)
		}
		epochs[draw] = [2]int{client, epoch}
	}
	return nil
}

// In all rounds of all clients, each record is in one round of each epoch, and each epoch is drawn
// anew, whatever happens to messages and clients, and however many workers compute. The test finds
// faults that are planted in the sampler: one draw for all epochs, draws shared by the clients, a
// record in two rounds, and Poisson samples.
func TestEachEpochIsDrawnAnew(t *testing.T) {
	samplers := map[string]func(c *Client, ws *Workspace) data.Batch{
		"": (*Client).Sample,
		"one draw for all epochs": func(c *Client, ws *Workspace) data.Batch {
			i := c.state.i
			defer func() { c.state.i = i }()
			c.state.i %= 4
			return c.Sample(ws)
		},
		"draws shared by the clients": func(c *Client, ws *Workspace) data.Batch {
			id, root := c.id, c.root
			defer func() { c.id, c.root, c.allotted = id, root, nil }()
			c.id, c.allotted = 0, nil
			return c.Sample(ws)
		},
		"a record in two rounds": func(c *Client, ws *Workspace) data.Batch {
			b := c.Sample(ws)
			if !slices.Contains(b.Rows, 0) {
				b.Rows = append(b.Rows, c.rows.Rows[0])
			}
			return b
		},
		"Poisson samples": func(c *Client, ws *Workspace) data.Batch {
			mech := *c.mech
			defer func() { *c.mech = mech }()
			c.mech.Sampling = dp.Poisson
			return c.Sample(ws)
		},
	}
	for fault, sampler := range samplers {
		perfs := []Perf{{}}
		if fault == "" {
			perfs = append(perfs, Perf{Workers: 3, MinWork: 1})
		}
		for _, perf := range perfs {
			all := sampled{}
			var mu sync.Mutex
			cfg := small(t, rough, allocated, func(c *Config) {
				c.Substitute = func(c *Client, u []float32, ws *Workspace) error {
					rows := slices.Clone(sampler(c, ws).Rows)
					mu.Lock()
					defer mu.Unlock()
					at := [2]int{c.id, c.state.i}
					if before, seen := all[at]; seen && !slices.Equal(before, rows) {
						t.Errorf("%s: client %d draws round %d anew", fault, at[0], at[1])
					}
					if all[at] = rows; rows == nil {
						all[at] = []int32{}
					}
					return c.Release(u, ws)
				}
			})
			runVirtual(t, cfg, perf)
			if err := all.check(cfg.Mechanism.DatasetSize, 4); (err == nil) != (fault == "") {
				t.Errorf("%q, %+v: %v", fault, perf, err)
			}
		}
	}
}

// At any time, the ledger of a client has one event for a run with allocation. The event counts the epochs
// that have begun.
func TestLedgersCountEpochsThatBegan(t *testing.T) {
	cfg := small(t, allocated, func(c *Config) { c.GradComps = 80 }) // 10 rounds, two epochs and a half
	v := newVirtual(t, cfg, Perf{})
	for more := true; more; {
		for c, l := range v.Ledgers() {
			events, i := l.Events(), v.clients[c].state.i
			if i == 0 && len(events) == 0 {
				continue
			}
			if len(events) != 1 || events[0].Count != i || events[0].Epochs() != (i+3)/4 || events[0].Redraw != dp.EachEpoch {
				t.Fatalf("client %d in round %d: %+v", c, i, events)
			}
		}
		var err error
		if more, err = v.Step(); err != nil {
			t.Fatal(err)
		}
	}
}

// A client that resumes from a ledger continues its epochs: the same root gives the same draws. A ledger
// whose rounds were counted one by one becomes one event.
func TestClientsResumeWithinAnEpoch(t *testing.T) {
	cfg := small(t, allocated)
	of := func(rounds int) *Client {
		c, err := NewClient(cfg, 2, nil)
		if err != nil {
			t.Fatal(err)
		}
		var l dp.Ledger
		for range rounds {
			l.Record(cfg.Mechanism.Event(0))
		}
		if err := c.Resume(&l, 0, &Vector{X: make([]float32, c.params)}); err != nil {
			t.Fatal(err)
		}
		return c
	}
	ws := NewWorkspace(cfg.Model)
	whole := sampled{}
	for i := range 4 {
		c := of(i)
		whole[[2]int{2, i}] = slices.Clone(c.Sample(ws).Rows)
		ledger := c.Ledger()
		if events := ledger.Events(); i > 0 && (len(events) != 1 || events[0].Count != i) {
			t.Errorf("after %d rounds: %+v", i, events)
		}
	}
	if err := whole.check(cfg.Mechanism.DatasetSize, 4); err != nil {
		t.Error(err)
	}
}

// A run of allocation gives the same bits with any number of workers, exact or not.
func TestRunsOfAllocationAreRepeatable(t *testing.T) {
	for _, o := range []option{exact, func(*Config) {}} {
		cfg := small(t, allocated, o)
		if got, want := runVirtual(t, cfg, Perf{Workers: 2, MinWork: 1}), runVirtual(t, cfg, Perf{}); !reflect.DeepEqual(got, want) {
			t.Error("two workers give another result")
		}
	}
}

func TestAllocationIsNotAdapted(t *testing.T) {
	err := small(t, rough, allocated, func(c *Config) { c.Adapt = 4 }).Validate()
	if err == nil || !strings.Contains(err.Error(), "adapt = 4, must be 0 with allocation sampling") {
		t.Error(err)
	}
}
