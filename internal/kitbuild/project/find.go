package project

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// MaxFolderEntries bounds how many names of a folder are looked at in the search for a descriptor.
const MaxFolderEntries = 2000

// peekSize is how much of a file is looked at to tell whether it is a descriptor.
const peekSize = 64 << 10

// ErrNoDescriptor says that a folder holds nothing that looks like a kit descriptor.
var ErrNoDescriptor = errors.New("no kit descriptor here")

// AmbiguousError says that a folder holds several descriptors and nobody said which is meant.
type AmbiguousError struct {
	Dir   string
	Names []string // sorted
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%s holds several kit descriptors: %s: name one of them", e.Dir, strings.Join(e.Names, ", "))
}

// Load opens the kit at a path on disk: file, or if that is empty the one descriptor of the folder dir.
// dir may name the descriptor itself.
func Load(ctx context.Context, dir, file string) (*Project, error) {
	at, err := Locate(dir, file)
	if err != nil {
		return nil, err
	}
	return Open(ctx, Dir(filepath.Dir(at)), filepath.Base(at), at)
}

// Locate finds the descriptor without reading more of it than telling it apart takes.
func Locate(dir, file string) (string, error) {
	at := file
	if at == "" {
		at = dir
	}
	info, err := os.Stat(at)
	if err != nil {
		return "", fmt.Errorf("find descriptor: %w", err)
	}
	if !info.IsDir() {
		return at, nil
	}
	name, err := search(at)
	if err != nil {
		return "", err
	}
	return filepath.Join(at, name), nil
}

var (
	marksDescriptor = regexp.MustCompile(`(?m)^(?:schemaVersion|"schemaVersion"|'schemaVersion')[ \t]*:`)
	olderVersion    = regexp.MustCompile(`(?m)^schemaVersion:[ \t]*["']?[12]["']?[ \t]*(?:#.*)?\r?$`)
	marksComment    = regexp.MustCompile(`(?m)^# kit:[ \t]*\r?$`)
	marksDispatch   = regexp.MustCompile(`\A(?:\x{FEFF})?#[ \t]*syntax[ \t]*=[ \t]*\S*sandbox-kit`)
)

// search tells the descriptor of a folder from other YAML files by its schemaVersion or its dispatch
// line. One of an earlier format counts only where there is no other, so that a kit may keep both. A
// lone YAML file counts whatever it says, so that its author learns what is missing. A recipe counts when
// it has a descriptor in a comment, unless it is the recipe of a descriptor beside it.
func search(dir string) (string, error) {
	names, recipes, err := candidates(dir)
	if err != nil {
		return "", fmt.Errorf("find descriptor: %w", err)
	}
	var marked, older []string
	for _, name := range names {
		head, err := peek(filepath.Join(dir, name))
		if err != nil {
			return "", fmt.Errorf("find descriptor: %w", err)
		}
		switch {
		case olderVersion.Match(head):
			older = append(older, name)
		case marksDescriptor.Match(head) || marksDispatch.Match(head):
			marked = append(marked, name)
		}
	}
	for _, name := range recipes {
		if slices.ContainsFunc(marked, func(m string) bool { return CompanionPath(m) == name }) {
			continue
		}
		head, err := peek(filepath.Join(dir, name))
		if err != nil {
			return "", fmt.Errorf("find descriptor: %w", err)
		}
		if marksComment.Match(head) {
			marked = append(marked, name)
		}
	}
	if len(marked) == 0 {
		marked = older
	}
	if len(marked) == 0 && len(names) == 1 {
		marked = names
	}
	switch len(marked) {
	case 0:
		return "", fmt.Errorf("%s: %w", dir, ErrNoDescriptor)
	case 1:
		return marked[0], nil
	}
	return "", &AmbiguousError{Dir: dir, Names: marked}
}

// candidates lists, sorted, the files of a folder that may be a descriptor by their names, and those that
// may be a recipe with a descriptor in a comment.
func candidates(dir string) (yaml, recipes []string, err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(MaxFolderEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	if len(entries) > MaxFolderEntries {
		return nil, nil, fmt.Errorf("%w: a folder of more than %d entries is not searched, name the file", ErrNoDescriptor, MaxFolderEntries)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		ext := strings.ToLower(filepath.Ext(e.Name()))
		isRecipe := ext == ".dockerfile" || e.Name() == "Dockerfile"
		if !isRecipe && ext != ".yaml" && ext != ".yml" {
			continue
		}
		if info, err := os.Stat(filepath.Join(dir, e.Name())); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if isRecipe {
			recipes = append(recipes, e.Name())
		} else {
			yaml = append(yaml, e.Name())
		}
	}
	return yaml, recipes, nil
}

func peek(file string) ([]byte, error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrPermission) {
		return nil, nil // whether it matters shows when it is the one that is meant
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, peekSize))
}
