// Command mkbase makes a base image from distribution packages, for a machine that reaches no registry:
//
//	go run ./internal/dev/mkbase -o .cache/base
//
// It writes an OCI layout with one image, tagged "latest", for the machine's own architecture. The image
// holds what kits/shell asks of its base, so that this kit builds from it without a network:
//
//	sbxkit build kits/shell -f kits/shell/shell.yaml --build-context debian:12-slim=oci-layout://.cache/base:latest
//
// The packages come from where apt on this machine gets them, through mmdebstrap, as root. Nothing in the
// image tells where that was: package sources, logs and caches are left out, and an image whose own
// settings name a mirror or proxy of this machine is refused.
//
// A layout that was made from the same list of packages is kept as it is; delete it for newer packages.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	release()
	if err != nil {
		fmt.Fprintf(os.Stderr, "mkbase: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("mkbase", flag.ContinueOnError)
	out := flags.String("o", ".cache/base", "write the OCI layout to `DIR`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	src, err := readSources(ctx)
	if err != nil {
		return err
	}
	return build(ctx, *out, src)
}
