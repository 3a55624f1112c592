package cluster

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"proactivedp/cluster/broker"
	"proactivedp/cluster/internal/journal"
	"proactivedp/cluster/internal/wire"
	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/internal/testkit"
	"proactivedp/rng"
	"proactivedp/train"
)

// The tests below run servers, clients and brokers as processes of this test's program, so
// that they can be killed. This is what such a process is told.
type task struct {
	Role   string // server, client or broker
	Client int
	Dir    string
	URL    string // of the broker, or for a server with a broker of its own where to listen
	Spec   train.Spec
	Wide   int // so many features has the data set
	Fault  point
	Hits   int // at which hit of Fault the process is killed
}

const taskEnv = "PROACTIVEDP_DIST_TASK"

func TestMain(m *testing.M) {
	if text := os.Getenv(taskEnv); text != "" {
		var t task
		if err := json.Unmarshal([]byte(text), &t); err != nil {
			panic(err)
		}
		if err := t.run(); err != nil {
			fmt.Fprintln(os.Stderr, t.Role, t.Client, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// The parallel tests mostly wait for each other's processes and for timeouts.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	testkit.RunInMemory(m)
}

// wide is drawn with more features, that no row has: a longer model.
func wide(features int) *data.Dataset {
	d := synth.OneHot(rng.New(3), 400)
	d.Features = max(d.Features, features)
	return d
}

func dataOf(s train.Spec, features int) *data.Dataset {
	if train.IsNetwork(s.Model) {
		return synth.Digits(rng.New(1), 350)
	}
	return wide(features)
}

// fault kills this process at the task's point.
func (t task) fault() func(point) {
	left := t.Hits
	return func(p point) {
		if p != t.Fault || left < 0 {
			return
		}
		if left--; left < 0 {
			self, err := os.FindProcess(os.Getpid())
			if err != nil {
				panic(err)
			}
			_ = self.Kill()
			select {}
		}
	}
}

func (t task) run() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	switch t.Role {
	case "broker":
		b, err := broker.Engine{Listen: t.URL, StoreDir: t.Dir}.Start(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintln(os.Stderr, "broker at", b.URL())
		<-ctx.Done()
		return nil
	case "server":
		p, err := t.Spec.Prepare(dataOf(t.Spec, t.Wide), nil)
		if err != nil {
			return err
		}
		engine := broker.Engine{Listen: t.URL}
		if strings.Contains(t.URL, "://") {
			engine = broker.Engine{URL: t.URL}
		}
		_, err = Serve(ctx, ServeOptions{Prepared: p, Dir: t.Dir, Engine: engine, SaveEvery: 100 * time.Millisecond,
			Log: log, at: t.fault()})
		return err
	}
	d := dataOf(t.Spec, t.Wide)
	sent, err := os.OpenFile(filepath.Join(t.Dir, "sent"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	defer sent.Close()
	note := func(r journal.Release, u []float32) {
		line := binary.LittleEndian.AppendUint64(nil, uint64(r.Round))
		if _, err := sent.Write(wire.AppendFloats(line, u)); err != nil {
			panic(err)
		}
	}
	j, err := journal.Open(t.Dir, nil)
	if err != nil {
		return err
	}
	if text, _ := j.Pinned(); text != nil { // what a kill kept from being noted
		a, _, _, err := readPinned(text)
		if err != nil {
			return err
		}
		// A note that a kill cut off is of a release that was not sent yet: it comes again.
		info, err := sent.Stat()
		if err != nil {
			return err
		}
		if err := sent.Truncate(info.Size() - info.Size()%int64(8+4*a.Params)); err != nil {
			return err
		}
		u := make([]float32, a.Params)
		for _, r := range j.Releases() {
			if err := j.Read(r, u); err != nil {
				return err
			}
			note(r, u)
		}
	}
	if err := j.Close(); err != nil {
		return err
	}
	_, err = Join(ctx, JoinOptions{
		URL: t.URL, Client: t.Client, Dir: t.Dir, Log: log, at: t.fault(), release: note,
		Prepare: func(a *Announcement) (*train.Prepared, error) { return a.Prepare(d) },
	})
	return err
}

// fleet is the processes of one training.
type fleet struct {
	*testRun
	wide   int
	url    string
	ctx    context.Context
	stop   context.CancelFunc
	all    sync.WaitGroup
	mu     sync.Mutex
	living map[string]*exec.Cmd
	log    bytes.Buffer
}

// newFleet prepares processes that meet at a port that is free.
func newFleet(t *testing.T, s train.Spec, features int, within time.Duration) *fleet {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f := &fleet{testRun: newTestRun(t, s, dataOf(s, features)), wide: features, url: l.Addr().String(),
		living: map[string]*exec.Cmd{}}
	f.ctx, f.stop = context.WithTimeout(t.Context(), within)
	t.Cleanup(f.stop)
	for c := range s.Clients {
		if err := os.MkdirAll(f.clientDir(c), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// keep runs the process again and again until it ends well; in its first lives as the faults
// say.
func (f *fleet) keep(name string, t task, faults ...task) {
	t.Spec, t.Wide = f.spec, f.wide
	f.all.Go(func() {
		for life := 0; f.ctx.Err() == nil; life++ {
			t.Fault, t.Hits = "", 0
			if life < len(faults) {
				t.Fault, t.Hits = faults[life].Fault, faults[life].Hits
			}
			if f.once(name, t) == nil {
				return
			}
		}
	})
}

// once runs the process until it ends.
func (f *fleet) once(name string, t task) error {
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(f.ctx, os.Args[0])
	cmd.Env = append(os.Environ(), taskEnv+"="+string(text), "GOMAXPROCS=1")
	out, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	f.mu.Lock()
	f.living[name] = cmd
	f.mu.Unlock()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		f.mu.Lock()
		fmt.Fprintf(&f.log, "%s: %s\n", name, lines.Text())
		f.mu.Unlock()
	}
	err = cmd.Wait()
	f.mu.Lock()
	delete(f.living, name)
	f.mu.Unlock()
	return err
}

// kill kills a process and reports whether it lived.
func (f *fleet) kill(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	cmd := f.living[name]
	return cmd != nil && cmd.Process.Kill() == nil
}

// start runs a server, with a broker of its own, and the clients; the faults are by name.
func (f *fleet) start(faults map[string][]task) {
	f.keep("server", task{Role: "server", Dir: f.serverDir(), URL: f.url}, faults["server"]...)
	f.join(faults)
}

func (f *fleet) join(faults map[string][]task) {
	for c := range f.spec.Clients {
		name := fmt.Sprintf("client %d", c)
		f.keep(name, task{Role: "client", Client: c, Dir: f.clientDir(c), URL: "nats://" + f.url}, faults[name]...)
	}
}

// finish waits for all and checks the result.
func (f *fleet) finish() *Report {
	f.t.Helper()
	f.all.Wait()
	if f.ctx.Err() != nil {
		f.t.Fatalf("it did not end:\n%s", tail(f.log.String()))
	}
	for c := range f.spec.Clients {
		f.readSent(c)
	}
	record := record{dir: f.serverDir()}
	if os.Getenv("DIST_LOG") != "" {
		f.t.Log(f.log.String())
	}
	report, err := record.report()
	if err != nil || report == nil {
		f.t.Fatalf("no report: %v\n%s", err, tail(f.log.String()))
	}
	f.checkFold(report)
	if f.t.Failed() {
		f.t.Logf("%s", tail(f.log.String()))
	}
	return report
}

func tail(text string) string {
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-60):], "\n")
}

// readSent reads what a client released in all of its lives: one vector for a round.
func (f *fleet) readSent(client int) {
	f.t.Helper()
	in, err := os.Open(filepath.Join(f.clientDir(client), "sent"))
	if err != nil {
		f.t.Fatal(err)
	}
	defer in.Close()
	params := prepare(f.t, f.spec, f.data).Config.Model.NumParams()
	note, bits := f.noteSent(client), make([]byte, 8+4*params)
	for r := bufio.NewReader(in); ; {
		if _, err := io.ReadFull(r, bits); errors.Is(err, io.EOF) {
			return
		} else if errors.Is(err, io.ErrUnexpectedEOF) {
			f.t.Fatalf("what client %d sent is cut off", client)
		} else if err != nil {
			f.t.Fatal(err)
		}
		u := make([]float32, params)
		wire.Floats(u, bits[8:])
		note(journal.Release{Round: int(binary.LittleEndian.Uint64(bits))}, u)
	}
}

// The test stops a process at every point at which it may stop. Vectors need one message, short or long,
// or three.
func TestAProcessMayStopAnywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Parallel()
	for _, c := range []struct {
		features, rounds int
		client, server   []point
	}{
		{20, 120, []point{beforeJournal, afterJournal, beforePublish, beforeStream, afterAck},
			[]point{beforeApply, afterApply, afterSave, afterTable, insideBroadcast}},
		{2_000, 60, []point{beforePublish, afterAck}, []point{afterApply, afterSave, beforeApply}}, // see headed
		{300_000, 24, []point{insidePublish, beforePublish, afterAck},
			[]point{insideBroadcast, afterApply, afterTable}},
	} {
		t.Run(fmt.Sprint(c.features), func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, smallSpec(c.rounds), c.features, enough)
			faults := map[string][]task{}
			for i, p := range c.client { // by another client each, and all by the first
				name := fmt.Sprintf("client %d", 1+i%2)
				faults[name] = append(faults[name], task{Fault: p, Hits: 2})
				faults["client 0"] = append(faults["client 0"], task{Fault: p, Hits: 1})
			}
			for _, p := range c.server {
				faults["server"] = append(faults["server"], task{Fault: p, Hits: 2})
			}
			f.start(faults)
			report := f.finish()
			if len(report.Refused) > 0 {
				t.Errorf("refused: %v", report.Refused)
			}
		})
	}
}

// killsEnv says how many kills TestRandomKills makes, for each of two models.
const killsEnv = "PROACTIVEDP_DIST_KILLS"

// Clients are killed at random times, and so is the server with its broker. Every second client is killed
// right after it wrote a release to its journal, before the server has acknowledged it.
func TestRandomKills(t *testing.T) {
	kills, set := testkit.Times(t, killsEnv, 4)
	if !set && testing.Short() {
		t.Skip("starts processes")
	}
	t.Parallel()
	for _, model := range []string{train.Ridge, train.LeNet} {
		s := smallSpec(100 + 600*kills) // enough that most kills come before the end
		if model == train.LeNet {
			if !set {
				continue
			}
			s = smallSpec(40 * kills)
			s.Model, s.Data, s.Clip, s.Eta0, s.Beta = model, "synth-mnist:350", 0.025, 0.015, 1e-5
		}
		f := newFleet(t, s, 0, enough+time.Duration(kills)*3*time.Second)
		f.start(nil)
		random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)) // times are no function of a seed anyway
		names := []string{"server", "client 0", "client 1", "client 2"}
		killed := 0
		for killed < kills && f.ctx.Err() == nil {
			time.Sleep(time.Duration(200+random.IntN(600)) * time.Millisecond)
			victim := random.IntN(len(names))
			if victim > 0 && killed%2 == 0 {
				f.untilReleased(victim - 1)
			}
			if f.kill(names[victim]) {
				killed++
			}
			if _, err := os.Stat(filepath.Join(f.serverDir(), reportFile)); err == nil {
				break
			}
		}
		f.finish()
		// Half of the kills of clients wait for a release, so that one in three has one on its
		// way. How many do so is up to the machine, and is no test.
		lives, unacknowledged := 0, 0
		for line := range strings.SplitSeq(f.log.String(), "\n") {
			if strings.Contains(line, "continuing") {
				lives++
				if !strings.Contains(line, "lacking=0") {
					unacknowledged++
				}
			}
		}
		t.Logf("%s: %d kills; %d of %d clients that went on had an update that the server lacked", model, killed,
			unacknowledged, lives)
	}
}

// untilReleased waits, for a second at most, until a client writes to its journal.
func (f *fleet) untilReleased(client int) {
	path := filepath.Join(f.clientDir(client), "journal")
	written := func() time.Time {
		info, err := os.Stat(path)
		if err != nil {
			return time.Time{}
		}
		return info.ModTime()
	}
	before := written()
	for end := time.Now().Add(time.Second); !written().After(before) && time.Now().Before(end) && f.ctx.Err() == nil; {
		time.Sleep(20 * time.Microsecond)
	}
}

// A broker in another process loses all its data, or its last messages. Nothing is released twice, and the
// training ends.
func TestABrokerMayLoseAll(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Parallel()
	for _, all := range []bool{true, false} {
		f := newFleet(t, smallSpec(800), 0, enough)
		store, old := filepath.Join(f.dir, "store"), filepath.Join(f.dir, "old")
		b := task{Role: "broker", Dir: store, URL: f.url}
		f.all.Go(func() { _ = f.once("broker", b) })
		f.keep("server", task{Role: "server", Dir: f.serverDir(), URL: "nats://" + f.url})
		f.join(nil)
		f.until(30)
		if !all {
			f.copyAlive(old, store)
			f.until(60)
		}
		f.kill("broker")
		for f.lives("broker") {
			time.Sleep(time.Millisecond)
		}
		if err := os.RemoveAll(store); err != nil {
			t.Fatal(err)
		}
		if !all {
			if err := os.Rename(old, store); err != nil {
				t.Fatal(err)
			}
		}
		again := make(chan error, 1)
		go func() { again <- f.once("broker", b) }()
		f.waitFor(filepath.Join(f.serverDir(), reportFile))
		f.finishBut("broker", again)
	}
}

// copyAlive copies the files of a broker that works on, and once more where it removed one of
// them meanwhile.
func (f *fleet) copyAlive(to, from string) {
	f.t.Helper()
	err := os.CopyFS(to, os.DirFS(from))
	for errors.Is(err, fs.ErrNotExist) && f.ctx.Err() == nil {
		if err = os.RemoveAll(to); err == nil {
			err = os.CopyFS(to, os.DirFS(from))
		}
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fleet) lives(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.living[name] != nil
}

// finishBut is finish where a process has to be killed that never ends by itself.
func (f *fleet) finishBut(name string, ended <-chan error) {
	f.t.Helper()
	f.finish()
	f.kill(name)
	<-ended
}

// until waits until so many updates are in the server's saved state.
func (f *fleet) until(updates int) {
	f.t.Helper()
	for f.ctx.Err() == nil {
		text, err := os.ReadFile(filepath.Join(f.serverDir(), appliedFile))
		if err == nil && bytes.Count(text, []byte("\n")) > updates {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	f.t.Fatalf("it does not come so far:\n%s", tail(f.log.String()))
}

func (f *fleet) waitFor(file string) {
	f.t.Helper()
	for f.ctx.Err() == nil {
		if _, err := os.Stat(file); err == nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	f.t.Fatalf("it does not end:\n%s", tail(f.log.String()))
}

// A client with a lost journal, or an older copy of it, releases nothing.
func TestAnOldJournalIsRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Parallel()
	for _, lost := range []bool{true, false} {
		f := newFleet(t, smallSpec(400), 0, enough)
		f.keep("server", task{Role: "server", Dir: f.serverDir(), URL: f.url})
		for c := range 2 {
			other := task{Role: "client", Client: c, Dir: f.clientDir(c), URL: "nats://" + f.url}
			f.keep(fmt.Sprintf("client %d", c), other)
		}
		victim := task{Role: "client", Client: 2, Dir: f.clientDir(2), URL: "nats://" + f.url, Spec: f.spec,
			Fault: afterAck, Hits: 20}
		_ = f.once("client 2", victim)
		backup := filepath.Join(f.dir, "backup")
		if err := os.CopyFS(backup, os.DirFS(f.clientDir(2))); err != nil {
			t.Fatal(err)
		}
		victim.Hits = 20
		_ = f.once("client 2", victim)
		before, err := os.ReadFile(filepath.Join(f.clientDir(2), "sent"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(f.clientDir(2)); err != nil {
			t.Fatal(err)
		}
		if lost {
			err = os.MkdirAll(f.clientDir(2), 0o700)
		} else {
			err = os.Rename(backup, f.clientDir(2))
		}
		if err != nil {
			t.Fatal(err)
		}
		kept, _ := os.ReadFile(filepath.Join(f.clientDir(2), "sent"))
		victim.Fault = ""
		if err := f.once("client 2", victim); err == nil {
			t.Error("it takes part")
		}
		now, _ := os.ReadFile(filepath.Join(f.clientDir(2), "sent"))
		if log := f.log.String(); !strings.Contains(log, ErrRefused.Error()) && (lost ||
			!strings.Contains(log, ErrSecondRelease.Error())) {
			t.Errorf("lost: %v: it ended otherwise:\n%s", lost, tail(f.log.String()))
		}
		if len(before) <= len(kept) || !slices.Equal(now[:len(kept)], kept) {
			t.Error("the copy is not older")
		}
		rounds := map[string]bool{}
		size := 8 + 4*prepare(t, f.spec, f.data).Config.Model.NumParams()
		for rest := range slices.Chunk(before, size) {
			rounds[string(rest)] = true
		}
		for rest := range slices.Chunk(now, size) {
			if !rounds[string(rest)] {
				t.Errorf("lost: %v: round %d was released anew", lost, binary.LittleEndian.Uint64(rest))
			}
		}
		f.stop()
		f.all.Wait()
	}
}
