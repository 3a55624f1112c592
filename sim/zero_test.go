package sim

import (
	"testing"

	"proactivedp/dp/gdp"
	"proactivedp/internal/testkit"
)

// Zero values are refused, and where a constructor is needed it is named.
func TestZeroValues(t *testing.T) {
	testkit.Package{
		Exported: []any{
			new(Adapt), new(Checkpoint), new(Client), new(Config), new(Server), new(StepSize),
			new(Virtual), CheckMomentum, Hogwild, NewClient, NewServer, NewVirtual, OpenCheckpoint,
			ParseDelay,
		},
		Given: []any{gdp.Accountant{}},
		Unusable: map[string]string{
			"Server": "NewServer", "Client": "NewClient", "Virtual": "NewVirtual", "Checkpoint": "OpenCheckpoint",
		},
	}.Check(t)
}
