package experiments

import (
	"testing"

	"proactivedp/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }
