package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"proactivedp/dist/broker"
	"proactivedp/dist/sweep"
	"proactivedp/experiments"
	"proactivedp/train"
)

// sweepFlags let workers on other machines compute a command's trainings.
type sweepFlags struct {
	brokerFlags
	at, listen, keys string
	queue            *sweep.Queue
}

func (s *sweepFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.at, "workers-at", "", "let workers compute the trainings, who meet at the broker at this `URL` "+
		"(see proactivedp worker)")
	f.StringVar(&s.listen, "listen", "", "let workers compute the trainings, who meet at a broker that listens here "+
		"at `HOST:PORT`")
	f.StringVar(&s.keys, "keys", "", "`folder` of the keys by which the broker knows its users, see proactivedp keys")
	f.StringVar(&s.credsFile, "creds", "", "show the broker the credentials in this `file`, see proactivedp keys")
	s.addLog(cmd)
}

// check reports what the flags have wrong, and reads the files that they name.
func (s *sweepFlags) check(cmd *cobra.Command) error {
	if s.at == "" && s.listen == "" {
		var errs []error
		for _, name := range []string{"keys", "creds", "log-json"} {
			if cmd.Flags().Changed(name) {
				errs = append(errs, fmt.Errorf("--%s needs --workers-at or --listen", name))
			}
		}
		return usage(errors.Join(errs...))
	}
	_, err := s.engine()
	return usage(errors.Join(err, s.read(cmd)))
}

func (s *sweepFlags) engine() (broker.Engine, error) {
	return withKeys(broker.Engine{URL: s.at, Listen: s.listen}, s.keys)
}

// open returns what computes trainings in workers, if they are asked for; else nil. It
// must be closed by close.
func (s *sweepFlags) open(cmd *cobra.Command) (experiments.Elsewhere, error) {
	if s.at == "" && s.listen == "" {
		return nil, nil
	}
	e, err := s.engine()
	if err != nil {
		return nil, usage(err)
	}
	if s.queue, err = sweep.Open(cmd.Context(), sweep.Options{Engine: e, Creds: s.creds, Log: s.log(cmd)}); err != nil {
		return nil, err
	}
	return s.queue, nil
}

// close ends what open began.
func (s *sweepFlags) close() error {
	if s.queue == nil {
		return nil
	}
	return s.queue.Close()
}

func newWorker() *cobra.Command {
	var flags brokerFlags
	var where dataFlags
	o := sweep.WorkOptions{Workers: runtime.GOMAXPROCS(0)}
	cmd := &cobra.Command{
		Use:   "worker URL",
		Short: "Compute trainings of figures, search and delay for another machine",
		Long: `Compute trainings that figures, search or delay hand out with --listen or --workers-at,
until it is interrupted. It waits for a broker that is not up yet, and takes part in one
command after the other. The results are the same bits as on one machine; a training
goes only to a worker of the same architecture and class of kernels, and two different
results of one training are an error of the command.

A worker that is killed has its trainings taken by others within ten seconds, the long
ones as far as they were kept. Data sets are loaded here by name, and refused if their
digest is another.`,
		Example: `  proactivedp worker nats://127.0.0.1:4222
  proactivedp worker tls://server:4222 --creds worker.creds --workers 8`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage(fmt.Errorf("worker takes one argument, the URL of a broker, got %d", len(args)))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			o.URL = args[0]
			if err := errors.Join(usage(errors.Join(broker.CheckURL(o.URL), checkWorkers(o.Workers))),
				flags.read(cmd)); err != nil {
				return err
			}
			if o.Dir, err = os.MkdirTemp("", "proactivedp-worker-"); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, os.RemoveAll(o.Dir)) }()
			host, err := os.Hostname()
			if err != nil {
				host = "worker"
			}
			o.Name, o.Creds, o.Log = fmt.Sprintf("%s-%d", host, os.Getpid()), flags.creds, flags.log(cmd)
			o.Load = func(ctx context.Context, spec train.Spec) (*train.Source, error) {
				if err := checkData(spec.Data); err != nil {
					return nil, err
				}
				d, err := where.loadFor(cmd, spec)
				if err != nil {
					return nil, err
				}
				return train.NewSource(d), nil
			}
			return sweep.Work(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	countVar(f, &o.Workers, "workers", o.Workers, "trainings at the same time, at least 1")
	f.StringVar(&flags.credsFile, "creds", "", "show the broker the credentials in this `file`, see proactivedp keys")
	flags.addLog(cmd)
	where.addWithin(cmd)
	return cmd
}
