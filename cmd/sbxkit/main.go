// Command sbxkit builds, checks and publishes Docker Sandbox Kits (v3). One file a verb; each parses its
// flags, calls the library and prints.
package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/sbxkit/sbxkit/internal/cli"
)

func main() {
	ctx, release := cli.Stoppable(context.Background())
	status := cli.Run(ctx, newRoot(), os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	release()
	os.Exit(status) // the only exit in the program
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "sbxkit",
		Short: "Build, check and publish Docker Sandbox Kits (v3)",
		Long: `sbxkit builds, checks and publishes Docker Sandbox Kits (v3).

A kit is one OCI image whose manifest carries a descriptor: what it offers, what it needs
from the host, what it needs from other kits. A workload is a root file system, a mixin is
an overlay that lands on one.`,
		Example: `  sbxkit validate kits/deepagents
  sbxkit build kits/deepagents -t deepagents:0.7.21 --platform linux/amd64,linux/arm64 \
      --output type=oci,dest=out,tar=false
  kit-tck validate --layout out 0.7.21`,
	}
	root.AddCommand(newValidate(), newBuild(), newVersion())
	return root
}
