package cli

import (
	"github.com/spf13/cobra"

	"proactivedp/internal/memory"
)

// MemoryFlag is the value of --memory: the most memory that the process may use, in bytes. 0 means the limit of the
// system.
type MemoryFlag int64

func (m *MemoryFlag) Add(cmd *cobra.Command) {
	cmd.Flags().
		Var(m, "memory", "refuse what is estimated to take more memory, such as 4GiB; trainings side by side share it "+
			"(default: the machine's, the control group's or GOMEMLIMIT, whichever is least)")
}

// Set reads a size such as 512MiB.
func (m *MemoryFlag) Set(text string) error {
	n, err := memory.Parse(text)
	if err == nil {
		*m = MemoryFlag(n)
	}
	return err
}

// String returns the size in the form that Set reads.
func (m *MemoryFlag) String() string {
	if *m == 0 {
		return ""
	}
	return memory.Text(int64(*m))
}

func (*MemoryFlag) Type() string { return "size" }
