//go:build !js

package libraries

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"proactivedp/dp"
	"proactivedp/internal/decimal"
)

// writeRecord writes all rounds that the bound counts.
func writeRecord(f Format, r Release) (c Code, err error) {
	c = Code{Format: f, Library: "dp_accounting 0.6.0", Tried: "read back by this program", Caveats: []string{
		"The event does not say which data sets are neighbours: it is for add-or-remove adjacency, which is the usual one of " +
			"dp_accounting."}}
	write := eventText
	if f == OpacusHistory {
		c.Library = "Opacus 1.5.4"
		c.Caveats = []string{"load_state_dict of an RDPAccountant reads it; for another accountant, change the mechanism."}
		write = historyText
	}
	events := r.all()
	parts := make([]string, len(events))
	var errs []error
	for i, e := range events {
		if e.Adjacency != dp.AddOrRemove {
			err = fmt.Errorf("adjacency = %s, must be %s for %s: the record does not say which data sets are neighbours: %w",
				e.Adjacency, dp.AddOrRemove, f, dp.ErrNotCovered)
		} else {
			parts[i], err = write(e)
		}
		if err != nil && len(events) > 1 {
			err = fmt.Errorf("event %d: %w", i, err)
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return Code{}, err
	}
	switch all := strings.Join(parts, ", "); {
	case f == OpacusHistory:
		c.Text = `{"history": [` + all + `], "mechanism": "rdp"}` + "\n"
	case len(parts) == 1:
		c.Text = all + "\n"
	default:
		c.Text = "ComposedDpEvent(events=[" + all + "])\n"
	}
	return c, nil
}

// historyText returns the entry of a history of Opacus for rounds.
func historyText(e dp.Event) (string, error) {
	if scheme, _ := e.Scheme(); e.Other == dp.GaussianNoise {
		e.Rate = 1
	} else if scheme != dp.PoissonAddOrRemove {
		return "", fmt.Errorf("%s, must be %s sampling for %s: a history has no other: %w", what(e), dp.Poisson, OpacusHistory,
			dp.ErrNotCovered)
	}
	row, err := json.Marshal([]any{e.NoiseMultiplier, e.SampleRate(), e.Count})
	return string(row), err
}

// eventText returns the text of an event of dp_accounting for rounds or another release.
func eventText(e dp.Event) (string, error) {
	if e.Other != "" {
		return otherText(e)
	}
	noise := "GaussianDpEvent(noise_multiplier=" + decimal.Exactly(e.NoiseMultiplier) + ")"
	switch scheme, _ := e.Scheme(); {
	case scheme == dp.PoissonAddOrRemove && e.SampleRate() == 1:
		return repeated(noise, e.Count), nil
	case scheme == dp.PoissonAddOrRemove:
		return repeated(fmt.Sprintf("PoissonSampledDpEvent(sampling_probability=%s, event=%s)", decimal.Exactly(e.SampleRate()),
			noise), e.Count), nil
	case scheme == dp.TruncatedAddOrRemove:
		return repeated(fmt.Sprintf("%s(dataset_size=%d, sampling_probability=%s, truncated_batch_size=%d, noise_multiplier=%s)",
			truncatedEvent, e.DatasetSize, decimal.Exactly(e.SampleRate()), e.Truncated, decimal.Exactly(e.NoiseMultiplier)), e.Count), nil
	case scheme == dp.AllocationAddOrRemove && e.Redraw == dp.EachEpoch && e.Count%e.Batches() == 0:
		return repeated(fmt.Sprintf("RandomAllocationDpEvent(event=%s, num_selected=1, num_steps=%d)", noise, e.Batches()),
			e.Count/e.Batches()), nil
	case scheme == dp.AllocationAddOrRemove && e.Redraw == dp.EachEpoch:
		return "", fmt.Errorf("count = %d, must be whole epochs of %d batches for %s, whose event is an epoch: %w", e.Count,
			e.Batches(), DPAccounting, dp.ErrNotCovered)
	case scheme == dp.AllocationAddOrRemove:
		return "", fmt.Errorf("redraw = %q, must be %q for %s, whose event draws anew: %w", e.Redraw, dp.EachEpoch, DPAccounting,
			dp.ErrNotCovered)
	}
	return "", fmt.Errorf("%s, must be %s or %s sampling for %s: %w", what(e), dp.Poisson, dp.Allocation, DPAccounting,
		dp.ErrNotCovered)
}

// otherText is eventText for a release that is not a round of training.
func otherText(e dp.Event) (string, error) {
	text := ""
	switch e.Other {
	case dp.GaussianNoise:
		text = "GaussianDpEvent(noise_multiplier=" + decimal.Exactly(e.NoiseMultiplier) + ")"
	case dp.LaplaceNoise:
		text = "LaplaceDpEvent(noise_multiplier=" + decimal.Exactly(e.NoiseMultiplier) + ")"
	case dp.PureDP, dp.ApproximateDP:
		text = fmt.Sprintf("EpsilonDeltaDpEvent(epsilon=%s, delta=%s)", decimal.Exactly(e.Epsilon), decimal.Exactly(e.Delta))
	case dp.ConcentratedDP:
		text = "ZCDpEvent(rho=" + decimal.Exactly(e.Rho) + ", xi=0.0)"
	default:
		return "", fmt.Errorf("%s, which %s does not have under add-or-remove adjacency: %w", what(e), DPAccounting, dp.ErrNotCovered)
	}
	return repeated(text, e.Count), nil
}

// what names the kind of an event.
func what(e dp.Event) string {
	if e.Other != "" {
		return "mechanism = " + string(e.Other)
	}
	if e.Group > 1 {
		return fmt.Sprintf("group = %d", e.Group)
	}
	if e.Truncated > 0 {
		return fmt.Sprintf("truncated batch size = %d", e.Truncated)
	}
	return "sampling = " + string(e.Sampling)
}

func repeated(event string, count int) string {
	if count == 1 {
		return event
	}
	return fmt.Sprintf("SelfComposedDpEvent(event=%s, count=%d)", event, count)
}
