package sim

import (
	"errors"
	"fmt"
	"time"

	"proactivedp/rng"
)

// Network is what befalls messages on their way, in both directions, beside
// their latency. The zero value: each arrives once.
type Network struct {
	Loss      float64       // probability that a sending is lost, in [0, MaxLoss]
	Resend    time.Duration // after which a lost message is sent again, until it arrives
	Duplicate float64       // probability that a sending that is not lost arrives twice, in [0, 1]
}

// MaxLoss bounds Loss: a message takes 1/(1 − Loss) sendings on average.
const MaxLoss = 0.99

// Validate reports every field outside its range.
func (n Network) Validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf("sim: "+format, args...)) }
	if !(n.Loss >= 0 && n.Loss <= MaxLoss) {
		fail("loss = %v, must be in [0, %v]", n.Loss, MaxLoss)
	}
	if !(n.Duplicate >= 0 && n.Duplicate <= 1) {
		fail("duplicate = %v, must be in [0, 1]", n.Duplicate)
	}
	switch {
	case n.Resend < 0 || n.Resend > maxMean:
		fail("resend = %v, must be in [0, %v]", n.Resend, maxMean)
	case n.Loss > 0 && n.Resend == 0:
		fail("resend = 0, must be above 0: a lost message (loss = %v) is sent again after it", n.Loss)
	case n.Loss == 0 && n.Resend > 0:
		fail("resend = %v, must be 0 where no message is lost", n.Resend)
	}
	return errors.Join(errs...)
}

// travel returns the mean time from the first sending of a message to its
// arrival, in nanoseconds.
func (n Network) travel(latency *Duration) float64 {
	return latency.mean() + float64(n.Resend)*n.Loss/(1-n.Loss)
}

// send puts a message on its way.
func (v *Virtual) send(e event) {
	latency, purpose := &v.cfg.Timing.Uplink, rng.UplinkTime
	down := e.kind == broadcastArrives
	if down {
		latency, purpose = &v.cfg.Timing.Downlink, rng.DownlinkTime
	}
	client := int(e.client)
	if !v.unreliable {
		v.schedule(latency.sample(1, v.cfg.Roots.Run, &v.draws, purpose, client, int(e.number)), e)
		return
	}
	// A message that is sent again must not meet the same fate again, so each
	// sending has draws of its own.
	at := int(v.stations[client].sendings)
	v.stations[client].sendings++
	v.cfg.Roots.Run.Reseed(&v.draws, rng.Message, e.client, at)
	lost, twice := v.draws.Float64() < v.cfg.Network.Loss, v.draws.Float64() < v.cfg.Network.Duplicate
	arrives := latency.draw(1, &v.draws, client, at)
	switch {
	case lost:
		v.note(MessageLost, client, int(e.number), down)
		again := e
		if again.kind = updateResent; down {
			again.kind = broadcastResent
		}
		v.schedule(Time(v.cfg.Network.Resend), again)
		return
	case twice:
		v.note(MessageDuplicated, client, int(e.number), down)
		e.vector.readers++
		v.schedule(latency.draw(1, &v.draws, client, at), e)
	}
	v.schedule(arrives, e)
}

// resend sends a message again that was lost.
func (v *Virtual) resend(e event) {
	down := e.kind == broadcastResent
	v.note(MessageResent, int(e.client), int(e.number), down)
	if e.kind = updateArrives; down {
		e.kind = broadcastArrives
	}
	v.send(e)
}
