package training

import (
	"testing"

	"proactivedp/data"
	"proactivedp/train"
)

// Proxies look at drawn records of the kind of a user's: rows of about as many features, or images
// of as many channels, which networks for images take.
func TestLikestIsOfTheSameKind(t *testing.T) {
	for want, d := range map[string]data.Dataset{
		"synth-phishing":  {Features: 68},
		"synth-mushrooms": {Features: 768},
		"synth-mnist":     {Features: 784, Images: &data.Images{Channels: 1, Height: 28, Width: 28}},
		"synth-cifar10":   {Features: 3072, Images: &data.Images{Channels: 3, Height: 32, Width: 32}},
	} {
		if got := likest(&d); got != want {
			t.Errorf("likest of %s is %s, must be %s", d.Shape(), got, want)
		}
	}
}

// The table that a probe draws is dense, so its size does not follow a file with many features.
func TestProbesOfWideFilesAreBounded(t *testing.T) {
	wide := &data.Dataset{Features: 1 << 20, Classes: 3, Start: make([]int, 3001)}
	d, err := loadProbed(nil, nil, probeSynthetic, train.DefaultSpec(), wide)
	if err != nil || d.Features != mostDrawnFeatures || d.Classes != 3 {
		t.Errorf("%v, %v", d, err)
	}
}
