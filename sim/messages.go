package sim

import (
	"proactivedp/rng"
)

// send puts a message on its way. The network may lose or duplicate it.
func (v *Virtual) send(e *event) {
	latency, purpose := &v.cfg.Timing.Uplink, rng.UplinkTime
	down := e.kind == broadcastArrives
	if down {
		latency, purpose = &v.cfg.Timing.Downlink, rng.DownlinkTime
	}
	client := int(e.client)
	if v.cfg.Wire != nil && !down {
		v.cfg.Wire(Update{client, int(e.number), e.vector.X})
	}
	if !v.unreliable {
		v.enter(latency.At(v.cfg.Roots.Run, purpose, client, int(e.number), 1, &v.draws), e)
		return
	}
	// Each sending has its own draws. Otherwise a message that is sent again would be lost again.
	at := int(v.stations[client].sendings)
	v.stations[client].sendings++
	v.cfg.Roots.Run.Reseed(&v.draws, rng.Message, e.client, at)
	lost, twice := v.draws.Float64() < v.cfg.Network.Loss, v.draws.Float64() < v.cfg.Network.Duplicate
	arrives := latency.Draw(1, &v.draws, client, at)
	switch {
	case lost:
		v.note(MessageLost, client, int(e.number), down)
		if e.kind = updateResent; down {
			e.kind = broadcastResent
		}
		v.enter(v.cfg.Network.Resend, e)
		return
	case twice:
		v.note(MessageDuplicated, client, int(e.number), down)
		if e.vector.readers++; v.cfg.Wire != nil && !down {
			v.cfg.Wire(Update{client, int(e.number), e.vector.X})
		}
		v.enter(latency.Draw(1, &v.draws, client, at), e)
	}
	v.enter(arrives, e)
}

// resend sends a lost message again.
func (v *Virtual) resend(e *event) {
	down := e.kind == broadcastResent
	v.note(MessageResent, int(e.client), int(e.number), down)
	if e.kind = updateArrives; down {
		e.kind = broadcastArrives
	}
	v.send(e)
}
