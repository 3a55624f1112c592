package privacy

import (
	"strings"
	"testing"

	"proactivedp/dp"
)

// A file of rounds needs a column of noise, of counts and of rates, which sizes may stand for.
func TestColumnsOfRounds(t *testing.T) {
	for header, want := range map[string]string{
		"noise_multiplier,sample_rate,count":              "",
		"noise_multiplier,sample_size,dataset_size,count": "",
		"noise_multiplier,sample_size,count":              "no column sample_rate, nor sample_size and dataset_size",
		"noise_multiplier,dataset_size,count":             "no column sample_rate, nor sample_size and dataset_size",
		"sample_rate,count":                               "no column noise_multiplier",
		"noise_multiplier,sample_rate":                    "no column count",
	} {
		row := strings.Repeat(",1", strings.Count(header, ","))
		_, err := parseEvents([]byte(header+"\n1"+row+"\n"), dp.Poisson, dp.AddOrRemove)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", header, err, want)
		}
	}
}

// A field may be empty where another column says the same; those after it are read. Without a noise
// multiplier 0 would be meant: that is refused.
func TestEmptyFieldsOfRounds(t *testing.T) {
	const header = "sample_rate,noise_multiplier,sample_size,dataset_size,count\n"
	events, err := parseEvents([]byte(header+",2,10,1000,7\n0.01,3,,,5\n"), dp.Poisson, dp.AddOrRemove)
	if err != nil || len(events) != 2 || events[0].NoiseMultiplier != 2 || events[0].SampleSize != 10 ||
		events[0].DatasetSize != 1000 || events[0].Count != 7 || events[1].Rate != 0.01 || events[1].Count != 5 {
		t.Errorf("%+v, %v", events, err)
	}
	if _, err := parseEvents([]byte(header+"0.01,,,,5\n"), dp.Poisson, dp.AddOrRemove); err == nil ||
		!strings.Contains(err.Error(), "row 2: noise_multiplier is missing") {
		t.Errorf("no noise: %v", err)
	}
}
