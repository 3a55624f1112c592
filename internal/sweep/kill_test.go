package sweep

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"proactivedp/cluster/broker"
	"proactivedp/data"
	"proactivedp/experiments"
	"proactivedp/internal/testkit"
	"proactivedp/sim"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// roleEnv makes the tests' program one of the processes of a sweep, as its JSON says.
const roleEnv = "PROACTIVEDP_SWEEP_ROLE"

// role is a process of a sweep.
type role struct {
	Name string // coordinator, broker, or a worker's
	URL  string // of the broker
	Dir  string // the coordinator's figures, the broker's streams, or a worker's checkpoints
}

func (r role) run(ctx context.Context) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	switch r.Name {
	case "broker":
		b, err := broker.Engine{Listen: r.URL[len("nats://"):], StoreDir: r.Dir}.Start(ctx)
		if err != nil {
			return err
		}
		defer b.Close()
		<-ctx.Done()
		return context.Cause(ctx)
	case "coordinator":
		q, err := Open(ctx, Options{Engine: broker.Engine{URL: r.URL}, Log: log})
		if err != nil {
			return err
		}
		defer q.Close()
		return makeFigures(ctx, r.Dir, q)
	}
	return Work(ctx, WorkOptions{URL: r.URL, Name: r.Name, Workers: 1, Dir: r.Dir, Load: load(drawn()), Log: log})
}

// makeFigures makes the four figures of a small set of one's own.
func makeFigures(ctx context.Context, out string, elsewhere pool.Elsewhere) error {
	d := drawn()
	source := train.NewSource(d)
	spec := train.DefaultSpec()
	spec.Model, spec.Data, spec.Clip = train.Ridge, "synth-drawn", 0.3
	spec.Schedule, spec.Beta = string(sim.ZeroDecay), 0
	spec.Clients, spec.GradComps, spec.SampleSize = 3, 20_000, "6"
	one, err := source.Prepare(spec)
	if err != nil {
		return err
	}
	if one, err = one.Calibrate(ctx, 1); err != nil {
		return err
	}
	spec.NoiseMultiplier = one.Spec.NoiseMultiplier
	figures, err := experiments.OwnFigures(ctx, source, spec, one.Config.Mechanism.DatasetSize, 2,
		experiments.OwnEpsilons, "drawn")
	if err != nil {
		return err
	}
	return experiments.Make(ctx, figures, experiments.MakeOptions{Out: out, Seeds: 2, Scale: 1, Workers: 2,
		Elsewhere: elsewhere, Load: func(context.Context, string) (*data.Dataset, error) { return d, nil }})
}

// processes are the processes of a sweep, which are started again when they are killed.
type processes struct {
	ctx    context.Context
	all    sync.WaitGroup
	mu     sync.Mutex
	living map[string]*exec.Cmd
}

// keep runs a process until it ends well or the context does.
func (p *processes) keep(t *testing.T, r role, ended func()) {
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	p.all.Go(func() {
		for p.ctx.Err() == nil {
			cmd := exec.CommandContext(p.ctx, os.Args[0])
			cmd.Env = append(os.Environ(), roleEnv+"="+string(text), "GOMAXPROCS=1")
			p.mu.Lock()
			err := cmd.Start()
			p.living[r.Name] = cmd
			p.mu.Unlock()
			if err != nil {
				t.Errorf("%s: %v", r.Name, err)
				return
			}
			if cmd.Wait() == nil {
				ended()
				return
			}
		}
	})
}

// kill kills a process, if it lives.
func (p *processes) kill(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if cmd := p.living[name]; cmd != nil && cmd.Process != nil {
		_ = cmd.Process.Kill() // one that has ended just now is started again, too
	}
}

// made returns the figures' pictures and data and the finished cells in a folder, by name. It leaves out
// times that differ from run to run: how long a cell took, which stands beside it, the cells that measure
// hogwild, and the picture of sample sizes, whose table shows what they measured.
func made(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		ext := filepath.Ext(path)
		cell := filepath.Dir(path) == pool.Folder && ext != ".seconds"
		if ext != ".png" && ext != ".csv" && !cell || path == "drawn-sample-size-equal/figure.png" {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil {
			return err
		}
		var measured struct {
			Result struct {
				Seconds *float64 `json:"seconds"`
			} `json:"result"`
		}
		if cell && json.Unmarshal(text, &measured) == nil && measured.Result.Seconds != nil {
			return nil
		}
		files[path] = string(text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// freePort returns a port of loopback on which nobody listens.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// killsEnv says how many processes TestASweepOutlivesKills kills.
const killsEnv = "PROACTIVEDP_SWEEP_KILLS"

// Workers, the coordinator and the broker are killed, of any kind, each time some more cells
// are finished: pictures, data and cells are those of one process, byte by byte.
func TestASweepOutlivesKills(t *testing.T) {
	kills, set := testkit.Times(t, killsEnv, 3)
	if !set && testing.Short() {
		t.Skip("starts processes")
	}
	t.Parallel()
	here, there := t.TempDir(), t.TempDir()
	if err := makeFigures(t.Context(), here, nil); err != nil {
		t.Fatal(err)
	}
	want := made(t, here)
	ctx, stop := context.WithTimeout(t.Context(), 8*time.Minute+time.Duration(kills)*15*time.Second)
	defer stop()
	p := &processes{ctx: ctx, living: map[string]*exec.Cmd{}}
	defer p.all.Wait()
	defer stop()
	url := fmt.Sprintf("nats://127.0.0.1:%d", freePort(t))
	names := []string{"broker", "worker-1", "worker-2", "coordinator"}
	for _, name := range names[:3] {
		p.keep(t, role{name, url, t.TempDir()}, func() { t.Errorf("%s ended", name) })
	}
	ended, end := context.WithCancel(ctx)
	p.keep(t, role{"coordinator", url, there}, end)
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)) // times are no function of a seed anyway
	cells := 0
	for path := range want {
		if filepath.Dir(path) == pool.Folder {
			cells++
		}
	}
	killed := map[string]int{}
	for done := 0; done < kills && ended.Err() == nil; time.Sleep(2 * time.Millisecond) {
		if finished, _ := filepath.Glob(filepath.Join(there, pool.Folder, "*")); len(finished) >
			done*cells/(kills+1) {
			name := names[done%len(names)] // one of each kind first
			if done >= len(names) {
				name = names[random.IntN(len(names))]
			}
			p.kill(name)
			killed[name]++
			done++
		}
	}
	<-ended.Done()
	if ctx.Err() != nil {
		t.Fatalf("it did not end, killed %v", killed)
	}
	got := made(t, there)
	for path, text := range want {
		if got[path] != text {
			t.Errorf("%s differs", path)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d files, want %d", len(got), len(want))
	}
	t.Logf("%d cells, %d files, killed %v", cells, len(want), killed)
}
