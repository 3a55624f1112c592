//go:build unix

package trainer

import (
	"os/exec"
	"syscall"
)

// inGroup puts the command and the processes that it starts into a group, which ends with the context.
func inGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// endGroup ends the processes that are left of the group. At least one of them must be left: it keeps
// the number of the group from being used again.
func endGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
