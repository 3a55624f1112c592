package machines

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"proactivedp/cluster"
	"proactivedp/cluster/broker"
	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/internal/decimal"
	"proactivedp/internal/message"
	"proactivedp/plan"
	"proactivedp/train"
)

// joinFlags are the flags of a client.
type joinFlags struct {
	brokerFlags
	where         cli.DataFlags
	data, records string
	maxEpsilon    string
	exact         bool
	giveUpAfter   string
	options       cluster.JoinOptions
}

func newJoin() *cobra.Command {
	var j joinFlags
	j.options.Client = -1
	cmd := &cobra.Command{
		Use:   "join URL",
		Short: "Take part in a training over several processes, as a client",
		Long: `Take part in a training that proactivedp host serves at a broker, as one of its
clients. The server says what is trained and how. Samples and noise are drawn from a
secret that only this client has. The folder --dir holds the secret and a journal of
everything that was released. Protect both as carefully as the records.

After an interrupt the same command continues: it sends what is in the journal again, and
releases no round twice. Do not restore the folder from an older copy:
rounds after that copy may then be released again, with independent noise, and no ledger
counts them.

The first folder that joins takes the client's number. A process with another folder is
refused. If the folder is lost for good, stop the process that used it, and join once with
a new folder and --replace. The new folder continues after the last round that the server
has, and the privacy statement also counts all rounds of the lost folder. Or expel the
client with proactivedp expel.

By default a client trains on its part of the run's data set, as the partition deals it.
This only simulates separate clients, because everybody can read the whole set. --records
names a file with this client's own records to train on instead.

--max-epsilon is the largest ε that a record of this client may cost, certified, in all
rounds of all clients that hold it. A run that would cost more is refused. The δ is the
run's, or 1/N for the N records here if that is less, because a server could choose a δ so
large that any run costs little. --records always needs the flag; ε then assumes that no
other client has the same record. Without the flag, a run is refused if no finite ε can be
certified, for example if it has no noise (sigma = 0); only --max-epsilon any accepts that.
With --exact, a run whose server trains with --exact=false is refused, because the low bits
of its noise can reveal records.

A client waits for a server that does not answer. If it hears nothing for the time
--give-up-after, it ends with status 1. The same command continues the training.`,
		Example: `  proactivedp join nats://127.0.0.1:4222 --client 0 --dir client-0
  proactivedp join tls://server:4222 --client 2 --creds client-2.creds --dir client-2 --max-epsilon 1
  proactivedp join tls://server:4222 --client 2 --creds client-2.creds --dir client-2 --records mine.libsvm --max-epsilon 1`,
		Args: cli.OneArg("the URL of a broker"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			j.options.URL = args[0]
			if err := errors.Join(j.check(cmd), j.read()); err != nil {
				return err
			}
			o := j.options
			o.Key, o.Creds = j.key, j.creds
			var done func() error
			if o.Log, done, err = j.log(cmd); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, done()) }()
			o.Prepare = func(a *cluster.Announcement) (*train.Prepared, error) { return j.prepare(cmd, a) }
			o.Agree = func(a *cluster.Announcement, s cluster.Statement) error {
				fmt.Fprintf(cmd.ErrOrStderr(), "run %s: %s of %s, all its rounds:\n", a.Run,
					decimal.Many(a.Rounds, "round"), message.Name(filepath.Base(a.Spec.Data)))
				return s.WriteText(cmd.ErrOrStderr())
			}
			r, err := cluster.Join(cmd.Context(), o)
			if err != nil {
				return err
			}
			return cli.Report(cmd, r)
		},
	}
	f := cmd.Flags()
	cli.CountVar(f, &j.options.Client, "client", -1, "number of this client, in [0, 4095]")
	f.StringVar(&j.options.Dir, "dir", "", "`folder` of this client's secret and journal, made if it is not there")
	f.StringVar(&j.options.Run, "run-id", "", "id of the run, if several are served there")
	f.BoolVar(&j.options.Replace, "replace", false, "take over the client's number from another folder that is lost "+
		"for good")
	f.StringVar(&j.data, "data", "", "`name` of the run's data set on this machine, if it differs")
	f.StringVar(&j.records, "records", "", "`file` of this client's own records, of a kind that train --data takes "+
		"(default: its part of the run's data set)")
	f.StringVar(&j.maxEpsilon, "max-epsilon", "", "refuse a run that would cost a record of this client more than this "+
		"`ε`, over all clients that hold it; in [1e-8, 1e4], or any, which accepts every run (default: refuse a run for "+
		"which no finite ε can be certified; --records needs this flag)")
	f.BoolVar(&j.exact, "exact", false, "join no run of host --exact=false, but only those whose samples and "+
		"noise are drawn by whole numbers")
	f.StringVar(&j.giveUpAfter, "give-up-after", "1h", "end when the server was silent for this `time`, at least 5s; "+
		"or never")
	cli.AddJSON(f)
	cli.AddStatement(f)
	j.brokerFlags.add(cmd)
	j.where.AddWithin(cmd)
	j.where.Own.Add(cmd)
	for _, rare := range []string{"person", "out-of-bounds", "no-header", "header-line", "number-format", "zero-based", "arrays",
		"image"} {
		f.Lookup(rare).Hidden = true // they mean the same as in train, or are refused
	}
	return cmd
}

func (j *joinFlags) check(cmd *cobra.Command) error {
	errs := []error{broker.CheckURL(j.options.URL)}
	if j.options.Client < 0 || j.options.Client >= cluster.MaxClients {
		errs = append(errs, fmt.Errorf("--client = %d, must be given, in [0, %d]", j.options.Client, cluster.MaxClients-1))
	}
	if j.options.Dir == "" {
		errs = append(errs, errors.New("--dir is missing: the folder of this client's secret and journal"))
	}
	errs = append(errs, j.patience(), j.most(cmd))
	if j.records != "" {
		errs = append(errs, cli.RefuseWith(cmd, "records", "data", "test"))
	}
	return cli.Usage(errors.Join(errs...))
}

// most reads the largest ε that a record may cost.
func (j *joinFlags) most(cmd *cobra.Command) error {
	switch {
	case j.maxEpsilon == "any":
		j.options.MaxEpsilon = math.Inf(1)
		return nil
	case cmd.Flags().Changed("max-epsilon"):
		var err error
		if j.options.MaxEpsilon, err = strconv.ParseFloat(j.maxEpsilon, 64); err != nil {
			return fmt.Errorf("--max-epsilon = %q, must be a number in [1e-8, 1e4], or any", j.maxEpsilon)
		}
		if err := plan.CheckEpsilon(j.options.MaxEpsilon); err != nil {
			return fmt.Errorf("--max-epsilon: %w, or any", err)
		}
		return nil
	case j.records != "":
		return errors.New("--records needs --max-epsilon: the largest ε that a record in the file may cost, or any")
	}
	return nil
}

// patience reads how long the client waits for a silent server.
func (j *joinFlags) patience() error {
	if j.giveUpAfter == "never" {
		return nil
	}
	var err error
	j.options.GiveUpAfter, err = time.ParseDuration(j.giveUpAfter)
	if err != nil || j.options.GiveUpAfter < cluster.LeastSilence {
		return fmt.Errorf("--give-up-after = %q, must be never or a time of at least %v, such as 1h", j.giveUpAfter,
			cluster.LeastSilence)
	}
	return nil
}

// prepare prepares this client's part of the announced run, unless the client refuses the run.
func (j *joinFlags) prepare(cmd *cobra.Command, a *cluster.Announcement) (*train.Prepared, error) {
	p, err := j.load(cmd, a)
	if err != nil {
		return nil, err
	}
	if j.exact && !p.Config.Mechanism.Exact {
		return nil, errors.New("--exact: the samples and the noise of this run are not drawn exactly, its server " +
			"must not train with --exact=false")
	}
	return p, nil
}

// checkMap returns an error if a --label-map covers all labels of the run and gives some of them
// another class: the client would then train against the other clients. Labels of a different set
// may mean whatever the map says.
func (j *joinFlags) checkMap(run []string) error {
	if j.where.Own.LabelMap == "" {
		return nil
	}
	own, err := data.ParseLabels(j.where.Own.LabelMap)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(run, own.Lists) {
		return nil // the file has other labels than the run, of which * may stand for some
	}
	var errs []error
	for class, label := range run {
		of, err := own.Class(label)
		if err != nil {
			return nil // the file has other labels than the run
		}
		if int(of) != class {
			errs = append(errs, fmt.Errorf("--label-map gives label %s the class %d, in the run it is %d: leave the "+
				"option out, or give the run's classes by LABEL=CLASS", message.Name(label), of, class))
		}
	}
	return errors.Join(errs...)
}

// load loads the client's records. The server cannot choose which files are read on this machine.
func (j *joinFlags) load(cmd *cobra.Command, a *cluster.Announcement) (*train.Prepared, error) {
	if j.records != "" {
		spec := a.Spec
		spec.Features = a.Features
		run, err := data.LabelsOf(a.Labels)
		if err != nil {
			return nil, err
		}
		j.where.Own.Run = run
		if err := j.checkMap(a.Labels); err != nil {
			return nil, cli.Usage(err)
		}
		d, err := j.where.LoadAs(cmd, spec, j.records)
		if errors.Is(err, data.ErrLabel) && j.where.Own.LabelMap == "" {
			return nil, fmt.Errorf("%w\nThe run's labels are %v, for classes 0, 1 and so on. If the file has other "+
				"labels, give the class of each: --label-map LABEL=CLASS,LABEL=CLASS", err, run)
		}
		if err != nil {
			return nil, err
		}
		if j.where.Own.LabelMap != "" && d.Classes == len(a.Labels) {
			d.Names = a.Labels // the map gives each label the class that it has in the run
		}
		if d.Train > 0 {
			return nil, cli.Usage(fmt.Errorf("--records = %s has a separate test set, must have training records "+
				"alone", j.records))
		}
		return a.PrepareOwn(d, j.options.Client)
	}
	name := a.Spec.Data
	if j.data != "" {
		name = j.data
	} else if !slices.Contains(cli.PublishedNames(), name) && !synth.Is(name) {
		return nil, fmt.Errorf("the run's data set is the server's own file %q: name it as it is found here by "+
			"--data, or this client's own records by --records", name)
	}
	if err := cli.CheckData(name); err != nil {
		return nil, err
	}
	d, err := j.where.LoadAs(cmd, a.Spec, name)
	if err != nil {
		return nil, err
	}
	return a.Prepare(d)
}
