package train

import (
	"math"
	"runtime"

	"proactivedp/dp"
	"proactivedp/internal/decimal"
	"proactivedp/internal/memory"
	"proactivedp/models"
	"proactivedp/sim"
)

// scratchBytes returns how many bytes of scratch a model needs for batches of this size. For
// logistic regression it returns 0, because it needs very little.
func scratchBytes(m models.Model, batch int) int64 {
	if m, ok := m.(*models.Network); ok {
		return m.Net().ScratchBytes(batch)
	}
	return 0
}

// roundParamWork and roundWork are about how many operations, at the speed of those of a gradient,
// a client's round takes in addition to its gradients: roundParamWork for each parameter (noise,
// updates, broadcast), plus roundWork for a model of any size.
const (
	roundParamWork = 100
	roundWork      = 50_000
)

// Work returns an estimate of the floating-point operations of the whole training: gradients, noise and updates of
// all clients. Use it to compare the costs of runs, or as the 100 % of a progress bar. Evaluations are not included,
// see [Prepared.Judging].
func (p *Prepared) Work() float64 {
	rounds, gradients := p.Config.Total()
	return gradients*p.Config.FLOPs() + rounds*(roundWork+roundParamWork*float64(p.Config.Model.NumParams()))
}

// Judging returns an estimate of the floating-point operations of one evaluation of the model on p.Test, to be added
// to [Prepared.Work]. Evaluating one row is assumed to take a third of the operations of one gradient.
func (p *Prepared) Judging() float64 {
	return float64(p.Test.Len()) * p.Config.FLOPs() / 3
}

// Progress returns an observer to pass to [Prepared.Run]. At each broadcast (new global model), the observer calls
// report with the fraction of the run that is done, in [0, 1].
func (p *Prepared) Progress(report func(part float64)) sim.Observer {
	computed := float64(p.Config.Run().Computed)
	return func(b sim.Broadcast) { report(float64(b.GradComps) / computed) }
}

// computing returns how many clients' gradients may be computed at the same time with these
// settings.
func (p *Prepared) computing(perf sim.Perf) int {
	if p.Spec.Runner == HogwildRunner {
		return min(runtime.GOMAXPROCS(0), p.Config.Clients())
	}
	return p.Config.Computing(perf)
}

// memory estimates the memory of a training by kind, without the data and the program: sim's
// vectors, and a scratch for each gradient under way and for the evaluation.
func (p *Prepared) memory(perf sim.Perf) []sim.Part {
	m, batch := p.Config.Model, p.Config.LargestSample()
	parts := p.Config.Vectors(perf, p.Spec.Runner == HogwildRunner && p.Spec.TimeScale == 0)
	if _, network := m.(*models.Network); !network && p.Test.Data.Images == nil {
		parts = append(parts, sim.Part{What: "rows of a linear model", Count: 1, Bytes: models.RowBytes(p.Test.Data)})
	}
	if m := &p.Config.Mechanism; m.Sampling == dp.Allocation {
		parts = append(parts, sim.Part{What: "rounds of the records", Count: p.Config.Clients() + p.computing(perf),
			Bytes: 4 * int64(m.DatasetSize+m.Batches+1)})
	}
	if a, err := parseAverage(p.Spec.Average); err == nil && a.share > 0 {
		// The mean, and the copy of it that is returned.
		parts = append(parts, sim.Part{What: "averaged model", Count: 1, Bytes: 12 * int64(m.NumParams())})
	}
	return append(parts,
		sim.Part{What: "scratch of gradients", Count: p.computing(perf), Bytes: scratchBytes(m, batch)},
		sim.Part{What: "scratch of evaluation", Count: 1, Bytes: scratchBytes(m, p.Test.Len())})
}

// total returns the bytes of all parts together, or the largest int64 if the sum overflows. No
// machine has so much memory, but an overflowed sum would seem to fit.
func total(parts []sim.Part) int64 {
	sum := 0
	for _, p := range parts {
		some, ok := decimal.Product(p.Count, int(p.Bytes))
		if !ok {
			return math.MaxInt64
		}
		if sum, ok = decimal.Sum(sum, some); !ok {
			return math.MaxInt64
		}
	}
	return int64(sum)
}

// Fits returns nil if there is enough memory for the run with the settings perf (such as the number of goroutines),
// and otherwise an error with the estimate. limit is the largest number of bytes that the whole process may use,
// including the memory in use now. If limit is 0, Fits uses the limit of the machine, the control group (cgroup) or
// GOMEMLIMIT, whichever is smallest.
func (p *Prepared) Fits(perf sim.Perf, limit int64) error {
	if err := p.made(); err != nil {
		return err
	}
	return memory.Given(limit).Check(total(p.memory(perf)))
}

// Cost is an estimate of the work and the memory of a computation, such as a training with its evaluations.
type Cost struct {
	Work   float64 // floating-point operations, approximately
	Memory int64   // bytes, at most
}

// Cost returns an estimate of the work and the memory of the run if workers goroutines compute gradients, and if the
// model is evaluated evaluations times on p.Test. Use it to decide how many runs fit into the memory at the same
// time.
func (p *Prepared) Cost(evaluations, workers int) Cost {
	return Cost{
		Work:   p.Work() + float64(evaluations)*p.Judging(),
		Memory: total(p.memory(sim.Perf{Workers: workers})),
	}
}
