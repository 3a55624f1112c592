package clock_test

import (
	"fmt"
	"time"

	"proactivedp/rng"
	"proactivedp/sim/clock"
)

// A round of the third client takes ten times as long as the others'.
func Example() {
	timing := clock.DefaultTiming()
	compute, err := clock.ParseDuration("lognormal:20us,0.5")
	if err != nil {
		fmt.Println(err)
		return
	}
	timing.Compute = compute
	speeds, err := clock.ParseSpeeds("1,1,0.1")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("a gradient takes", timing.Compute, "and a message", timing.Uplink)
	for client, factor := range speeds.Factors(3, rng.New(1)) {
		fmt.Printf("client %d: %v on average\n", client, time.Duration(factor*timing.Compute.Expected()))
	}
	// Output:
	// a gradient takes lognormal:20µs,0.5 and a message constant:100µs
	// client 0: 20µs on average
	// client 1: 20µs on average
	// client 2: 200µs on average
}

// nightly is a distribution of one's own: one message in ten waits.
type nightly struct{ quick, slow time.Duration }

func (d nightly) Mean() time.Duration { return d.quick + (d.slow-d.quick)/10 }
func (d nightly) String() string      { return fmt.Sprintf("%v or %v", d.quick, d.slow) }

func (d nightly) Draw(s *rng.Stream) time.Duration {
	if s.IntN(10) == 0 {
		return d.slow
	}
	return d.quick
}

// A Distribution stands wherever a family does.
func ExampleDistribution() {
	latency := clock.Duration{Kind: clock.Own, Own: nightly{time.Millisecond, time.Second}}
	timing := clock.Timing{Compute: clock.DefaultTiming().Compute, Uplink: latency, Downlink: latency}
	fmt.Println(timing.Validate(4), timing.Uplink, time.Duration(timing.Uplink.Expected()))
	// Output: <nil> own:1ms or 1s 100.9ms
}
