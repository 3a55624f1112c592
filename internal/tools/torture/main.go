//go:build unix

// Command torture attacks the running program. It kills it, flips bits in the files that it reads,
// gives it hostile command lines and files, takes away its disk, and starts everything twice. It
// prints the numbers of tries and failures by kind, and exits with status 1 if anything failed.
//
//	go run ./internal/tools/torture -time 20m
//
// A failure is a hang, a panic, an exit status that the program does not document, a wrong result
// with status 0, a half-written file, or a temporary file or lock that remains after a later
// success. A failure is printed with the seed, the command and its output. A try depends only on the
// seed and its number, except for the times of kills.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"proactivedp/rng"
)

func main() {
	o := options{}
	flag.DurationVar(&o.time, "time", time.Minute, "how long")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the tries")
	flag.IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0), "tries at the same time")
	flag.StringVar(&o.program, "program", "", "the program to attack (default: built from ./cmd/proactivedp)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	failures, err := torture(ctx, o, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		os.Exit(2)
	}
	if failures > 0 {
		os.Exit(1)
	}
}

type options struct {
	time    time.Duration
	seed    uint64
	workers int
	program string
}

// kind is a kind of attack. Each worker makes its tries one after the other, in its own folder.
type kind struct {
	name string
	// share is the weight of this kind. The fraction of tries is share divided by the sum of all
	// shares.
	share int
	// start prepares one worker in its folder. It returns a function that makes a try.
	start func(a *attacker) (try func(r *rng.Stream) error, err error)
}

// attacker is a worker with one kind of attack.
type attacker struct {
	ctx     context.Context
	program string
	dir     string // its own folder

	undisturbed []undisturbed // for all attackers
	killed      *atomic.Int64 // number of running programs that all attackers killed
}

// kinds lists the attacks. If an attack is not possible on this system, start returns a skipped
// error.
var kinds = []kind{
	{"kills", 3, startKills},
	{"flipped bits", 3, startFlips},
	{"command lines", 4, startLines},
	{"hostile files", 2, startHostile},
	{"disks", 2, startDisks},
	{"two at once", 2, startPairs},
}

// skipped says why an attack is not possible on this system.
type skipped string

func (s skipped) Error() string { return "skipped: " + string(s) }

// tally counts the tries of a kind.
type tally struct {
	tries, failures int
	skipped         error
}

// maxShown is how many failures of a kind are printed.
const maxShown = 20

func torture(ctx context.Context, o options, out io.Writer) (failures int, err error) {
	temp, err := os.MkdirTemp("", "torture-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(temp)
	if o.program == "" {
		o.program = filepath.Join(temp, "proactivedp")
		build := exec.CommandContext(ctx, "go", "build", "-o", o.program, "./cmd/proactivedp")
		if text, err := build.CombinedOutput(); err != nil {
			return 0, fmt.Errorf("build: %w: %s", err, text)
		}
	}
	all := attacker{ctx: ctx, program: o.program, dir: temp, killed: new(atomic.Int64)}
	if all.undisturbed, err = all.letAlone(); err != nil {
		return 0, err
	}
	var cancel context.CancelFunc
	all.ctx, cancel = context.WithTimeout(ctx, o.time)
	defer cancel()
	s := &siege{all: all, seed: o.seed, out: out, end: cancel, tallies: make([]tally, len(kinds))}
	var wg sync.WaitGroup
	for worker := range max(o.workers, 1) {
		wg.Go(func() { s.work(worker) })
	}
	wg.Wait()
	if s.broken != nil {
		return 0, s.broken
	}
	return s.report()
}

// siege is the attacks of several workers and their results.
type siege struct {
	all  attacker // what all workers share; their folders are in its folder
	seed uint64
	out  io.Writer
	end  context.CancelFunc // ends all attacks

	mu      sync.Mutex
	tallies []tally // by kind
	broken  error   // the error of an attack that could not begin
}

// work makes tries of all kinds, one after the other, until the time is over.
func (s *siege) work(worker int) {
	tries, root := s.start(worker), rng.New(s.seed)
	for s.all.ctx.Err() == nil {
		i, number := s.next(tries)
		if i < 0 {
			return
		}
		s.enter(i, number, tries[i](root.Stream(rng.Sampling, uint32(i), number)))
	}
}

// start prepares a worker and returns one function for each kind that makes a try. It is nil if the
// attack is not possible on this system.
func (s *siege) start(worker int) []func(*rng.Stream) error {
	tries := make([]func(*rng.Stream) error, len(kinds))
	for i, k := range kinds {
		a := s.all
		a.dir = filepath.Join(s.all.dir, fmt.Sprintf("%d-%d", worker, i))
		err := os.Mkdir(a.dir, 0o777)
		if err == nil {
			tries[i], err = k.start(&a)
		}
		s.mu.Lock()
		if _, ok := err.(skipped); ok {
			s.tallies[i].skipped = err
		} else if err != nil && a.ctx.Err() == nil {
			s.broken = fmt.Errorf("%s: %w", k.name, err)
			s.end()
		}
		s.mu.Unlock()
	}
	return tries
}

// next returns the kind that is furthest behind its share, of those that the worker can try, and the
// number of the try. i is −1 if the worker can try none.
func (s *siege) next(mine []func(*rng.Stream) error) (i, number int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i = -1
	for j := range kinds {
		if mine[j] != nil && (i < 0 || s.tallies[j].tries*kinds[i].share < s.tallies[i].tries*kinds[j].share) {
			i = j
		}
	}
	if i >= 0 {
		number = s.tallies[i].tries
		s.tallies[i].tries++
	}
	return i, number
}

// enter counts a try and prints its failure.
func (s *siege) enter(i, number int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &s.tallies[i]
	switch {
	case s.all.ctx.Err() != nil: // it was interrupted
		t.tries--
	case err != nil:
		if t.failures++; t.failures <= maxShown {
			fmt.Fprintf(s.out, "FAILED %s, seed %d, try %d: %v\n", kinds[i].name, s.seed, number, err)
		}
	}
}

// report prints tries and failures by kind, and returns the number of failures.
func (s *siege) report() (failures int, err error) {
	table := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "attack\ttries\tfailures")
	sum := tally{}
	for i, k := range kinds {
		t := s.tallies[i]
		if t.skipped != nil {
			fmt.Fprintf(table, "%s\t%v\t\n", k.name, t.skipped)
			continue
		}
		fmt.Fprintf(table, "%s\t%d\t%d\n", k.name, t.tries, t.failures)
		sum.tries += t.tries
		sum.failures += t.failures
	}
	fmt.Fprintf(table, "all\t%d\t%d\n", sum.tries, sum.failures)
	fmt.Fprintf(table, "killed under way\t%d\t\n", s.all.killed.Load())
	return sum.failures, table.Flush()
}

// pick returns one of a list.
func pick[T any](r *rng.Stream, list []T) T { return list[r.IntN(len(list))] }

// fresh creates an empty folder in a's folder and returns its path.
func (a *attacker) fresh(name string) (string, error) {
	dir := filepath.Join(a.dir, name)
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o777)
}

// remains lists files that a successful program must not leave in a folder: temporary files and
// locks.
func remains(dir string) ([]string, error) {
	var left []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && slices.Contains([]string{".tmp", ".lock"}, filepath.Ext(path)) {
			left = append(left, path)
		}
		return err
	})
	return left, err
}
