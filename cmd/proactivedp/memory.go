package main

import (
	"github.com/spf13/cobra"

	"proactivedp/internal/memory"
)

// memoryFlag is the most memory that a command may take, in bytes; 0: as the system
// says.
type memoryFlag int64

// add gives cmd the flag --memory.
func (m *memoryFlag) add(cmd *cobra.Command) {
	cmd.Flags().
		Var(m, "memory", "refuse what is estimated to take more memory, such as 4GiB "+
			"(default: the machine's, the control group's or GOMEMLIMIT, whichever is least)")
}

// Set reads a size such as 512MiB.
func (m *memoryFlag) Set(text string) error {
	n, err := memory.Parse(text)
	if err == nil {
		*m = memoryFlag(n)
	}
	return err
}

// String is the size as it may be given.
func (m *memoryFlag) String() string {
	if *m == 0 {
		return ""
	}
	return memory.Text(int64(*m))
}

// Type is the word for the value in the help.
func (*memoryFlag) Type() string { return "size" }
