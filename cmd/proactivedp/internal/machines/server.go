package machines

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"proactivedp/cluster"
	"proactivedp/cluster/broker"
	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/train"
)

// ServeFlagNames are the names of the flags of a server. A command is a server only if one of the first two is given.
var ServeFlagNames = []string{"listen", "broker", "dir", "creds", "keys", "key", "sync", "expel-after", "metrics",
	"log-json", "event-log"}

// ServeFlags are the flags that make a command the server of a training with clients in other processes.
type ServeFlags struct {
	brokerFlags
	listen, dir, url, keys   string
	sync, expelAfter, scrape string
	options                  cluster.ServeOptions // as far as Check has read them
}

func (s *ServeFlags) Add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.listen, "listen", "", "run a broker that listens at "+
		"`HOST:PORT`")
	f.StringVar(&s.dir, "dir", "", "`folder` that keeps the run; the same command continues from it")
	f.StringVar(&s.url, "broker", "", "use the broker at this `URL`, nats://HOST:PORT or tls://HOST:PORT, instead of "+
		"--listen")
	f.StringVar(&s.keys, "keys", "", "`folder` of the keys by which the broker knows its users, see proactivedp keys")
	f.StringVar(&s.sync, "sync", "1s", "when the broker's copies of updates are on disk: always before they are "+
		"acknowledged, or after at most this `time`, such as 2m; a client's journal has them before they are sent")
	f.StringVar(&s.expelAfter, "expel-after", "", "expel a client that was silent for this `time`, at least 5s "+
		"(default: never)")
	f.StringVar(&s.scrape, "metrics", "", "show metrics in the format of Prometheus at http://`HOST:PORT`/metrics, on "+
		"loopback")
	s.brokerFlags.add(cmd)
}

// Asked reports whether the user gave a flag that makes the command a server.
func (s *ServeFlags) Asked() bool { return s.listen != "" || s.url != "" }

// Check returns an error for each invalid flag, and reads the files that the flags name.
func (s *ServeFlags) Check(cmd *cobra.Command) error {
	if !s.Asked() {
		return cli.Usage(cli.Refuse(cmd, "needs --listen or --broker", ServeFlagNames...))
	}
	var errs []error
	if s.dir == "" {
		errs = append(errs, errors.New("--dir is missing: the folder that the run is kept in"))
	}
	errs = append(errs, cli.RefuseWith(cmd, cli.FlagGiven(cmd, "listen", "broker"), "runner", "checkpoint", "resume",
		"trace", "seed-from-os", "average", "workers"))
	if s.url != "" {
		errs = append(errs, cli.RefuseWith(cmd, "broker", "keys", "sync"))
	} else {
		errs = append(errs, cli.RefuseWith(cmd, "listen", "creds"))
	}
	return cli.Usage(errors.Join(append(errs, s.engine(), s.silence(), s.read())...))
}

// silence reads how long a client may be silent. 0 means for ever.
func (s *ServeFlags) silence() (err error) {
	if s.expelAfter == "" {
		return nil
	}
	s.options.ExpelAfter, err = time.ParseDuration(s.expelAfter)
	if err != nil || s.options.ExpelAfter < cluster.LeastSilence {
		return fmt.Errorf("--expel-after = %q, must be a time of at least %v, such as 10m", s.expelAfter,
			cluster.LeastSilence)
	}
	return nil
}

func (s *ServeFlags) engine() error {
	e := broker.Engine{URL: s.url, Listen: s.listen}
	var wrong, err error
	if s.sync != "always" {
		if e.Sync, wrong = time.ParseDuration(s.sync); wrong != nil || e.Sync <= 0 {
			wrong = fmt.Errorf("--sync = %q, must be always or a time such as 1s", s.sync)
		}
	}
	s.options.Engine, err = withKeys(e, s.keys)
	return errors.Join(wrong, err)
}

// Run serves the training p until its end and returns its report. Check must have accepted the flags.
func (s *ServeFlags) Run(cmd *cobra.Command, p *train.Prepared) (_ *cluster.Report, err error) {
	log, done, err := s.log(cmd)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	o := s.options
	o.Prepared, o.Dir, o.Engine.Key, o.Creds, o.Log = p, s.dir, s.key, s.creds, log
	if err := o.Validate(); err != nil {
		return nil, cli.Usage(err)
	}
	if s.scrape != "" {
		m, err := cluster.ServeMetrics(s.scrape)
		if _, taken := errors.AsType[*net.OpError](err); taken {
			return nil, err
		}
		if err != nil {
			return nil, cli.Usage(err)
		}
		defer m.Close()
		o.Watch = m.Watch
	}
	defer collectEarly(p)()
	return cluster.Serve(cmd.Context(), o)
}

// Most of a server's garbage is messages. They are large, but have no pointers, so collecting them
// is cheap. The server therefore collects before the heap has doubled, which is Go's default.
const (
	longModel   = 1 << 20 // in parameters
	longModelGC = 25      // percent of the heap, as for GOGC
)

// collectEarly lowers the limit of garbage for a long model, unless GOGC is set. The function that
// it returns restores the limit.
func collectEarly(p *train.Prepared) func() {
	if p.Config.Model.NumParams() < longModel || os.Getenv("GOGC") != "" {
		return func() {}
	}
	usual := debug.SetGCPercent(longModelGC)
	return func() { debug.SetGCPercent(usual) }
}
