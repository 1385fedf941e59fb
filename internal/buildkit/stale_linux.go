package buildkit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// removeStale clears away what an engine left below the worker's directory when it was killed: its
// containers, their directories and, if it was not isolated, its mounts. The state's lock must be held:
// it proves that nobody uses them.
func removeStale(ctx context.Context, workerRoot, runtime string) error {
	executorRoot := filepath.Join(workerRoot, "executor")
	entries, err := os.ReadDir(executorRoot)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("look for stale containers: %w", err)
	}
	var bundles []string
	for _, e := range entries {
		if !e.IsDir() && strings.HasPrefix(e.Name(), "hosts.") { // of one container's step
			if err := os.Remove(filepath.Join(executorRoot, e.Name())); err != nil {
				return fmt.Errorf("remove stale container: %w", err)
			}
		}
		if e.IsDir() && e.Name() != "hosts" && e.Name() != "resolv.conf" {
			bundles = append(bundles, filepath.Join(executorRoot, e.Name()))
		}
	}
	if runtime != "" {
		for _, b := range bundles {
			deleteContainer(ctx, runtime, filepath.Base(b))
		}
	}

	mounts, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) {
		return !strings.HasPrefix(m.Mountpoint, workerRoot+"/"), false
	})
	if err != nil {
		return fmt.Errorf("look for stale mounts: %w", err)
	}
	for i := len(mounts) - 1; i >= 0; i-- { // the last may lie on an earlier one
		if err := unix.Unmount(mounts[i].Mountpoint, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("remove stale mount %s: %w", mounts[i].Mountpoint, err)
		}
	}
	for _, b := range bundles { // only now: what was mounted there is cache
		if err := os.RemoveAll(b); err != nil {
			return fmt.Errorf("remove stale container: %w", err)
		}
	}
	return nil
}
