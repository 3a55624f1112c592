package training

import (
	"github.com/spf13/cobra"

	"proactivedp/auto"
	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/data"
	"proactivedp/internal/atomicfile"
	"proactivedp/train"
)

// saveFlag says where a trained model is written to.
type saveFlag struct {
	path string
	own  *cli.OwnFlags // how the data were read
}

// add gives cmd the flag.
func (s *saveFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.path, "save", "", "write the trained model, the averaged one if there is one, to this "+
		"`file`, for predict")
}

// writeLoop writes the model that a loop ended with.
func (s saveFlag) writeLoop(r *auto.Report, d *data.Dataset) error {
	if s.path == "" {
		return nil
	}
	return r.Save(s.path, train.NewInputs(d, s.own.LabelMap, s.own.Mapped))
}

// check reports that the file cannot be written, before anything is trained.
func (s saveFlag) check() error {
	if s.path == "" {
		return nil
	}
	return atomicfile.Check(s.path)
}

// write writes the model that the report is of.
func (s saveFlag) write(r *train.Report, p *train.Prepared) error {
	if s.path == "" {
		return nil
	}
	return r.Save(s.path, train.NewInputs(p.Read(), s.own.LabelMap, s.own.Mapped))
}
