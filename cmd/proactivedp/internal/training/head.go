package training

import (
	"cmp"
	"errors"

	"github.com/spf13/cobra"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/data"
	"proactivedp/propose"
	"proactivedp/train"
)

// headsFor returns the models and the features from which chooseHead chooses: what the user has given, and for
// images what may replace the rest.
func headsFor(cmd *cobra.Command, base train.Spec, d *data.Dataset) []propose.Head {
	features := cmd.Flags().Changed("features") && base.FeatureMap != "" // and not a number of columns
	return propose.Heads(base, d, cmd.Flags().Changed(cli.ModelFlag(cmd)), features)
}

// chooseHead chooses the model and the features of a training from the heads. On public data proxies
// compare them. If proxies may not see the data, or ε allows no proxy, the committed results decide. It
// also returns the comparison, or nil.
func chooseHead(cmd *cobra.Command, base train.Spec, heads []propose.Head, epsilon float64, o propose.Options) (
	propose.Head, []propose.Compared, error,
) {
	say := func(format string, args ...any) {
		cli.Say(cmd, format+"; --%s and --features override this", append(args, cli.ModelFlag(cmd))...)
	}
	if len(heads) == 1 {
		if heads[0].Model != base.Model {
			say("the model is %v", heads[0])
		}
		return heads[0], nil, nil
	}
	epsilon = cmp.Or(epsilon, train.UsualEpsilon) // if only a target accuracy is given
	if o.Probing == propose.Own && epsilon >= propose.MinEpsilon && epsilon <= propose.MaxEpsilon {
		r := propose.DefaultRequest(base, epsilon)
		compared, err := propose.Compare(cmd.Context(), r, heads, o)
		if _, infeasible := errors.AsType[*propose.Infeasible](err); err == nil {
			say("%s", propose.ComparedText(base.Metric, compared))
			return compared[0].Head, compared, nil
		} else if !infeasible {
			return propose.Head{}, nil, err
		}
	}
	first, last := heads[0], heads[len(heads)-1]
	spec := base
	spec.Model, spec.FeatureMap = first.Model, first.Features
	if _, err := o.Data.Prepare(spec); err != nil {
		say("the model is %v, because %v is not possible: %v", last, first, err)
		return last, nil, nil
	}
	say("%s; none of the records was used to choose it", first.ByEvidence())
	return first, nil, nil
}
