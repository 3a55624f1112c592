package training

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/sim"
	"proactivedp/train"
)

// keepFlags are the flags about checkpoints: where to write them, and which one to resume.
type keepFlags struct {
	path, resume string
	every        int
	keyFile      string
	key          []byte // the content of keyFile
}

func (k *keepFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&k.path, "checkpoint", "", "keep the run in this `file`, for --resume")
	cli.CountVar(f, &k.every, "checkpoint-every", 0, "server updates between two checkpoints, at least 1 (default: by "+
		"time)")
	f.StringVar(&k.keyFile, "checkpoint-key", "", "seal the checkpoint with the secret key in this `file`, of 16 to 4096 "+
		"bytes, so that changes by others are noticed")
	f.StringVar(&k.resume, "resume", "", "continue the run that this `file` keeps; other flags of the run may be "+
		"left out, and must not contradict it")
}

func (k *keepFlags) check(cmd *cobra.Command) error {
	var errs []error
	if cmd.Flags().Changed("checkpoint-every") {
		if k.every < 1 {
			errs = append(errs, fmt.Errorf("--checkpoint-every = %d, must be at least 1 server update", k.every))
		}
		if !cli.AnyChanged(cmd, "checkpoint", "resume") {
			errs = append(errs, errors.New("--checkpoint-every needs --checkpoint or --resume"))
		}
	}
	if k.keyFile != "" {
		if !cli.AnyChanged(cmd, "checkpoint", "resume") {
			errs = append(errs, errors.New("--checkpoint-key needs --checkpoint or --resume"))
		}
		var err error
		k.key, err = cli.ReadKey("checkpoint-key", k.keyFile, sim.MinKey)
		errs = append(errs, err)
	}
	if k.resume != "" {
		errs = append(errs, cli.RefuseWith(cmd, "resume", "epochs", "seed-from-os", "dry-run"))
	}
	if cmd.Flags().Changed("bounds") {
		errs = append(errs, cli.RefuseWith(cmd, "bounds", "checkpoint", "resume", "seeds", "plan"))
		if cmd.Flags().Changed("seed-from-os") { // with secret noise, a dry run too would spend ε on the bounds
			errs = append(errs, cli.RefuseWith(cmd, "bounds", "dry-run"))
		}
	}
	return cli.Usage(errors.Join(errs...))
}

// fits returns an error if a new run of the spec cannot keep checkpoints in the file.
func (k *keepFlags) fits(s train.Spec) error {
	if k.path == "" {
		return nil
	}
	return s.CanKeep()
}

// goOn resumes the run of a checkpoint and prints its report.
func (f *trainFlags) goOn(cmd *cobra.Command) error {
	from, err := train.OpenCheckpoint(f.keep.resume, f.keep.key)
	if err != nil {
		return err
	}
	defer from.Close()
	// The data may have moved: their content is compared.
	dataName := cli.Given(cmd, "data", f.train.Spec.Data, from.Spec.Data)
	if err := cli.Usage(errors.Join(f.train.Contradict(cmd, from.Spec), cli.CheckData(dataName),
		cli.CheckWorkers(f.perf.Workers))); err != nil {
		return err
	}
	if err := f.keep.place(); err != nil {
		return err
	}
	d, err := f.where.LoadAs(cmd, from.Spec, dataName)
	if err != nil {
		return err
	}
	p, err := from.Prepare(d)
	if err != nil {
		return err
	}
	if err := f.trace.check(p); err != nil {
		return cli.Usage(err)
	}
	if err := p.Fits(f.perf, int64(f.where.Memory)); err != nil {
		return err
	}
	return f.report(cmd, p, from)
}

// place makes the resumed checkpoint also the file to write to, unless another file is given, which
// must not exist yet.
func (k *keepFlags) place() error {
	if k.path == "" {
		k.path = k.resume
	}
	if cli.SameFile(k.path, k.resume) {
		return nil
	}
	return train.CheckKeep(k.path, k.key)
}
