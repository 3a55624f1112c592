package experiments

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"time"

	"proactivedp/internal/cpu"
	"proactivedp/internal/decimal"
	"proactivedp/internal/plots"
	"proactivedp/internal/report"
	"proactivedp/internal/results"
	"proactivedp/sim"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// rateClients are the numbers of clients for which updates are counted.
var rateClients = []int{1, 2, 5, 20, 100}

// The approximate numbers of updates that are counted. They take a second or more.
const (
	rateUpdates        = 400_000
	networkRateUpdates = 100
)

// rateSpec is a training whose speed is measured on one machine.
type rateSpec struct {
	Kind    string     `json:"kind"`
	Train   train.Spec `json:"train"`
	Data    string     `json:"data_sha256"`
	Cores   int        `json:"cores"`
	Machine string     `json:"machine"`
}

// rate is the measured speed of a training.
type rate struct {
	Updates int     `json:"updates"`
	Seconds float64 `json:"seconds"`
}

// rateCell measures the updates per second on the given number of cores. Nothing else may run at the
// same time.
func rateCell(spec train.Spec, cores int, source *train.Source) pool.Cell {
	return pool.Cell{
		Spec:    rateSpec{Kind: "rate", Train: spec, Data: source.Hash(), Cores: cores, Machine: cpu.Describe()},
		Code:    spec.CodeVersion(),
		Kernels: spec.Kernels(),
		Alone:   true,
		Cost:    func(workers int) (train.Cost, error) { return pool.CostOf(source, spec, 0, max(workers, cores)) },
		Run: func(ctx context.Context, _ sim.Perf, _ func(float64), _ train.Keep) (any, error) {
			p, err := source.Prepare(spec)
			if err != nil {
				return nil, err
			}
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
			begun := time.Now()
			r, err := p.Run(ctx, sim.Perf{Workers: cores}, nil)
			if err != nil {
				return nil, err
			}
			return rate{r.Updates, time.Since(begun).Seconds()}, nil
		},
		Check: func(text json.RawMessage) error {
			r, err := pool.Decode[rate](text)
			if err == nil && !(r.Updates > 0 && r.Seconds > 0) {
				err = fmt.Errorf("finished cell: %d updates in %v s", r.Updates, r.Seconds)
			}
			return err
		},
	}
}

// rated is a line of the figure: a runner on a number of cores.
type rated struct {
	runner string
	cores  int
}

// rateds returns the lines of the figure: both runners on 1, 2, 4, … cores, up to the cores of the
// machine.
func rateds() []rated {
	var all []rated
	for _, runner := range []string{train.VirtualRunner, train.HogwildRunner} {
		for cores := 1; cores <= runtime.NumCPU(); cores *= 2 {
			all = append(all, rated{runner, cores})
		}
	}
	return all
}

// rateTraining returns a training of the given number of clients. All have about equally many updates.
func (l delayExperiment) rateTraining(f *figureConfig, of rated, clients int) (train.Spec, error) {
	spec := l.experiment.Train
	size, err := strconv.Atoi(spec.SampleSize)
	if err != nil {
		return spec, fmt.Errorf("sample size = %q, must be constant", spec.SampleSize)
	}
	updates := rateUpdates
	if train.IsNetwork(spec.Model) {
		updates = networkRateUpdates
	}
	spec.Clients, spec.Runner = clients, of.runner
	spec.GradComps = max(scaled(updates, f.scale)/clients, 1) * size
	return spec, nil
}

// throughputFigure shows updates per second against clients and cores, without a clock.
func (l delayExperiment) throughputFigure() Figure {
	return Figure{
		Name: l.name() + "-throughput", Data: l.with.Data, Long: true, Fixed: true,
		Title: fmt.Sprintf("Updates a second against clients and cores, %s on %s", train.ModelTitle(l.with.Model),
			l.with.Data),
		cells: func(_ context.Context, f *figureConfig) ([]pool.Cell, error) {
			var cells []pool.Cell
			for _, of := range rateds() {
				for _, clients := range rateClients {
					spec, err := l.rateTraining(f, of, clients)
					if err != nil {
						return nil, err
					}
					for seed := range f.seeds {
						spec.Seed = uint64(seed + 1)
						cells = append(cells, rateCell(spec, of.cores, f.source))
					}
				}
			}
			return cells, nil
		},
		finish: func(_ context.Context, f *figureConfig, results []json.RawMessage) (*content, error) {
			rates, err := pool.DecodeAll[rate](results)
			if err != nil {
				return nil, err
			}
			return l.throughputContent(f, rateds(), cpu.Describe(), rates)
		},
		redraw: func(_ context.Context, f *figureConfig, k *storedFigure) (*content, error) {
			lines, rates, err := storedRates(k)
			if err != nil {
				return nil, err
			}
			out, err := l.throughputContent(f, lines, k.Machine, rates)
			if err == nil {
				out.table = append([][]string{k.table.Header}, k.table.Rows...) // rounded again, the rates could differ in the last digit
			}
			return out, err
		},
	}
}

// storedRates returns the lines and the rates of a figure.
func storedRates(k *storedFigure) (lines []rated, rates []rate, err error) {
	var cores, updates, seconds []float64
	if err := k.table.Columns(map[string]*[]float64{"cores": &cores, "updates": &updates, "seconds": &seconds}); err != nil {
		return nil, nil, err
	}
	perLine := len(rateClients) * k.Seeds
	if n := len(cores); n == 0 || n%perLine != 0 {
		return nil, nil, fmt.Errorf("%s has %d rows, must have %d for each line", results.TableFile, n, perLine)
	}
	runner := slices.Index(k.table.Header, "runner")
	if runner < 0 {
		return nil, nil, fmt.Errorf("%s has no column runner", results.TableFile)
	}
	for i := range cores {
		if i%perLine == 0 {
			lines = append(lines, rated{k.table.Rows[i][runner], int(cores[i])})
		}
		rates = append(rates, rate{int(updates[i]), seconds[i]})
	}
	return lines, rates, nil
}

// throughputContent draws the rates by line, number of clients and seed, as measured on a machine.
func (l delayExperiment) throughputContent(f *figureConfig, lines []rated, machine string, all []rate) (*content, error) {
	p := plots.Picture{
		Title:  fmt.Sprintf("%s, %s: updates a second", f.data().Name, train.ModelTitle(l.with.Model)),
		XLabel: "clients", YLabel: "updates a second", Banner: f.banner(), Rows: [][]string{{"updates a second"}},
	}
	for _, clients := range rateClients {
		p.XNames = append(p.XNames, strconv.Itoa(clients))
		p.Rows[0] = append(p.Rows[0], decimal.Many(clients, "client"))
	}
	table := [][]string{{"data", "model", "runner", "cores", "clients", "seed", "updates", "seconds",
		"updates_per_second"}}
	var config []train.Spec
	for _, of := range lines {
		line := plots.Line{Name: fmt.Sprintf("%s, %s", of.runner, decimal.Many(of.cores, "core")), Points: true}
		row := []string{line.Name}
		for i, clients := range rateClients {
			var rates []float64
			for seed, r := range all[:f.seeds] {
				rates = append(rates, float64(r.Updates)/r.Seconds)
				table = append(table, []string{f.data().Name, l.with.Model, of.runner, strconv.Itoa(of.cores),
					strconv.Itoa(clients), strconv.Itoa(seed + 1), strconv.Itoa(r.Updates), report.Number(r.Seconds),
					report.Number(rates[seed])})
			}
			all = all[f.seeds:]
			addMean(&line, float64(i), rates, 0)
			mean, _ := report.Spread(rates)
			p.YMax = max(p.YMax, 1.1*mean)
			row = append(row, report.Fixed(mean, 0))
			spec, err := l.rateTraining(f, of, clients)
			if err != nil {
				return nil, err
			}
			config = append(config, spec)
		}
		p.Lines, p.Rows = append(p.Lines, line), append(p.Rows, row)
	}
	p.Caption = fmt.Sprintf("Only training is timed, of about as many updates for each number of clients, which share the "+
		"records: s = %s, %s; %s. virtual: the event loop, which computes networks' rounds on all "+
		"cores; hogwild: a goroutine for each client, which waits for nothing. On %s. No other run has the same.",
		config[0].SampleSize, behindText(config[0].Delay), spreadText(f.seeds), machine)
	return &content{picture: p, table: table, config: config}, nil
}
