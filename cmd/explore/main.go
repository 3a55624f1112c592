// Command explore checks the protocol of package sim. It takes small runs through every order of
// their events, with each fault at most once, and prints the number of states. It exits with status
// 1 if an invariant does not hold, and prints the invariant and the events that led there. It also
// exits with status 1 if the numbers of states have changed.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"proactivedp/sim"
)

// run is an exploration with its numbers of states and transitions. They change if the machines
// change, or what sim.Virtual does at an event. So the program notices an unintended change.
type run struct {
	clients, rounds, tau int
	states, transitions  int
}

// runs are the explorations, the smallest size first. So a fault that needs few events is found by a
// short trace.
var runs = []run{
	{2, 2, 0, 1791, 6223},
	{2, 2, unlimited, 11_322, 48_327},
	{2, 3, 0, 6179, 23_170},
	{2, 3, 1, 312_292, 1_606_573},
	{2, 3, unlimited, 977_079, 5_606_642},
	{3, 2, 0, 6941, 29_339},
	{3, 2, unlimited, 125_850, 675_749},
}

// short is the number of runs with the smallest size.
const short = 2

// unlimited means no bound τ. Any τ ≥ T − 1 has the same effect, because no round is more than T − 1
// ahead of v̂_0.
const unlimited = -1

func main() {
	few := flag.Bool("short", false, "explore only the smallest size")
	flag.Parse()
	explored := runs
	if *few {
		explored = runs[:short]
	}
	if err := table(os.Stdout, explored); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// table explores the runs and prints a row for each. It stops with an error at the first run that
// breaks an invariant or has other numbers of states and transitions than listed.
func table(w io.Writer, runs []run) error {
	const row = "%-6s  %-10s  %10v  %12v  %8v\n"
	fmt.Fprintf(w, row, "size", "τ", "states", "transitions", "seconds")
	var all sim.Explored
	start := time.Now()
	for _, r := range runs {
		began := time.Now()
		e := sim.Exploration{Clients: r.clients, Rounds: r.rounds, Tau: r.tau,
			Faults: sim.Faults{Duplicates: 1, Losses: 1, Leaves: 1}}
		explored, err := e.Run()
		if err == nil && (explored.States != r.states || explored.Transitions != r.transitions) {
			err = fmt.Errorf("%d states and %d transitions, must be %d and %d: the protocol has changed",
				explored.States, explored.Transitions, r.states, r.transitions)
		}
		if err != nil {
			return fmt.Errorf("%d × %d, τ = %s: %w", r.clients, r.rounds, name(r.tau, r.rounds), err)
		}
		fmt.Fprintf(w, row, fmt.Sprintf("%d × %d", r.clients, r.rounds), name(r.tau, r.rounds),
			explored.States, explored.Transitions, seconds(began))
		all.States += explored.States
		all.Transitions += explored.Transitions
	}
	fmt.Fprintf(w, row, "all", "", all.States, all.Transitions, seconds(start))
	return nil
}

func name(tau, rounds int) string {
	if tau == unlimited {
		return fmt.Sprintf("%d and more", rounds-1)
	}
	return strconv.Itoa(tau)
}

func seconds(since time.Time) string { return fmt.Sprintf("%.2f", time.Since(since).Seconds()) }
