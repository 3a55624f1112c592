package training

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/rng"
	"proactivedp/train"
)

// A command that prepares a training several times, to choose its settings, computes the features once.
func TestFeaturesAreComputedOnce(t *testing.T) {
	own := filepath.Join(t.TempDir(), "my.npz")
	if err := os.WriteFile(own, nil, 0o666); err != nil { // a name; the records are drawn
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"--data", own}, {"--data", own, "--sampling", "allocation", "--batches", "4"},
		{"--data", "mnist", "--clients", "1", "--epochs", "2", "--batch-size", "30"},
	} {
		f, cmd := newTrainFlags(), &cobra.Command{Use: "train"}
		cmd.SetContext(t.Context())
		cmd.SetErr(new(bytes.Buffer))
		f.add(cmd, cli.EndFlags)
		if err := cmd.ParseFlags(append(args, "--model", train.Softmax, "--features", "hog:4:8")); err != nil {
			t.Fatal(err)
		}
		if err := f.from.read(cmd); err != nil {
			t.Fatal(err)
		}
		if err := f.fill(cmd); err != nil {
			t.Fatal(err)
		}
		d, times := synth.Digits(rng.New(1), 350), 0
		d.Featurer = func(d *data.Dataset, m data.FeatureMap) (*data.Dataset, error) {
			times++
			return m.Apply(t.Context(), d, nil)
		}
		if _, err := f.prepareOn(cmd, train.NewSource(d), nil); err != nil || times != 1 {
			t.Errorf("%q: features are computed %d times, error %v", args, times, err)
		}
	}
}

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
