package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/data"
	"proactivedp/data/fetch"
	"proactivedp/data/synth"
	"proactivedp/internal/decimal"
	"proactivedp/internal/message"
)

func newData() *cobra.Command {
	var where cli.DataFlags
	cmd := &cobra.Command{
		Use:   "data",
		Short: "List, fetch and verify the data sets",
		Args:  cli.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	list := &cobra.Command{
		Use:     "list",
		Short:   "List the data sets and where they come from",
		Example: "  proactivedp data list",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return listData(cmd.OutOrStdout())
		},
	}
	fetchCmd := &cobra.Command{
		Use:               "fetch [name…]",
		Short:             "Download data sets into the cache and verify them; without a name, all of them",
		Example:           "  proactivedp data fetch mnist",
		ValidArgsFunction: cli.Arguments(cli.PublishedNames),
		RunE: func(cmd *cobra.Command, names []string) error {
			return each(cmd, names, fetch.Locator{Progress: cmd.ErrOrStderr()})
		},
	}
	verify := &cobra.Command{
		Use:               "verify [name…]",
		Short:             "Verify data sets without downloading them; without a name, all published ones",
		Example:           "  proactivedp data verify --data-dir DIR\n  proactivedp data verify synth-mnist:7000",
		ValidArgsFunction: cli.Arguments(cli.AllDataNames),
		RunE: func(cmd *cobra.Command, names []string) error {
			l := where.Locator(cmd)
			l.Offline = true
			return each(cmd, names, l)
		},
	}
	where.Add(verify)
	cmd.AddCommand(list, fetchCmd, verify)
	return cmd
}

// each describes where the named data sets were found. Without names it describes all published
// ones. It reports every failure.
func each(cmd *cobra.Command, names []string, l fetch.Locator) error {
	if len(names) == 0 {
		names = cli.PublishedNames()
	}
	var errs []error
	for _, name := range names {
		if synth.Is(name) {
			errs = append(errs, cli.Usage(synth.Check(name)))
		} else if !slices.Contains(cli.PublishedNames(), name) {
			errs = append(errs, cli.Usage(fmt.Errorf("data set = %q, must be one of %s%s", name,
				strings.Join(cli.AllDataNames(), ", "), message.Meant(name, cli.AllDataNames()))))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, name := range names {
		d, err := cli.Obtain(cmd.Context(), name, 0, &cli.OwnFlags{}, l)
		if err == nil {
			err = describe(cmd.OutOrStdout(), d)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func describe(w io.Writer, d *data.Dataset) error {
	text := fmt.Sprintf("%-17s %s", d.Name, decimal.Many(d.Len(), "row"))
	if d.Train > 0 {
		text += fmt.Sprintf(", %d of them for training", d.Train)
	}
	text += fmt.Sprintf(", %s, labels %v, content sha256 %s", d.Shape(), d.All().ClassCounts(), d.Hash())
	if d.Synthetic {
		text += " (SYNTHETIC)"
	}
	if d.Note != "" {
		text += "; " + d.Note
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

func listData(w io.Writer) error {
	for _, p := range cli.Catalogue() {
		if _, err := fmt.Fprintf(w, "%s: %s\n", p.Name, strings.Join(p.About, "\n  ")); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w,
		"synthetic stand-ins, by name only: %s\nthose of images with a number of rows, too, as synth-mnist:7000\n",
		strings.Join(synth.Names(), ", "))
	return err
}
