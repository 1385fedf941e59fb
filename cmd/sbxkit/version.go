package main

import (
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/sbxkit/sbxkit/internal/cli"
	"github.com/sbxkit/sbxkit/internal/version"
)

// versionJSON is the shape of `version --format json`.
type versionJSON struct {
	Version       string `json:"version"`
	Commit        string `json:"commit,omitempty"`
	Specification string `json:"specification"`
	Go            string `json:"go"`
	Platform      string `json:"platform"`
}

func newVersion() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, and the revision of the kit specification that it speaks",
		Args:  cli.Operands(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			name, revision := version.Read()
			info := versionJSON{name, revision, version.Specification, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			out := cmd.OutOrStdout()
			switch format {
			case "text":
				text := fmt.Sprintf("sbxkit %s\n", info.Version)
				if info.Commit != "" {
					text += fmt.Sprintf("commit: %s\n", info.Commit)
				}
				_, err := fmt.Fprintf(out, "%skit specification: %s\nbuilt with %s for %s\n", text, info.Specification, info.Go, info.Platform)
				return err
			case "json":
				enc := json.NewEncoder(out)
				enc.SetIndent("", "  ")
				return enc.Encode(info)
			}
			return cli.Usagef("--format %q: want text or json", format)
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "answer as `FORM`: text or json")
	return cmd
}
