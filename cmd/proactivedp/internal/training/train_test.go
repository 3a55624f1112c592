package training

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"proactivedp/cmd/proactivedp/internal/cli"
)

// The command train has the flags of all groups.
func TestTrainHasEveryFlagOfASpec(t *testing.T) {
	var flags cli.TrainFlags
	all := &cobra.Command{}
	flags.Add(all, cli.SettingFlags, cli.PointFlags, cli.EndFlags, cli.NoiseFlags, cli.RunFlags)
	has := newTrain().Flags()
	all.Flags().VisitAll(func(f *pflag.Flag) {
		if has.Lookup(f.Name) == nil {
			t.Errorf("train has no --%s", f.Name)
		}
	})
	if !all.HasFlags() {
		t.Error("no group has a flag")
	}
}
