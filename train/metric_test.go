package train

import (
	"strings"
	"testing"
)

// Each metric is for classes or for numbers. A metric of the other kind is the only error.
func TestMetricsFitTheModel(t *testing.T) {
	for _, c := range []struct{ model, metric, want string }{
		{Linear, "", ""}, {Linear, "rmse", ""}, {"logreg", "", ""}, {"logreg", "auc", ""},
		{Linear, "auc", "metric = auc is for classes"},
		{"logreg", "rmse", `metric = rmse is for model = "linear"`},
	} {
		err := Spec{Model: c.model, Metric: c.metric}.checkMetric()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	err := Spec{Model: "logreg", Metric: "mae", ClassWeights: "0:1,1:2"}.checkMetric()
	if err == nil || strings.Contains(err.Error(), "class weights") {
		t.Errorf("class weights of a model with classes: %v", err)
	}
}
