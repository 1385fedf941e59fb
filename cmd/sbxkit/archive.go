package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gofrs/flock"

	"github.com/sbxkit/sbxkit/internal/cli"
)

// scratchPattern names unfinished archives, beside the finished ones: only there can a rename put them in place.
// The name is never longer than others that the folder can hold.
const scratchPattern = ".sbxkit-archive-*"

// archivePlace is where an archive goes.
type archivePlace struct {
	path string // with links followed
	// stream says that something other than a file is there, such as a pipe or a device. It is written
	// to as it comes; a file put in its place would break whoever counts on it.
	stream bool
}

// placeOf looks at a destination, before a build so that its result does not go nowhere.
func placeOf(dest string) (archivePlace, error) {
	info, err := os.Stat(dest)
	switch {
	case err == nil && info.IsDir():
		return archivePlace{}, cli.Usagef("--output: %s is a directory: name a file in it, or write a layout with tar=false", dest)
	case err == nil && !info.Mode().IsRegular():
		return archivePlace{path: dest, stream: true}, nil
	case err == nil:
		path, err := filepath.EvalSymlinks(dest)
		return archivePlace{path: path}, err
	case !errors.Is(err, fs.ErrNotExist):
		return archivePlace{}, err
	}
	if _, err := os.Lstat(dest); err == nil {
		return archivePlace{}, fmt.Errorf("%s is a link that leads to nothing", dest)
	}
	parent, err := os.Stat(filepath.Dir(dest))
	if err != nil {
		return archivePlace{}, fmt.Errorf("the folder of %s: %w", dest, err)
	}
	if !parent.IsDir() {
		return archivePlace{}, fmt.Errorf("the folder of %s: %w", dest, syscall.ENOTDIR)
	}
	return archivePlace{path: dest}, nil
}

// toFile writes an archive so that its name never holds half of one.
func (j *buildJob) toFile(dest string, write func(io.Writer) error) (err error) {
	if dest == "-" {
		return write(j.stdout)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s: %w", dest, err)
		}
	}()
	place, err := placeOf(dest)
	if err != nil {
		return err
	}
	if place.stream {
		// A pipe that nobody reads is an error at once, not a wait without end.
		f, err := os.OpenFile(place.path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	dir := filepath.Dir(place.path)
	removeScratch(dir)
	f, alive, err := newScratch(dir)
	if err != nil {
		return err
	}
	defer alive.Unlock()
	if err := fill(f, write); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if err := os.Rename(f.Name(), place.path); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// fill writes the whole of a file to the disk.
func fill(f *os.File, write func(io.Writer) error) error {
	err := write(f)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// newScratch makes an unfinished archive whose lock tells others that its process lives.
func newScratch(dir string) (*os.File, *flock.Flock, error) {
	const tries = 10
	for range tries {
		f, err := os.CreateTemp(dir, scratchPattern)
		if err != nil {
			return nil, nil, err
		}
		alive := flock.New(f.Name())
		locked, err := alive.TryLock()
		if err != nil { // a file system without locks; nobody else can lock and remove the file either
			return f, alive, nil
		}
		mine, err := f.Stat()
		if now, nowErr := os.Stat(f.Name()); locked && err == nil && nowErr == nil && os.SameFile(mine, now) {
			return f, alive, nil
		}
		// Another process took it for a dead one's before it was locked.
		os.Remove(f.Name())
		alive.Unlock()
		f.Close()
	}
	return nil, nil, errors.New("other processes keep removing the unfinished file")
}

// removeScratch removes what processes left that were killed. What cannot be removed harms nobody.
func removeScratch(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if ours, err := filepath.Match(scratchPattern, e.Name()); err != nil || !ours || !e.Type().IsRegular() {
			continue
		}
		name := filepath.Join(dir, e.Name())
		alive := flock.New(name, flock.SetFlag(os.O_RDONLY))
		if locked, err := alive.TryLock(); err != nil || !locked {
			continue
		}
		os.Remove(name)
		alive.Unlock()
	}
}
