package machines

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/dist/broker"
	"proactivedp/dist/sweep"
	"proactivedp/train"
)

func newWorker() *cobra.Command {
	var flags brokerFlags
	var where cli.DataFlags
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
		Args: cli.OneArg("the URL of a broker"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			o.URL = args[0]
			if err := errors.Join(cli.Usage(errors.Join(broker.CheckURL(o.URL), cli.CheckWorkers(o.Workers))),
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
				if err := cli.CheckData(spec.Data); err != nil {
					return nil, err
				}
				d, err := where.LoadFor(cmd, spec)
				if err != nil {
					return nil, err
				}
				return train.NewSource(d), nil
			}
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
