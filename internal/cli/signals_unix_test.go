//go:build unix

package cli

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// heed makes the program forget that it was started to ignore a signal, as tests are below nohup.
func heed(s os.Signal) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, s)
	signal.Stop(c)
}

func TestStoppable(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		heed(s)
		ctx, release := Stoppable(t.Context())
		if err := syscall.Kill(os.Getpid(), s); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Minute): // only so that a fault does not hang the run
			t.Fatalf("%s does not stop the program", s)
		}
		if cause := context.Cause(ctx); !strings.Contains(cause.Error(), s.String()) {
			t.Errorf("%s: the cause is %v", s, cause)
		}
		release()
	}
}

func TestStoppableKeepsIgnoredSignals(t *testing.T) {
	signal.Ignore(syscall.SIGHUP)
	defer heed(syscall.SIGHUP) // Reset alone does not make the runtime forget that it is ignored
	ctx, release := Stoppable(t.Context())
	defer release()
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if !signal.Ignored(syscall.SIGHUP) || ctx.Err() != nil {
		t.Errorf("ignored %t, context %v", signal.Ignored(syscall.SIGHUP), ctx.Err())
	}
}
