package machines

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"

	"proactivedp/audit"
	"proactivedp/cluster/broker"
	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/internal/sweep"
	"proactivedp/train/pool"
)

// SweepFlags are the flags that make workers on other machines compute a command's trainings.
type SweepFlags struct {
	brokerFlags
	at, listen, keys string
	engine           broker.Engine // the one that Check has read
	queue            *sweep.Queue
	logged           func() error // closes the log
}

func (s *SweepFlags) Add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.at, "workers-at", "", "let workers compute the trainings; they connect to the broker at this `URL` "+
		"(see proactivedp worker)")
	f.StringVar(&s.listen, "listen", "", "let workers compute the trainings; they connect to a broker that listens here "+
		"at `HOST:PORT`")
	f.StringVar(&s.keys, "keys", "", "`folder` of the keys by which the broker knows its users, see proactivedp keys")
	s.addCreds(cmd)
	s.addLog(cmd)
}

// Check returns an error for each invalid flag, and reads the files that the flags name.
func (s *SweepFlags) Check(cmd *cobra.Command) (err error) {
	if s.at == "" && s.listen == "" {
		return cli.Usage(cli.Refuse(cmd, "needs --workers-at or --listen", "keys", "creds", "log-json", "event-log"))
	}
	s.engine, err = withKeys(broker.Engine{URL: s.at, Listen: s.listen}, s.keys)
	return cli.Usage(errors.Join(err, s.read()))
}

// Open returns a pool.Elsewhere that has trainings computed by workers, or nil if the flags do not ask for workers.
// Check must have accepted the flags, and the caller must call Close afterwards.
func (s *SweepFlags) Open(cmd *cobra.Command) (pool.Elsewhere, error) {
	if s.at == "" && s.listen == "" {
		return nil, nil
	}
	log, done, err := s.log(cmd)
	if err != nil {
		return nil, err
	}
	if s.queue, err = sweep.Open(cmd.Context(), sweep.Options{Engine: s.engine, Creds: s.creds, Log: log}); err != nil {
		return nil, errors.Join(err, done())
	}
	s.logged = done
	return s.queue, nil
}

// OpenAudit returns an audit.Elsewhere that has parts of an audit computed by workers, or nil if the flags do not ask
// for workers. The caller must call Close afterwards.
func (s *SweepFlags) OpenAudit(cmd *cobra.Command) (audit.Elsewhere, error) {
	e, err := s.Open(cmd)
	if e == nil || err != nil {
		return nil, err
	}
	return auditParts{e}, nil
}

// auditParts hands out the parts of an audit as jobs.
type auditParts struct{ by pool.Elsewhere }

func (a auditParts) Compute(ctx context.Context, parts []json.RawMessage,
	done func(part int, result json.RawMessage) error) error {
	jobs := make([]pool.Job, len(parts))
	for i, p := range parts {
		sum := sha256.Sum256(p)
		jobs[i] = pool.Job{Key: hex.EncodeToString(sum[:16]), Spec: p}
	}
	return a.by.Compute(ctx, jobs, done, func(int, float64) {})
}

// Close closes what Open or OpenAudit opened.
func (s *SweepFlags) Close() error {
	if s.queue == nil {
		return nil
	}
	return errors.Join(s.queue.Close(), s.logged())
}
