package machines

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"proactivedp/cluster"
	"proactivedp/cluster/broker"
	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/internal/decimal"
)

// operatorPatience is how long a server may be silent.
const operatorPatience = 10 * time.Second

// operatorFlags are the flags of commands that ask a server.
type operatorFlags struct {
	brokerFlags
	at, run string
}

func (o *operatorFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.at, "at", "nats://127.0.0.1:4222", "the broker's `URL`")
	f.StringVar(&o.run, "run-id", "", "id of the run, if several are served there")
	o.addCreds(cmd)
}

// operate sends a request to a server as an operator.
func (o *operatorFlags) operate(cmd *cobra.Command, do func(context.Context, *cluster.Operator) error) error {
	if err := errors.Join(cli.Usage(broker.CheckURL(o.at)), o.read()); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(cmd.Context(), operatorPatience,
		fmt.Errorf("no training's server has answered for %v", operatorPatience))
	defer cancel()
	operator, err := cluster.Operate(ctx, o.at, o.run, o.creds)
	if err != nil {
		return err
	}
	defer operator.Close()
	return do(ctx, operator)
}

func newStatus() *cobra.Command {
	var o operatorFlags
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the progress of a training over several processes",
		Long: `Show the progress of a training: rounds, updates and bytes and, for each client, its
round, when it was last heard, and what was refused.`,
		Example: `  proactivedp status
  proactivedp status --at tls://server:4222 --creds keys/operator.creds --json`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.operate(cmd, func(ctx context.Context, who *cluster.Operator) error {
				s, err := who.Status(ctx)
				if err != nil {
					return err
				}
				return cli.Report(cmd, s)
			})
		},
	}
	o.add(cmd)
	cli.AddJSON(cmd.Flags())
	return cmd
}

func newExpel() *cobra.Command {
	var o operatorFlags
	cmd := &cobra.Command{
		Use:   "expel CLIENT",
		Short: "Continue a training over several processes without a client",
		Long: `Remove a client from a training permanently, because its machine or journal is lost, or
because it sends wrong updates. The updates that it sent so far remain in the model. The
other clients no longer wait for it. All its rounds count in the privacy statement, because
nobody knows how many it released.`,
		Example: `  proactivedp expel 2
  proactivedp expel 2 --at tls://server:4222 --creds keys/operator.creds`,
		Args: cli.OneArg("the number of a client"),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := clientNumber(args[0])
			if err != nil {
				return err
			}
			return o.operate(cmd, func(ctx context.Context, who *cluster.Operator) error {
				if err := who.Expel(ctx, client); err != nil {
					return err
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "client %d is expelled\n", client)
				return err
			})
		},
	}
	o.add(cmd)
	return cmd
}

func clientNumber(text string) (int, error) {
	n, err := decimal.Count(text)
	if err != nil || n < 0 || n >= cluster.MaxClients {
		return 0, cli.Usage(fmt.Errorf("client = %q, must be a number in [0, %d]", text, cluster.MaxClients-1))
	}
	return n, nil
}
