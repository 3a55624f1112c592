package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"proactivedp/dist"
	"proactivedp/dist/broker"
	"proactivedp/dist/sweep"
	"proactivedp/internal/bounded"
	"proactivedp/train"
)

// brokerFlags say who somebody is at a broker, and under which key files are.
type brokerFlags struct {
	credsFile, keyFile string
	logJSON            bool
	creds              *broker.Credentials // what credsFile holds
	key                []byte              // what keyFile holds
}

func (b *brokerFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&b.credsFile, "creds", "", "show the broker the credentials in this `file`, see proactivedp keys")
	f.StringVar(&b.keyFile, "key", "", "files are under the secret key in this `file`, of 16 to 4096 bytes: "+
		"encrypted, or sealed against change where they hold nothing secret")
	b.addLog(cmd)
}

func (b *brokerFlags) addLog(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&b.logJSON, "log-json", false, "write the log on stderr as JSON, a line for each event")
}

// read reads the files that the flags name.
func (b *brokerFlags) read(cmd *cobra.Command) error {
	errs := []error{refuseNoFile(cmd, "creds")}
	if cmd.Flags().Lookup("key") != nil {
		errs = append(errs, refuseNoFile(cmd, "key"))
	}
	if b.credsFile != "" {
		var err error
		if b.creds, err = broker.ReadCredentials(b.credsFile); err != nil {
			errs = append(errs, fmt.Errorf("--creds: %w", err))
		}
	}
	if b.keyFile != "" {
		var err error
		if b.key, err = bounded.File(b.keyFile, maxKey); err != nil {
			errs = append(errs, fmt.Errorf("--key: %w", err))
		} else if len(b.key) < broker.MinKey {
			errs = append(errs, fmt.Errorf("--key: %s has %d bytes, must have %d to %d", b.keyFile, len(b.key),
				broker.MinKey, maxKey))
		}
	}
	return usage(errors.Join(errs...))
}

// log returns the log on stderr.
func (b *brokerFlags) log(cmd *cobra.Command) *slog.Logger {
	if b.logJSON {
		return slog.New(slog.NewJSONHandler(cmd.ErrOrStderr(), nil))
	}
	return slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
}

// serveFlags make train the server of a training over several processes.
type serveFlags struct {
	brokerFlags
	listen, dir, url, keys   string
	sync, expelAfter, scrape string
}

func (s *serveFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.listen, "listen", "", "serve a training over several processes, with a broker that listens at "+
		"`HOST:PORT`")
	f.StringVar(&s.dir, "dir", "", "`folder` of the run that is served; it is gone on from")
	f.StringVar(&s.url, "broker", "", "serve at the broker at this `URL`, nats://HOST:PORT or tls://HOST:PORT, in "+
		"the place of --listen")
	f.StringVar(&s.keys, "keys", "", "`folder` of the keys by which the broker knows its users, see proactivedp keys")
	f.StringVar(&s.sync, "sync", "always", "when the broker's messages are on disk: always before they are "+
		"acknowledged, or after at most this `time`, such as 2m")
	f.StringVar(&s.expelAfter, "expel-after", "", "expel a client that was silent for this `time`, at least 5s "+
		"(default: never)")
	f.StringVar(&s.scrape, "metrics", "", "show metrics in the format of Prometheus at http://`HOST:PORT`/metrics, on "+
		"loopback")
	s.brokerFlags.add(cmd)
}

// asked reports whether a training is to be served.
func (s *serveFlags) asked() bool { return s.listen != "" || s.url != "" }

// check reports what the flags have wrong, and reads the files that they name.
func (s *serveFlags) check(cmd *cobra.Command) error {
	var errs []error
	if !s.asked() {
		for _, name := range []string{"dir", "creds", "keys", "key", "sync", "expel-after", "metrics", "log-json"} {
			if cmd.Flags().Changed(name) {
				errs = append(errs, fmt.Errorf("--%s needs --listen or --broker", name))
			}
		}
		return usage(errors.Join(errs...))
	}
	if s.dir == "" {
		errs = append(errs, errors.New("--dir is missing: the folder that the run is kept in"))
	}
	errs = append(errs, refuseWith(cmd, flagGiven(cmd, "listen", "broker"), "runner", "checkpoint", "resume", "trace",
		"seed-from-os", "average", "workers", "save"))
	if s.url != "" {
		errs = append(errs, refuseWith(cmd, "broker", "keys", "sync"))
	} else {
		errs = append(errs, refuseWith(cmd, "listen", "creds"))
	}
	_, err := s.engine()
	return usage(errors.Join(append(errs, err, s.read(cmd))...))
}

// flagGiven returns the first of the flags that was given.
func flagGiven(cmd *cobra.Command, names ...string) string {
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			return name
		}
	}
	return names[0]
}

// engine returns the broker that the flags ask for.
func (s *serveFlags) engine() (broker.Engine, error) {
	e := broker.Engine{URL: s.url, Listen: s.listen}
	var errs []error
	if s.sync != "always" {
		var err error
		if e.Sync, err = time.ParseDuration(s.sync); err != nil || e.Sync <= 0 {
			errs = append(errs, fmt.Errorf("--sync = %q, must be always or a time such as 2m", s.sync))
		}
	}
	e, err := withKeys(e, s.keys)
	return e, errors.Join(append(errs, err)...)
}

// withKeys returns the broker with the keyring in a folder, if one is named, and what is
// wrong with either. Its own folder is decided later.
func withKeys(e broker.Engine, folder string) (broker.Engine, error) {
	var errs []error
	if folder != "" {
		var err error
		if e.Keyring, err = broker.ReadKeyring(folder); err != nil {
			errs = append(errs, fmt.Errorf("--keys: %w", err))
		}
	}
	check := e
	check.StoreDir = "."
	return e, errors.Join(append(errs, check.Validate())...)
}

// run serves the training and prints its report.
func (s *serveFlags) run(cmd *cobra.Command, p *train.Prepared, asJSON bool) error {
	e, err := s.engine()
	if err != nil {
		return usage(err)
	}
	e.Key = s.key
	o := dist.ServeOptions{Prepared: p, Dir: s.dir, Engine: e, Creds: s.creds, Log: s.log(cmd)}
	if s.expelAfter != "" {
		if o.ExpelAfter, err = time.ParseDuration(s.expelAfter); err != nil || o.ExpelAfter == 0 {
			return usage(fmt.Errorf("--expel-after = %q, must be a time such as 10m", s.expelAfter))
		}
	}
	if err := o.Validate(); err != nil {
		return usage(err)
	}
	ctx := cmd.Context()
	if s.scrape != "" {
		m, err := dist.ServeMetrics(s.scrape)
		if err != nil {
			return usage(err)
		}
		defer m.Close()
		o.Watch = m.Watch
	}
	r, err := dist.Serve(ctx, o)
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(cmd.OutOrStdout(), r)
	}
	return r.WriteText(cmd.OutOrStdout())
}

// operate asks a server something as an operator.
func operate(cmd *cobra.Command, at, run string, b *brokerFlags, do func(context.Context, *dist.Operator) error) error {
	if err := errors.Join(usage(broker.CheckURL(at)), b.read(cmd)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), operatorPatience)
	defer cancel()
	o, err := dist.Operate(ctx, at, run, b.creds)
	if err != nil {
		return err
	}
	defer o.Close()
	return do(ctx, o)
}

// operatorPatience is how long a server may be silent.
const operatorPatience = 10 * time.Second

// operatorFlags are those of who asks a server something.
type operatorFlags struct {
	brokerFlags
	at, run string
	json    bool
}

func (o *operatorFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.at, "at", "nats://127.0.0.1:4222", "the broker's `URL`")
	f.StringVar(&o.run, "run-id", "", "id of the run, if several are served there")
	f.StringVar(&o.credsFile, "creds", "", "show the broker the credentials in this `file`, see proactivedp keys")
}

func newStatus() *cobra.Command {
	var o operatorFlags
	cmd := &cobra.Command{
		Use:   "status",
		Short: "How a training over several processes stands",
		Long: `Ask the server of a training how it stands: rounds, updates and bytes, and of each
client which round it is in, when it was heard last, and what of it was refused.`,
		Example: `  proactivedp status
  proactivedp status --at tls://server:4222 --creds keys/operator.creds --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return operate(cmd, o.at, o.run, &o.brokerFlags, func(ctx context.Context, who *dist.Operator) error {
				s, err := who.Status(ctx)
				if err != nil {
					return err
				}
				if o.json {
					return printJSON(cmd.OutOrStdout(), s)
				}
				return s.WriteText(cmd.OutOrStdout())
			})
		},
	}
	o.add(cmd)
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
	return cmd
}

func newExpel() *cobra.Command {
	var o operatorFlags
	cmd := &cobra.Command{
		Use:   "expel CLIENT",
		Short: "Let a training over several processes go on without a client",
		Long: `Let a training go on without a client, for good: one whose machine or journal is
lost, or who sends what it should not. What is in of it stays in. Others go on as soon
as they need not wait for it any more. Its rounds count in full in the privacy
statement, since nobody knows how many it released.`,
		Example: `  proactivedp expel 2
  proactivedp expel 2 --at tls://server:4222 --creds keys/operator.creds`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage(fmt.Errorf("expel takes one argument, the number of a client, got %d", len(args)))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := clientNumber(args[0])
			if err != nil {
				return err
			}
			return operate(cmd, o.at, o.run, &o.brokerFlags, func(ctx context.Context, who *dist.Operator) error {
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

// clientNumber reads the number of a client.
func clientNumber(text string) (int, error) {
	var n count
	if err := n.Set(text); err != nil || n < 0 || int(n) >= dist.MaxClients {
		return 0, usage(fmt.Errorf("client = %q, must be a number in [0, %d]", text, dist.MaxClients-1))
	}
	return int(n), nil
}

// allowAll is what a user may do in trainings and sweeps.
func allowAll(u broker.User) broker.Permissions {
	if u.Role == broker.Worker {
		return sweep.Allow(u)
	}
	return dist.Allow(u)
}

func newKeys() *cobra.Command {
	var hosts []string
	var dir string
	clients := 5
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Make the keys of a broker that is reached by other machines",
		Long: `Make keys for a broker beyond 127.0.0.1, in a folder: server.keys with its TLS
certificate and the public keys of its users, for the server's machine alone; the same
for a nats-server that runs elsewhere, nats.conf with server.crt and server.key; and
credentials client-0.creds and so on, operator.creds, worker.creds and server.creds,
each for the machine of its user alone. A client's credentials let it send its own updates and ask
in its own name, and read the broadcasts, and nothing else. Nothing is overwritten.`,
		Example: `  proactivedp keys --clients 3 --host server.example.org,10.0.0.7 --dir keys`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var errs []error
			if len(hosts) == 0 {
				errs = append(errs, errors.New("--host is missing: the names or addresses of the broker"))
			}
			if dir == "" {
				errs = append(errs, errors.New("--dir is missing: the folder for the keys"))
			}
			if clients < 0 || clients > dist.MaxClients {
				errs = append(errs, fmt.Errorf("--clients = %d, must be in [0, %d]", clients, dist.MaxClients))
			}
			if err := errors.Join(errs...); err != nil {
				return usage(err)
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
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "keys of the server, %d clients, an operator and workers are in "+
				"%s\n", clients, dir)
			return err
		},
	}
	f := cmd.Flags()
	countVar(f, &clients, "clients", clients, "number of clients, in [0, 4096]")
	f.StringSliceVar(&hosts, "host", nil, "`names` or addresses by which the broker is reached, separated by commas")
	f.StringVar(&dir, "dir", "", "`folder` for the keys, made if it is not there")
	return cmd
}
