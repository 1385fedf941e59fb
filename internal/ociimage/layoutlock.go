package ociimage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// lock waits for the other writers of the layout's own files. The lock file is removed by its last holder, which
// is safe because whoever gets the lock makes sure that it is the file still standing there.
func (l *Layout) lock(ctx context.Context) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	path := l.path(lockName)
	for {
		f := flock.New(path, flock.SetPermissions(0o644))
		locked, err := f.TryLockContext(ctx, 5*time.Millisecond)
		if errors.Is(err, context.DeadlineExceeded) {
			return nil, fmt.Errorf("lock %s: another process holds it", path)
		}
		if err != nil || !locked {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		mine, err := f.Stat()
		if err == nil {
			var now os.FileInfo
			if now, err = os.Stat(path); err == nil && os.SameFile(mine, now) {
				return func() {
					os.Remove(path)
					f.Unlock()
				}, nil
			}
		}
		f.Unlock()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
	}
}

// lockMaking is lock for a directory that need not be there: another writer that has written nothing takes the
// empty directory away when it is closed, at any moment before the lock's file is in it.
func (l *Layout) lockMaking(ctx context.Context) (unlock func(), err error) {
	const attempts = 100 // each lost to another writer that ended just then
	for range attempts {
		if err = l.mkdirAll(l.Dir); err == nil {
			unlock, err = l.lock(ctx)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return unlock, err
}

// mkdirAll makes a folder and its parents, and remembers which were not there before.
func (l *Layout) mkdirAll(dir string) error {
	if fi, err := os.Stat(dir); err == nil && fi.IsDir() {
		return nil
	}
	if parent := filepath.Dir(dir); parent != dir {
		if err := l.mkdirAll(parent); err != nil {
			return err
		}
	}
	err := os.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrExist) {
		// Made by another writer just now, or it is no folder, which whoever uses it will hear.
		return nil
	}
	if err == nil {
		l.mu.Lock()
		l.made = append(l.made, dir)
		l.mu.Unlock()
	}
	return err
}

// removeMade removes the folders that this Layout made, those that hold something excepted.
func (l *Layout) removeMade() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, dir := range slices.Backward(l.made) {
		_ = os.Remove(dir) // which refuses to remove what is not empty
	}
	l.made = nil
}

const aliveName = "lock" // in an ingest folder: locked as long as its process lives

// beginIngest counts a writer and gives it a path of its own to write to. The folder is made under the layout's
// lock, so that removeStale never sees it between its creation and its own lock.
func (l *Layout) beginIngest(ctx context.Context) (string, error) {
	if path := l.joinIngest(); path != "" {
		return path, nil
	}
	unlock, err := l.lockMaking(ctx) // before mu, as in Tag
	if err != nil {
		return "", err
	}
	defer unlock()
	if path := l.joinIngest(); path != "" {
		return path, nil
	}
	dir, err := os.MkdirTemp(l.Dir, ingestPrefix+"*")
	if err != nil {
		return "", err
	}
	alive := flock.New(filepath.Join(dir, aliveName))
	if locked, err := alive.TryLock(); err != nil || !locked {
		_ = os.RemoveAll(dir)
		return "", fmt.Errorf("lock %s: %w", dir, err)
	}
	l.mu.Lock()
	l.ingest, l.alive = dir, alive
	l.mu.Unlock()
	return l.joinIngest(), nil
}

// joinIngest is beginIngest where there is a folder already; empty where there is none.
func (l *Layout) joinIngest() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ingest == "" {
		return ""
	}
	l.open++
	l.begun++
	return filepath.Join(l.ingest, fmt.Sprintf("blob-%d", l.begun))
}

func (l *Layout) closeWriter() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
}

// endIngest removes the folder unless a writer still uses it. The layout's lock is held.
func (l *Layout) endIngest() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ingest == "" || l.open > 0 {
		return nil
	}
	err := os.RemoveAll(l.ingest)
	l.alive.Unlock()
	l.ingest, l.alive = "", nil
	return err
}

// removeStale removes what processes left that are gone. The layout's lock is held. What cannot be removed, say
// for want of permission, stays: it harms nobody.
func (l *Layout) removeStale() error {
	for _, name := range []string{ocispec.ImageLayoutFile, ocispec.ImageIndexFile} {
		_ = os.Remove(l.path(temporary(name)))
	}
	entries, err := os.ReadDir(l.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), ingestPrefix) {
			continue
		}
		alive := flock.New(l.path(e.Name(), aliveName))
		if locked, err := alive.TryLock(); err != nil || !locked {
			continue
		}
		_ = os.RemoveAll(l.path(e.Name()))
		alive.Unlock()
	}
	return nil
}
