package auto

import (
	"testing"

	"proactivedp/internal/testkit"
)

func TestMain(m *testing.M) { testkit.RunInMemory(m) }
