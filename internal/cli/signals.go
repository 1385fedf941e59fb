package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Stoppable gives a context that ends when a person or the system asks the program to stop, by SIGINT, SIGTERM or
// SIGHUP. A SIGHUP that the program was started to ignore, as nohup does, stays ignored. The second signal ends the
// program at once.
func Stoppable(parent context.Context) (ctx context.Context, release func()) {
	wanted := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		wanted = append(wanted, syscall.SIGHUP)
	}
	ctx, release = signal.NotifyContext(parent, wanted...)
	// The first process of a namespace does not die of signals: there, whoever started it has to end it.
	if os.Getpid() != 1 {
		context.AfterFunc(ctx, release)
	}
	return ctx, release
}
