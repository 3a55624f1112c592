package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"proactivedp/internal/bounded"
	"proactivedp/sim"
	"proactivedp/train"
)

// maxKey bounds the key of checkpoints, in bytes.
const maxKey = 4096

// keepFlags says where a training run keeps checkpoints and goes on from.
type keepFlags struct {
	path, resume string
	every        int
	keyFile      string
	key          []byte // what keyFile holds
}

// add gives cmd the flags of checkpoints.
func (k *keepFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&k.path, "checkpoint", "", "keep the run in this `file`, to go on from with --resume")
	countVar(f, &k.every, "checkpoint-every", 0, "server updates between two checkpoints, at least 1 (default: by "+
		"time)")
	f.StringVar(&k.keyFile, "checkpoint-key", "", "write and read the checkpoint under the secret key in this `file`, "+
		"of 16 to 4096 bytes: a change by anybody without it is seen")
	f.StringVar(&k.resume, "resume", "", "go on with the run that this `file` keeps; other flags of the run "+
		"may be left out, and must not contradict it")
}

// check reports what the flags themselves have wrong.
func (k *keepFlags) check(cmd *cobra.Command) error {
	errs := []error{refuseNoFile(cmd, "checkpoint", "resume", "checkpoint-key")}
	if cmd.Flags().Changed("checkpoint-every") {
		if k.every < 1 {
			errs = append(errs, fmt.Errorf("--checkpoint-every = %d, must be at least 1 server update", k.every))
		}
		if !anyChanged(cmd, "checkpoint", "resume") {
			errs = append(errs, errors.New("--checkpoint-every needs --checkpoint or --resume"))
		}
	}
	if k.keyFile != "" {
		if !anyChanged(cmd, "checkpoint", "resume") {
			errs = append(errs, errors.New("--checkpoint-key needs --checkpoint or --resume"))
		}
		var err error
		if k.key, err = bounded.File(k.keyFile, maxKey); err != nil {
			errs = append(errs, fmt.Errorf("--checkpoint-key: %w", err))
		} else if len(k.key) < sim.MinKey {
			errs = append(errs, fmt.Errorf("--checkpoint-key: %s has %d bytes, must have %d to %d",
				k.keyFile, len(k.key), sim.MinKey, maxKey))
		}
	}
	if k.resume != "" {
		errs = append(errs, refuseWith(cmd, "resume", "seed-from-os", "dry-run"))
	}
	return usage(errors.Join(errs...))
}

// fits reports why a new run of the spec cannot be kept in the file.
func (k *keepFlags) fits(s train.Spec) error {
	if k.path == "" {
		return nil
	}
	return s.CanKeep()
}

// keep returns how the flags ask to keep a run, which goes on from a checkpoint
// unless that is nil.
func (k *keepFlags) keep(from *train.Checkpoint) train.Keep {
	return train.Keep{Path: k.path, Every: k.every, Key: k.key, From: from}
}

// goOn resumes the run of a checkpoint, and reports.
func (k *keepFlags) goOn(
	cmd *cobra.Command, flags *trainFlags, where dataFlags, perf sim.Perf, trace traceFlag, save saveFlag,
	asJSON bool,
) error {
	from, err := train.OpenKeyedCheckpoint(k.resume, k.key)
	if err != nil {
		return err
	}
	defer from.Close()
	dataName := from.Spec.Data
	if cmd.Flags().Changed("data") {
		dataName = flags.spec.Data // the data may be elsewhere now: their content is compared
	}
	if err := usage(errors.Join(flags.contradict(cmd, from.Spec), checkData(dataName),
		checkWorkers(perf.Workers))); err != nil {
		return err
	}
	if err := k.place(); err != nil {
		return err
	}
	save.own = &where.own // what is read leaves there how
	d, err := where.loadAs(cmd, from.Spec, dataName)
	if err != nil {
		return err
	}
	p, err := from.Prepare(d)
	if err != nil {
		return err
	}
	if err := trace.check(cmd, p); err != nil {
		return usage(err)
	}
	if err := p.Fits(perf, int64(where.memory)); err != nil {
		return err
	}
	return trainAndReport(cmd, p, perf, k.keep(from), trace, save, asJSON)
}

// place lets the file that is resumed keep the checkpoints unless another file is
// named, which must be free.
func (k *keepFlags) place() error {
	if k.path == "" {
		k.path = k.resume
	}
	if sameFile(k.path, k.resume) {
		return nil
	}
	return train.CheckKeep(k.path, k.key)
}

// contradict reports the flags that were given with another value than a
// checkpoint's run has. The name of the data may be another, for the same content.
func (t *trainFlags) contradict(cmd *cobra.Command, kept train.Spec) error {
	given := t.given(cmd)
	t.spec = kept
	var errs []error
	for _, name := range t.names {
		value, was := given[name]
		if has := cmd.Flags().Lookup(name).Value.String(); was && value != has && name != "data" {
			errs = append(errs, fmt.Errorf("--%s = %s, the checkpoint has %s", name, value, has))
		}
	}
	return errors.Join(errs...)
}
