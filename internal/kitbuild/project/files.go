package project

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// Files reads the files of one place, by slash path relative to its top.
type Files interface {
	// ReadFile reads one regular file of at most limit bytes. An absent file is fs.ErrNotExist, a larger
	// one ErrTooLarge. A link that leads to nothing is neither.
	ReadFile(ctx context.Context, name string, limit int64) ([]byte, error)
}

// Lister is an optional ability of Files: naming what is in a folder. Without it some advice is not given.
type Lister interface {
	// List gives, sorted, the names in a folder that match one of the patterns, which are those of
	// path.Match. Of a folder of more than MaxFolderEntries it may miss some.
	List(ctx context.Context, dir string, patterns ...string) ([]string, error)
}

// ErrTooLarge says that a file is over the bound that its kind has.
var ErrTooLarge = errors.New("file is too large")

var (
	errNotRegular = errors.New("not a regular file")
	errLink       = errors.New("the link leads to nothing, or out of the folder: put the file itself there")
)

// Dir is a folder on disk. A path or link that leads out of it is refused.
type Dir string

var (
	_ Files  = Dir("")
	_ Lister = Dir("")
)

// ReadFile implements Files.
func (d Dir) ReadFile(ctx context.Context, name string, limit int64) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(string(d))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	local := filepath.FromSlash(name)
	// Looked at before it is opened: opening a pipe would wait for somebody to write into it.
	info, err := root.Stat(local)
	if err != nil {
		if link, lerr := root.Lstat(local); lerr == nil && link.Mode()&fs.ModeSymlink != 0 && !errors.Is(err, fs.ErrPermission) {
			return nil, fmt.Errorf("%s: %w", name, errLink) // not absent: somebody meant a file to be here
		}
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w", name, errNotRegular)
	}
	f, err := root.Open(local)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s: %w: more than %d bytes", name, ErrTooLarge, limit)
	}
	return data, nil
}

// List implements Lister.
func (d Dir) List(ctx context.Context, dir string, patterns ...string) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(string(d))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.Open(filepath.FromSlash(dir))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(MaxFolderEntries)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return Matching(names, patterns), nil
}

// Matching gives, sorted, the names that match one of the patterns, for implementations of Lister.
func Matching(names, patterns []string) []string {
	var out []string
	for _, name := range names {
		if slices.ContainsFunc(patterns, func(p string) bool { ok, _ := path.Match(p, name); return ok }) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
