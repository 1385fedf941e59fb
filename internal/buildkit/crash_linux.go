package buildkit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	// runningName is the file in the state directory that is there while an engine runs. It holds the
	// number of the system's boot.
	runningName = "running"
	bootIDFile  = "/proc/sys/kernel/random/boot_id"
)

// stateNames are the patterns of what an engine keeps in its state directory besides lock and mark.
var stateNames = []string{"cache.db*", "history.db*", "runc-*"}

// markRunning drops the cache if the machine went down while an engine used it, and leaves a mark by which
// the next engine would see the same of this one. The state's lock must be held.
//
// Layers are never forced to the disk, and the index of layers and blobs not before Close: forcing each
// change would take most of the time of a small build. A killed process loses nothing by that, but after
// a power cut the cache could hold empty files that look complete, so it is not believed.
func markRunning(root string, logf func(string, ...any)) (unmark func() error, err error) {
	boot, err := readShort(bootIDFile)
	if err != nil {
		return nil, fmt.Errorf("mark build state: %w", err)
	}
	name := filepath.Join(root, runningName)
	switch last, err := readShort(name); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("mark build state: %w", err)
	case last != boot:
		logf("dropping the build cache in %s: the machine went down while it was in use", root)
		if err := dropCache(root); err != nil {
			return nil, fmt.Errorf("drop build cache: %w", err)
		}
	}
	if err := writeDurably(name, boot); err != nil {
		return nil, fmt.Errorf("mark build state: %w", err)
	}
	return func() error { return os.Remove(name) }, nil
}

// dropCache removes what engines keep below root and nothing else.
func dropCache(root string) error {
	for _, pattern := range stateNames {
		names, err := fs.Glob(os.DirFS(root), pattern)
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := os.RemoveAll(filepath.Join(root, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// readShort reads the first maxShortBytes of a file, without the space around them.
func readShort(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxShortBytes))
	return strings.TrimSpace(string(b)), err
}

// writeDurably writes a line to a file, and has both it and its name on the disk when it returns.
func writeDurably(name, line string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
