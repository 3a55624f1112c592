package training

import (
	"errors"
	"fmt"
	"testing"

	"github.com/spf13/cobra"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/data/synth"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/train"
)

// What a proposal says that a record pays is kept by every seed of --seeds, of which the split by
// record deals some fewer records than the first one's.
func TestEverySeedIsWithinItsPlan(t *testing.T) {
	spec := train.DefaultSpec()
	spec.Data, spec.GradComps, spec.NoiseMultiplier, spec.Split = "drawn", 520, 2, train.RecordSplit
	source := train.NewSource(synth.OneHot(rng.New(3), 300))
	p, err := source.Prepare(spec)
	if err != nil {
		t.Fatal(err)
	}
	cost, err := p.PlannedPrivacy(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	setting, err := train.ReadSetting(fmt.Appendf(nil, `{"proposals":[{"rank":1,"setting":{"sigma":2,"delta":0},`+
		`"certified":{"per_record":{"epsilon_upper":%v}}}]}`, *cost.Certified.PerRecord.EpsilonUpper), 1)
	if err != nil {
		t.Fatal(err)
	}
	from := planFileFlags{setting: setting}
	if err := from.fits(t.Context(), p); err != nil {
		t.Fatalf("the first seed: %v", err)
	}
	for seeds, refused := range map[int]bool{1: false, 6: true} {
		c, cmd := curveFlags{}, &cobra.Command{}
		cmd.SetContext(t.Context())
		cmd.SetOut(t.Output())
		cmd.SetErr(t.Output())
		c.add(cmd)
		c.seeds = seeds
		err := c.run(cmd, p, &from, &cli.DataFlags{}, sim.Perf{Workers: 1})
		if errors.Is(err, train.ErrCostsMore) != refused || err != nil && !refused {
			t.Errorf("%d seeds: %v, must be refused: %v", seeds, err, refused)
		}
	}
}
