package training

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/internal/files"
	"proactivedp/train/pool"
)

// trials says how proxies and trainings run. Finished ones are kept in the folder dir, unless it is "".
func trials(cmd *cobra.Command, where *cli.DataFlags, workers int, dir string) pool.Options {
	o := pool.Options{Workers: workers, Progress: cmd.ErrOrStderr(), Memory: int64(where.Memory)}
	if dir != "" {
		o.Folder = filepath.Join(dir, pool.Folder)
	}
	return o
}

// inFolder does work that keeps finished trainings in the folder dir, unless it is "". It locks the folder meanwhile.
func inFolder(dir string, work func() error) error {
	if dir == "" {
		return work()
	}
	return files.InFolder(dir, work)
}
