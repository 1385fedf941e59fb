package buildkit

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/moby/buildkit/executor"
	resourcestypes "github.com/moby/buildkit/executor/resources/types"
	"github.com/moby/buildkit/identity"
)

// runtimeNames are the OCI runtimes that BuildKit's executor can drive, in order of preference.
var runtimeNames = []string{"buildkit-runc", "runc"}

// findRuntime looks for an OCI runtime on PATH. If there is none, the error says what to install.
func findRuntime() (string, error) {
	for _, name := range runtimeNames {
		if p, err := exec.LookPath(name); err == nil {
			return filepath.Abs(p)
		}
	}
	hint := "install it (Debian, Ubuntu: apt-get install runc; Fedora: dnf install runc; Alpine: apk add runc)"
	if p, err := exec.LookPath("crun"); err == nil {
		return "", fmt.Errorf("%w: %s cannot take its place, because it does not know the option --keep; %s", ErrNoRuntime, p, hint)
	}
	return "", fmt.Errorf("%w: %s", ErrNoRuntime, hint)
}

// containers runs RUN steps and knows how many are running, so that Close can wait for their end:
// BuildKit's own shutdown does not.
type containers struct {
	executor.Executor
	runtime string // path of the OCI runtime
	missing error  // why nothing can be run, or nil

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// enter counts one more running process, unless none can be run.
func (c *containers) enter() error {
	if c.missing != nil {
		return c.missing
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errors.New("the builder is shutting down")
	}
	c.running.Add(1)
	return nil
}

// Run implements executor.Executor.
func (c *containers) Run(ctx context.Context, id string, root executor.Mount, mounts []executor.Mount, p executor.ProcessInfo, started chan<- struct{}) (resourcestypes.Recorder, error) {
	if err := c.enter(); err != nil {
		if started != nil {
			close(started)
		}
		return nil, err
	}
	defer c.running.Done()
	if id == "" {
		id = identity.NewID()
	}
	rec, err := c.Executor.Run(ctx, id, root, mounts, p, started)
	if err != nil {
		// When the one attempt to kill a cancelled step's container fails, the executor gives up on it.
		deleteContainer(context.WithoutCancel(ctx), c.runtime, id)
	}
	return rec, err
}

// Exec implements executor.Executor.
func (c *containers) Exec(ctx context.Context, id string, p executor.ProcessInfo) error {
	if err := c.enter(); err != nil {
		return err
	}
	defer c.running.Done()
	return c.Executor.Exec(ctx, id, p)
}

// deleteTimeout bounds the removal of one container.
const deleteTimeout = 10 * time.Second

// deleteContainer ends a container and removes its traces. It is not an error that there is none: that
// is the aim.
func deleteContainer(ctx context.Context, runtime, id string) {
	ctx, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	_ = exec.CommandContext(ctx, runtime, "delete", "--force", id).Run()
}

// wait returns when no container runs; none can start any more. The builds must have been cancelled.
func (c *containers) wait() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.running.Wait()
}
