package training

import (
	"testing"

	"proactivedp/auto"
	"proactivedp/cluster"
	"proactivedp/experiments"
	"proactivedp/internal/testkit"
	"proactivedp/propose"
	"proactivedp/train"
)

// docs/schema has the JSON schema of what each command prints with --json.
func TestSchemas(t *testing.T) {
	const folder = "../../../../docs/schema"
	testkit.CheckSchema(t, folder, "train", train.Report{}, train.Forecast{}, experiments.LearningCurve{}, cluster.Report{})
	testkit.CheckSchema(t, folder, "host", cluster.Report{}, train.Forecast{})
	testkit.CheckSchema(t, folder, "predict", prediction{})
	testkit.CheckSchema(t, folder, "delay", experiments.DelayReport{})
	testkit.CheckSchema(t, folder, "utility", experiments.UtilityReport{})
	testkit.CheckSchema(t, folder, "search", experiments.SearchReport{})
	testkit.CheckSchema(t, folder, "propose", propose.Report{}, experiments.GridReport{}, experiments.PredictionReport{}, propose.TrainerReport{}, refused{})
	testkit.CheckSchema(t, folder, "auto", auto.Report{}, trained{}, refused{})
}
