package cli

import (
	"testing"

	"github.com/spf13/cobra"
)

// A flag for a text is stated whatever the text is; one that switches something off is left out.
func TestGivenText(t *testing.T) {
	cmd := &cobra.Command{Use: "do", RunE: func(*cobra.Command, []string) error { return nil }}
	cmd.Flags().String("label-column", "", "")
	cmd.Flags().Bool("exact", true, "")
	cmd.Flags().Bool("json", false, "")
	cmd.Flags().Int("n", 0, "")
	cmd.SetArgs([]string{"--label-column", "false", "--exact=false", "--json"})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	if got, want := GivenText(cmd, "label-column", "exact", "json", "n", "other"), " --label-column false --json"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
