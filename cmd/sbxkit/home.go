package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// cacheDir is where what can be made again is kept: deleting it costs time, nothing else.
// $SBXKIT_HOME/cache, else /var/cache/sbxkit for root, else the user's own cache folder.
func cacheDir() (string, error) {
	if home := os.Getenv("SBXKIT_HOME"); home != "" {
		return filepath.Join(home, "cache"), nil
	}
	if os.Geteuid() == 0 {
		return "/var/cache/sbxkit", nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", errors.New("no place for caches: set SBXKIT_HOME")
	}
	return filepath.Join(dir, "sbxkit"), nil
}

// exportPrefix begins the folders in which images wait for their way to an archive or a registry.
const exportPrefix = "layout-"

// joinExports removes what killed processes left in the folder of exports, if nobody uses it, and holds it in
// use until the function that it returns is called.
func joinExports(ctx context.Context, dir string) (done func() error, err error) {
	users := flock.New(filepath.Join(dir, "lock"))
	if alone, err := users.TryLock(); err != nil {
		return nil, err
	} else if alone {
		entries, err := os.ReadDir(dir)
		for _, e := range entries {
			if e.IsDir() && strings.HasPrefix(e.Name(), exportPrefix) {
				err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
			}
		}
		if err = errors.Join(err, users.Unlock()); err != nil {
			return nil, err
		}
	}
	if _, err := users.TryRLockContext(ctx, 10*time.Millisecond); err != nil {
		return nil, err
	}
	return users.Unlock, nil
}
