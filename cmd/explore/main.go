// Command explore takes the protocol of package sim through every order of
// events of runs small enough for it, with each fault at most once, and prints
// how many states there are. If an invariant does not hold, it prints which one
// and the events that lead there, and exits with status 1.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"proactivedp/sim"
)

// sizes are clients × rounds, from the smallest: the fault that shows in few
// events is found in few.
var sizes = []struct{ clients, rounds int }{{2, 2}, {2, 3}, {3, 2}}

// unlimited is a τ that is none. So is any τ ≥ T − 1: no round is more than T − 1
// ahead of v̂_0.
const unlimited = -1

func main() {
	short := flag.Bool("short", false, "explore only the smallest size")
	flag.Parse()
	explored := sizes
	if *short {
		explored = sizes[:1]
	}
	if err := table(os.Stdout, explored); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func table(w io.Writer, sizes []struct{ clients, rounds int }) error {
	const row = "%-6s  %-10s  %10v  %12v  %8v\n"
	fmt.Fprintf(w, row, "size", "τ", "states", "transitions", "seconds")
	var all sim.Explored
	start := time.Now()
	for _, size := range sizes {
		taus := []int{unlimited}
		for tau := range size.rounds - 1 {
			taus = slices.Insert(taus, tau, tau)
		}
		for _, tau := range taus {
			began := time.Now()
			e := sim.Exploration{Clients: size.clients, Rounds: size.rounds, Tau: tau,
				Faults: sim.Faults{Duplicates: 1, Losses: 1, Leaves: 1}}
			explored, err := e.Run()
			if err != nil {
				return fmt.Errorf("%d × %d, τ = %s: %w", size.clients, size.rounds, name(tau, size.rounds), err)
			}
			fmt.Fprintf(w, row, fmt.Sprintf("%d × %d", size.clients, size.rounds), name(tau, size.rounds),
				explored.States, explored.Transitions, seconds(began))
			all.States += explored.States
			all.Transitions += explored.Transitions
		}
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
