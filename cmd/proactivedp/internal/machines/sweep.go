package machines

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/dist/broker"
	"proactivedp/dist/sweep"
	"proactivedp/experiments/grid"
)

// SweepFlags let workers on other machines compute a command's trainings.
type SweepFlags struct {
	brokerFlags
	at, listen, keys string
	queue            *sweep.Queue
}

// Add gives cmd the flags.
func (s *SweepFlags) Add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.at, "workers-at", "", "let workers compute the trainings, who meet at the broker at this `URL` "+
		"(see proactivedp worker)")
	f.StringVar(&s.listen, "listen", "", "let workers compute the trainings, who meet at a broker that listens here "+
		"at `HOST:PORT`")
	f.StringVar(&s.keys, "keys", "", "`folder` of the keys by which the broker knows its users, see proactivedp keys")
	s.addCreds(cmd)
	s.addLog(cmd)
}

// Check reports what the flags have wrong, and reads the files that they name.
func (s *SweepFlags) Check(cmd *cobra.Command) error {
	if s.at == "" && s.listen == "" {
		var errs []error
		for _, name := range []string{"keys", "creds", "log-json"} {
			if cmd.Flags().Changed(name) {
				errs = append(errs, fmt.Errorf("--%s needs --workers-at or --listen", name))
			}
		}
		return cli.Usage(errors.Join(errs...))
	}
	_, err := s.engine()
	return cli.Usage(errors.Join(err, s.read(cmd)))
}

func (s *SweepFlags) engine() (broker.Engine, error) {
	return withKeys(broker.Engine{URL: s.at, Listen: s.listen}, s.keys)
}

// Open returns what computes trainings in workers, if they are asked for; else nil. It
// must be closed by close.
func (s *SweepFlags) Open(cmd *cobra.Command) (grid.Elsewhere, error) {
	if s.at == "" && s.listen == "" {
		return nil, nil
	}
	e, err := s.engine()
	if err != nil {
		return nil, cli.Usage(err)
	}
	if s.queue, err = sweep.Open(cmd.Context(), sweep.Options{Engine: e, Creds: s.creds, Log: s.log(cmd)}); err != nil {
		return nil, err
	}
	return s.queue, nil
}

// Close ends what open began.
func (s *SweepFlags) Close() error {
	if s.queue == nil {
		return nil
	}
	return s.queue.Close()
}
