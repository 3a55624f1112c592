package machines

import (
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"proactivedp/cluster/broker"
	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/internal/message"
)

// brokerFlags are the flags with which a process identifies itself at a broker, and the keys of its
// files.
type brokerFlags struct {
	credsFile, keyFile string
	logJSON            bool
	eventLog           string
	creds              *broker.Credentials // the content of credsFile
	key                []byte              // the content of keyFile
}

func (b *brokerFlags) add(cmd *cobra.Command) {
	b.addCreds(cmd)
	cmd.Flags().StringVar(&b.keyFile, "key", "", "protect the files with the secret key in this `file`, of 16 to 4096 bytes: "+
		"encrypted, or sealed against change where they hold nothing secret")
	b.addLog(cmd)
}

func (b *brokerFlags) addCreds(cmd *cobra.Command) {
	cmd.Flags().StringVar(&b.credsFile, "creds", "", "show the broker the credentials in this `file`, see proactivedp "+
		"keys")
}

func (b *brokerFlags) addLog(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&b.logJSON, "log-json", false, "write the log on stderr as JSON, a line for each event")
	cmd.Flags().StringVar(&b.eventLog, "event-log", "", "append what happens, progress included, to this `file` as "+
		"JSON, one object a line (docs/metrics.md lists the keys)")
}

func (b *brokerFlags) read() error {
	var errs []error
	if b.credsFile != "" {
		var err error
		if b.creds, err = broker.ReadCredentials(b.credsFile); err != nil {
			errs = append(errs, fmt.Errorf("--creds: %w", err))
		}
	}
	if b.keyFile != "" {
		var err error
		b.key, err = cli.ReadKey("key", b.keyFile, broker.MinKey)
		errs = append(errs, err)
	}
	return cli.Usage(errors.Join(errs...))
}

// log returns the log, on stderr and in the file of events, which done closes.
func (b *brokerFlags) log(cmd *cobra.Command) (log *slog.Logger, done func() error, err error) {
	var shown slog.Handler = slog.NewTextHandler(cmd.ErrOrStderr(), nil)
	if b.logJSON {
		shown = slog.NewJSONHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{ReplaceAttr: visible})
	}
	if b.eventLog == "" {
		return slog.New(shown), func() error { return nil }, nil
	}
	f, err := os.OpenFile(b.eventLog, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return nil, nil, cli.Usage(fmt.Errorf("--event-log: %w", err))
	}
	kept := slog.NewJSONHandler(f, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: visible})
	return slog.New(slog.NewMultiHandler(shown, kept)), f.Close, nil
}

// visible escapes control characters that another process put into the log, because a terminal
// would obey them. JSON leaves some of them unescaped. The text log quotes all of them.
func visible(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value.Any().(type) {
	case string:
		a.Value = slog.StringValue(message.Visible(v))
	case error:
		a.Value = slog.StringValue(message.Visible(v.Error()))
	}
	return a
}

// withKeys returns the broker with the keyring from a folder, if one is given. It returns an error
// if either is wrong. The broker's own folder is chosen later.
func withKeys(e broker.Engine, folder string) (broker.Engine, error) {
	var err error
	if folder != "" {
		if e.Keyring, err = broker.ReadKeyring(folder); err != nil {
			err = fmt.Errorf("--keys: %w", err)
		}
	}
	check := e
	check.StoreDir = "."
	return e, errors.Join(err, check.Validate())
}
