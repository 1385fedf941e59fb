package buildkit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gofrs/flock"
)

const (
	lockName = "lock"
	// lockPoll is how often a waiting engine tries again; the kernel offers no wait that a context can end.
	lockPoll = 50 * time.Millisecond
	// maxShortBytes bounds what is read from a file that holds a process's or a boot's number.
	maxShortBytes = 64
)

// openState creates the state directory and takes its lock, waiting as long as ctx allows. A directory that
// exists keeps its mode, whoever chose it; what is made inside is closed to others.
// It returns the directory's absolute path without symbolic links.
func openState(ctx context.Context, root string, logf func(string, ...any)) (string, *flock.Flock, error) {
	if root == "" {
		return "", nil, errors.New("open build state: no directory given")
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return "", nil, fmt.Errorf("open build state: %w", err)
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return "", nil, fmt.Errorf("open build state: %w", err)
	}
	// Mounts are listed by their real paths, and stale ones are found by this one.
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return "", nil, fmt.Errorf("open build state: %w", err)
	}
	name := filepath.Join(root, lockName)
	lock := flock.New(name, flock.SetPermissions(0o600))
	ok, err := lock.TryLock()
	if err == nil && !ok {
		logf("waiting for %s: in use by %s", root, lockHolder(name))
		ok, err = lock.TryLockContext(ctx, lockPoll)
	}
	if err == nil && !ok {
		err = errors.New("not granted")
	}
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("lock build state %s: %w", root, err), lock.Close())
	}
	// Only for the message above; whoever waits can do without.
	_ = os.WriteFile(name, []byte(strconv.Itoa(hostPID())+"\n"), 0o600)
	return root, lock, nil
}

// lockHolder describes who holds a lock, as far as the lock file tells.
func lockHolder(name string) string {
	const unknown = "another process"
	line, err := readShort(name)
	if err != nil {
		return unknown
	}
	pid, err := strconv.Atoi(line)
	switch {
	case err != nil || pid <= 0:
		return unknown
	case pid == hostPID():
		return "this process"
	}
	return fmt.Sprintf("process %d", pid)
}
