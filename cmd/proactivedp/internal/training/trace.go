package training

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/internal/files"
	"proactivedp/train"
)

// traceFlag names the file for a run's timeline.
type traceFlag struct{ path string }

func (t *traceFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.path, "trace", "",
		"write the run's timeline to this `file`, in the Chrome trace format (open in ui.perfetto.dev)")
}

func (t *traceFlag) check(p *train.Prepared) error {
	if t.path == "" {
		return nil
	}
	return p.CheckTrace()
}

// run trains. It writes the trace, if the user wants one, before anything is printed about the run:
// the whole trace, or nothing if the training fails or is interrupted. For a run that has ended it
// returns the report, even if something could not be written.
func (t *traceFlag) run(
	cmd *cobra.Command, p *train.Prepared, run func() (*train.Report, error),
) (r *train.Report, err error) {
	if t.path == "" {
		return run()
	}
	var runErr error
	err = files.Write(t.path, func(w io.Writer) error {
		p.Trace = train.NewTrace(w, p.Config.Clients())
		if r, runErr = run(); r == nil {
			return runErr
		}
		return p.Trace.Close()
	})
	if runErr != nil && r == nil {
		return nil, runErr
	}
	if err == nil {
		cli.Say(cmd, "trace in %s", t.path)
	}
	return r, errors.Join(runErr, err)
}
