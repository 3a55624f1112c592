package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"proactivedp/answer"
	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/data/fetch"
	"proactivedp/internal/message"
	"proactivedp/internal/strictjson"
	"proactivedp/propose"
	"proactivedp/sim"
	"proactivedp/train"
	"proactivedp/train/pool"
	"proactivedp/web"
)

func newServe() *cobra.Command {
	var where cli.DataFlags
	var address string
	var open bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the planner as a web page on this machine",
		Long: `Serve the planner as a page, with answers computed by this program. The page shows what
proactivedp page shows, and also complete settings for an accuracy and a budget, as
proactivedp propose finds them on public data sets.

The server answers only this machine: it listens on a loopback address, refuses requests
by other host names and from other pages, and bounds what it reads. It ends when it is
interrupted. A browser is opened only with --open.`,
		Example: `  proactivedp serve
  proactivedp serve --address 127.0.0.1:0 --open`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			host, _, err := net.SplitHostPort(address)
			if err != nil || host != "localhost" && !net.ParseIP(host).IsLoopback() {
				return cli.Usage(fmt.Errorf("--address = %q, must be one of this machine's own with a port, such as "+
					"127.0.0.1:8321", address))
			}
			server, err := web.NewServer(web.Options{Sets: proposedSets(), Propose: searching(cmd, &where)})
			if err != nil {
				return err
			}
			listener, err := new(net.ListenConfig).Listen(cmd.Context(), "tcp", address)
			if err != nil {
				return err
			}
			place := "http://" + listener.Addr().String() + "/"
			fmt.Fprintf(cmd.OutOrStdout(), "%s\n", place)
			if open {
				if err := browse(cmd.Context(), place); err != nil {
					cli.Say(cmd, "no browser opens: %v", err)
				}
			}
			return server.Serve(cmd.Context(), listener)
		},
	}
	where.Add(cmd)
	f := cmd.Flags()
	f.StringVar(&address, "address", "127.0.0.1:8321", "`host:port` of this machine; port 0 takes a free one")
	f.BoolVar(&open, "open", false, "open the page in a browser")
	return cmd
}

// proposedSets are the data sets for which the page proposes settings: public ones with two
// classes, whose proxies take seconds.
func proposedSets() []string {
	return []string{"phishing", "mushrooms", "synth-phishing", "synth-mushrooms"}
}

// proposal is the page's request for settings.
type proposal struct {
	Data           string  `json:"data"`
	Epsilon        float64 `json:"epsilon"`
	TargetAccuracy float64 `json:"target_accuracy"`
	Delta          float64 `json:"delta"`
	Clients        int     `json:"clients"`
	Rounds         []int   `json:"rounds"` // as --steps; the default of propose if empty
	Seeds          int     `json:"seeds"`  // as --seeds; the default of propose if 0
}

// searching returns the function that answers such requests.
func searching(cmd *cobra.Command, where *cli.DataFlags) func(context.Context, []byte, io.Writer) (any, error) {
	return func(ctx context.Context, question []byte, progress io.Writer) (any, error) {
		asked := *cmd
		asked.SetContext(ctx) // so that a download also ends if the request is cancelled
		r, err := proposeFor(&asked, where, question, progress)
		return r, sorted(err)
	}
}

// proposeFor answers a proposal as the command propose does with these flags.
func proposeFor(cmd *cobra.Command, where *cli.DataFlags, question []byte, progress io.Writer) (*propose.Report, error) {
	var ask proposal
	if err := strictjson.Decode(question, &ask); err != nil {
		return nil, err
	}
	if !slices.Contains(proposedSets(), ask.Data) {
		return nil, fmt.Errorf("data = %q, must be one of %s", ask.Data, strings.Join(proposedSets(), ", "))
	}
	base := pool.Train("logreg", ask.Data)
	base.Delta = ask.Delta
	base.Clients = cmp.Or(ask.Clients, base.Clients)
	r := propose.DefaultRequest(base, ask.Epsilon)
	r.TargetAccuracy = ask.TargetAccuracy
	r.Seeds = cmp.Or(ask.Seeds, r.Seeds)
	if len(ask.Rounds) > 0 {
		r.Rounds = ask.Rounds
	}
	workers := runtime.GOMAXPROCS(0)
	o := propose.Options{Perf: sim.Perf{Workers: workers}, Probing: propose.Own,
		Trials: pool.Options{Workers: workers, Progress: progress}}
	if err := cli.Distinct([]error{r.Validate(), o.Validate(r)}); err != nil {
		return nil, err
	}
	d, err := where.LoadFor(cmd, base)
	if err != nil {
		return nil, err
	}
	o.Data = train.NewSource(d)
	o.Probe = o.Data
	return propose.Propose(cmd.Context(), r, o)
}

// sorted gives an error of proposeFor its kind of answer.Problem, unless the question itself is
// wrong.
func sorted(err error) error {
	kind := ""
	switch _, infeasible := errors.AsType[*propose.Infeasible](err); {
	case infeasible:
		kind = answer.Infeasible
	case errors.Is(err, fetch.ErrUnavailable), errors.Is(err, fetch.ErrMissing), errors.Is(err, fetch.ErrDamaged):
		kind = answer.Unavailable
	default:
		return err
	}
	return &answer.Problem{Kind: kind, Problems: message.Lines(err)}
}

// browse opens an address in the user's browser, and does not wait for it.
func browse(ctx context.Context, place string) error {
	command := []string{"xdg-open"}
	switch runtime.GOOS {
	case "darwin":
		command = []string{"open"}
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	opened := exec.CommandContext(context.WithoutCancel(ctx), command[0], append(command[1:], place)...)
	if err := opened.Start(); err != nil {
		return err
	}
	go opened.Wait() // the browser's exit status does not matter
	return nil
}
