package machines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"proactivedp/audit"
	"proactivedp/auto"
	"proactivedp/cluster/broker"
	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/internal/sweep"
	"proactivedp/train"
)

func newWorker() *cobra.Command {
	var flags brokerFlags
	var where cli.DataFlags
	o := sweep.WorkOptions{Workers: runtime.GOMAXPROCS(0)}
	cmd := &cobra.Command{
		Use:   "worker URL",
		Short: "Compute trainings for figures, search, delay and audit of another machine",
		Long: `Compute trainings for figures, search, delay or audit, which distribute them with --listen
or --workers-at. A worker runs until it is interrupted. It waits for a broker that is not
up yet, and serves one command after the other. The results are the same bits as on one
machine: a training goes only to a worker with the same architecture and class of kernels.
If two workers return different results for one training, the command fails.

If a worker is killed, others take over its trainings within ten seconds. They continue
long ones from the last saved state. Published data sets are loaded on this machine by
name. All other data come from the command's machine through the broker's memory: its own
files, and data sets that are missing here or differ. The worker checks their digest and
does not write them to disk.`,
		Example: `  proactivedp worker nats://127.0.0.1:4222
  proactivedp worker tls://server:4222 --creds worker.creds --workers 8`,
		Args: cli.OneArg("the URL of a broker"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			o.URL = args[0]
			if err := errors.Join(cli.Usage(errors.Join(broker.CheckURL(o.URL), cli.CheckWorkers(o.Workers))),
				flags.read()); err != nil {
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
			o.Name, o.Creds = fmt.Sprintf("%s-%d", host, os.Getpid()), flags.creds
			var done func() error
			if o.Log, done, err = flags.log(cmd); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, done()) }()
			o.Load = func(ctx context.Context, spec train.Spec) (*train.Source, error) {
				if cli.OwnFile(spec.Data) { // another machine cannot choose which files are read here
					return nil, fmt.Errorf("%s is a file of the machine that asks", spec.Data)
				}
				d, err := where.LoadFor(cmd, spec)
				if err != nil {
					return nil, err
				}
				return train.NewSource(d), nil
			}
			o.Other = map[string]sweep.Maker{audit.PartKind: auditPart}
			return sweep.Work(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	cli.CountVar(f, &o.Workers, "workers", o.Workers, "trainings at the same time, at least 1")
	flags.addCreds(cmd)
	flags.addLog(cmd)
	where.AddWithin(cmd)
	return cmd
}

func auditPart(ctx context.Context, spec json.RawMessage) (json.RawMessage, error) {
	loop, err := auto.Course(ctx)
	if err != nil {
		return nil, err
	}
	return audit.Do(ctx, spec, []audit.Course{loop}, 1)
}
