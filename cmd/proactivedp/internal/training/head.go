package training

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"proactivedp/propose"
	"proactivedp/train"
)

// chooseHead returns the model and the features of a training on images, of which the user may have
// given one or both. On public data proxies compare what is open. If proxies may not see the data, or no
// proxy fits the budget, it is the head that was the most accurate in the committed results. It also
// returns the comparison, if there was one. base is the training without what the user did not give.
func chooseHead(cmd *cobra.Command, base train.Spec, epsilon float64, o propose.Options) (
	propose.Head, []propose.Compared, error,
) {
	changed := cmd.Flags().Changed
	heads := propose.Heads(base, o.Data.Data(), changed("model"), changed("features"))
	if len(heads) == 1 {
		return heads[0], nil, nil
	}
	say := func(format string, args ...any) {
		fmt.Fprintf(cmd.ErrOrStderr(), "proactivedp: "+format+"; --model and --features override this\n", args...)
	}
	if o.Probing == propose.Own && epsilon <= propose.MaxEpsilon {
		r := propose.DefaultRequest(base, max(epsilon, propose.MinEpsilon))
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
