package machines

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"proactivedp/cluster"
	"proactivedp/cluster/broker"
	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/dp"
	"proactivedp/internal/decimal"
	"proactivedp/internal/sweep"
)

// allowAll is what a user may do in trainings and sweeps.
func allowAll(u broker.User) broker.Permissions {
	if u.Role == broker.Worker {
		return sweep.Allow(u)
	}
	return cluster.Allow(u)
}

func newKeys() *cobra.Command {
	var hosts []string
	var dir string
	clients := 5
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Make the keys for a broker that other machines connect to",
		Long: `Make the keys for a broker that other machines connect to, in a folder:

  server.keys   the broker's TLS certificate and the public keys of its users, only for
                the machine of the server
  nats.conf, server.crt and server.key
                the same, for a nats-server that runs elsewhere
  client-0.creds and so on, operator.creds, worker.creds and server.creds
                the credentials of the users, each only for the machine of its user

With its credentials a client can send its own updates, send requests under its own name
and read the broadcasts, and nothing else. Existing files are not overwritten.`,
		Example: `  proactivedp keys --clients 3 --host server.example.org,10.0.0.7 --dir keys`,
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var errs []error
			if len(hosts) == 0 {
				errs = append(errs, errors.New("--host is missing: the names or addresses of the broker"))
			}
			if dir == "" {
				errs = append(errs, errors.New("--dir is missing: the folder for the keys"))
			}
			errs = append(errs, dp.CheckCount("--clients", clients, 0, cluster.MaxClients))
			if err := errors.Join(errs...); err != nil {
				return cli.Usage(err)
			}
			if err := broker.MakeKeys(dir, clients, hosts); err != nil {
				return err
			}
			ring, err := broker.ReadKeyring(dir)
			if err != nil {
				return err
			}
			if err := broker.WriteConfig(dir, ring, allowAll); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "keys of the server, %s, an operator and workers are in "+
				"%s\n", decimal.Many(clients, "client"), dir)
			return err
		},
	}
	f := cmd.Flags()
	cli.CountVar(f, &clients, "clients", clients, "number of clients, in [0, 4096]")
	f.StringSliceVar(&hosts, "host", nil, "`names` or addresses by which the broker is reached, separated by commas")
	f.StringVar(&dir, "dir", "", "`folder` for the keys, made if it is not there")
	return cmd
}
