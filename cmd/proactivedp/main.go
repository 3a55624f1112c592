// Command proactivedp plans private training before it runs, and simulates asynchronous DP-SGD to
// show the effect of a plan.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"proactivedp/answer"
	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/cmd/proactivedp/internal/machines"
	"proactivedp/cmd/proactivedp/internal/privacy"
	"proactivedp/cmd/proactivedp/internal/training"
	"proactivedp/internal/f32"
	"proactivedp/internal/message"
	_ "proactivedp/internal/openfiles" // looks before anything is opened
	"proactivedp/internal/report"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() {
		// The first signal asks the command to stop. If it does not stop soon, for
		// example because a file does not open or a gradient takes long, the process
		// ends. Files are then as after a kill: each is whole or missing. The next
		// signal ends the process at once.
		stop()
		time.AfterFunc(graceTime, func() {
			said := make(chan bool)
			go func() {
				fmt.Fprintln(os.Stderr, "proactivedp: interrupted; what was under way did not stop and is given up, "+
					"files are as they were last written")
				close(said)
			}()
			select {
			case <-said:
			case <-time.After(100 * time.Millisecond): // nobody reads stderr, so do not wait longer
			}
			os.Exit(exitFailure)
		})
	})
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// graceTime is how long the work under way may continue after the first signal.
const graceTime = 1800 * time.Millisecond

// These are the exit statuses of the program, besides 0 for success.
const (
	exitOK      = 0
	exitFailure = 1 // the request was understood and could not be carried out
	exitUsage   = 2 // the request itself is wrong
	exitAudit   = 3 // an audit found the mechanism broken, or not the fault that was planted
)

// run runs the whole program, apart from ending the process. It returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	asked := os.Getenv(report.ProgressEnv)
	if err := report.CheckProgress(asked); err != nil {
		fmt.Fprintf(stderr, "proactivedp: %v\n", err)
		return exitUsage
	}
	screen := report.NewScreen(stderr, asked != "")
	defer screen.Watch()()
	return runOn(ctx, args, &checkedWriter{w: stdout, screen: screen}, screen)
}

// runOn is run with a screen for stderr.
func runOn(ctx context.Context, args []string, out *checkedWriter, stderr *report.Screen) int {
	root := newRoot()
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		if err := addCompletions(root); err != nil {
			panic(err) // only a flag that is registered twice fails here
		}
	}
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(stderr)
	cmd, err := cli.CheckArguments(root, args)
	if err == nil {
		cmd, err = cli.CheckTwice(root, args)
	}
	if err == nil {
		cmd, err = root.ExecuteContextC(ctx)
	}
	if err == nil && out.err != nil { // the help ignores errors of writing
		err = fmt.Errorf("stdout: %w", out.err)
	}
	if err == nil {
		return exitOK
	}
	text := message.Of(err)
	_, usage := errors.AsType[cli.UsageError](err)
	if usage {
		text = cli.InFlags(cmd, text)
	}
	kind := answer.NewProblem(ctx, err).Kind
	if !usage && kind == answer.Wrong {
		kind = "failed"
	}
	stderr.Error(text, kind) // if this fails, the exit status still says it
	if usage {
		fmt.Fprintf(stderr, "See %s --help.\n", cmd.CommandPath())
		return exitUsage
	}
	if text := hint(cmd, err, ctx.Err() != nil); text != "" {
		fmt.Fprintf(stderr, "proactivedp: %s\n", text)
	}
	return statusOf(err)
}

// statusOf returns the exit status for an error of a request that was valid.
func statusOf(err error) int {
	for _, found := range []error{privacy.ErrViolated, privacy.ErrBroken, privacy.ErrNotFound} {
		if errors.Is(err, found) {
			return exitAudit
		}
	}
	return exitFailure
}

// waiting lists the commands that wait for other processes. They print themselves what they wait for.
var waiting = []string{"serve", "ask", "host", "join", "worker", "status"}

// checkedWriter remembers the first error of writing. Before each write it removes the line by which screen
// shows on stderr that the command works, because both may go to the same terminal.
type checkedWriter struct {
	w      io.Writer
	err    error
	screen *report.Screen
}

func (c *checkedWriter) Write(p []byte) (int, error) {
	c.screen.Clear()
	n, err := c.w.Write(p)
	if c.err == nil {
		c.err = err
	}
	return n, err
}

func newRoot() *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:   "proactivedp",
		Short: "Plan private training before it runs, and simulate it",
		Long: `ProactiveDP computes, before you train, which noise, batch size and number of steps
meet a privacy budget (ε, δ), and trains the private model. It also accounts for trainings
that ran elsewhere, audits them, and simulates asynchronous DP-SGD.

Results go to stdout and everything else to stderr; with PROACTIVEDP_PROGRESS=json,
stderr is JSON for programs. The exit status is 0 on success, 1 if the request could not
be carried out, 2 if the request is wrong, and 3 if an audit found the mechanism broken,
or did not find a planted fault.`,
		Example: `  proactivedp plan --n 50000 --epochs 20 --target-epsilon 3 --delta 1e-6
  proactivedp account --n 50000 --batch-size 512 --epochs 20 --noise-multiplier 1.1 --delta 1e-6
  proactivedp train --data phishing --clients 1 --target-epsilon 1 --delta 1e-5`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				return newBuild().WriteText(cmd.OutOrStdout())
			}
			return cmd.Help()
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if screen, ok := cmd.ErrOrStderr().(*report.Screen); ok && !slices.Contains(waiting, cmd.Name()) {
				screen.Begin(cmd.CommandPath())
			}
			return cli.Usage(errors.Join(f32.EnvironmentErr(), cli.CheckTexts(cmd), cli.CheckFiles(cmd)))
		},
	}
	root.SetFlagErrorFunc(cli.FlagError)
	root.Flags().BoolVar(&version, "version", false,
		"print version, revision, Go and kernels, as the command version does")
	for _, commands := range [][]*cobra.Command{
		privacy.Commands(), training.Commands(), machines.Commands(),
		{newPage(), newServe(), newReport(), newData(), newVersion(), newMan()},
	} {
		root.AddCommand(commands...)
	}
	root.SetGlobalNormalizationFunc(cli.FieldName)
	addHelpAll(root)
	root.SetUsageFunc(writeUsage)
	refuseUnknown(root)
	groupCommands(root)
	return root
}
