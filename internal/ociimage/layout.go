package ociimage

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/gofrs/flock"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// annotationName holds the whole name of an image in index.json, where the annotation of the specification has
// just its tag. BuildKit and containerd write and read it.
const annotationName = "io.containerd.image.name"

// lockWait bounds the wait for another writer, which holds the lock for the time of a few renames.
const lockWait = time.Minute

// Names of what may lie in a layout besides its content. The lock is the one that BuildKit takes, so that
// neither clobbers the other's index.json; it is there only while somebody writes.
const (
	lockName     = ocispec.ImageIndexFile + ".lock"
	ingestPrefix = ".ingest-" // a folder of unfinished blobs for each writing process
)

// Layout is an OCI layout directory opened for writing. Any number of processes may write into one layout at
// the same time, and any number of goroutines may use one Layout.
//
// Blobs go to a temporary file, are flushed and renamed; index.json is replaced last, under a file lock, and
// keeps the entries it had. A directory becomes a layout with the first Tag: until then it holds at most blobs
// that nothing names. What a killed process leaves behind is removed by the next CreateLayout.
type Layout struct {
	Dir string

	mu     sync.Mutex
	ingest string       // folder of this writer's unfinished blobs, empty until the first
	alive  *flock.Flock // tells others that it is in use
	open   int          // writers not yet closed
	begun  int          // writers ever begun
	made   []string     // folders that were not there before, outer ones first
}

// CreateLayout opens dir, which is absent, empty or a layout already; its parents are made. What a writer left
// that was killed before its first Tag is taken up. Anything else is ErrNotLayout, and nothing is touched. A
// place that cannot be written to is refused now, but a new directory stays empty until there is something to
// write, and Close removes it again if nothing was.
func CreateLayout(dir string) (*Layout, error) {
	l := &Layout{Dir: dir}
	if err := l.create(); err != nil {
		l.removeMade()
		return nil, fmt.Errorf("create layout %s: %w", dir, err)
	}
	return l, nil
}

func (l *Layout) create() error {
	// Looked at before anything is written, so that a foreign directory stays as it is.
	if err := l.usable(); err != nil {
		return err
	}
	unlock, err := l.lockMaking(context.Background())
	if err != nil {
		return err
	}
	defer unlock()
	if err := l.usable(); err != nil { // once more: it may have been filled while we waited
		return err
	}
	return l.removeStale()
}

// usable refuses a directory that holds something other than a layout, or the beginning of one.
func (l *Layout) usable() error {
	fi, err := os.Stat(l.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(l.Dir); err == nil {
			return fmt.Errorf("%w: it is a link that leads to nothing; name a directory", ErrNotLayout)
		}
		return nil
	case err != nil:
		return err
	case !fi.IsDir():
		return fmt.Errorf("%w: it is a file; name a directory", ErrNotLayout)
	}
	if _, err := os.Lstat(l.path(ocispec.ImageLayoutFile)); err == nil {
		return l.reader().checkVersion()
	}
	if err = only(l.Dir, "", ours); err == nil {
		isAlgorithm := func(name string) bool { return digest.Algorithm(name).Available() }
		err = only(l.path(ocispec.ImageBlobsDir), ocispec.ImageBlobsDir+"/", isAlgorithm)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil // there are no blobs, or another writer has just taken its empty directory away
	}
	return err
}

// only refuses a directory in which something has another name than allowed; prefix leads there in the message.
func only(path, prefix string, allowed func(name string) bool) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	for {
		names, err := dir.Readdirnames(64)
		for _, name := range names {
			if !allowed(name) {
				return fmt.Errorf("%w, and not empty: it holds %s; name a new or empty directory", ErrNotLayout, quote(prefix+name))
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// ours tells what a writer may have left that was killed before its first Tag.
func ours(name string) bool {
	switch name {
	case lockName, ocispec.ImageBlobsDir, temporary(ocispec.ImageLayoutFile), temporary(ocispec.ImageIndexFile):
		return true
	}
	return strings.HasPrefix(name, ingestPrefix)
}

// Store is a content store over the layout's blobs, for BuildKit to export into: given as OutputStore, the client
// leaves index.json to Tag. It adds and reads; labels and deletion are refused. The blobs that it adds belong
// to nobody until Tag names what they are part of.
func (l *Layout) Store() (content.Store, error) { return &store{l}, nil }

// Close removes what unfinished writers left behind, as Tag does, and then the directories that this Layout made
// and that are empty.
func (l *Layout) Close() error {
	if err := l.close(); err != nil {
		return fmt.Errorf("close layout %s: %w", l.Dir, err)
	}
	return nil
}

func (l *Layout) close() error {
	unlock, err := l.lock(context.Background())
	if errors.Is(err, fs.ErrNotExist) {
		return l.endIngest() // closed before, or another writer's Close took the empty directory away
	}
	if err != nil {
		return err
	}
	err = l.endIngest()
	unlock() // which removes the lock's file
	l.removeMade()
	return err
}

// Tag names target in index.json. A name is a reference such as "me/kit:1.0.0": its tag becomes the
// org.opencontainers.image.ref.name by which the entry is selected, the whole of it, normalised, the
// io.containerd.image.name. An entry that held one of these tags or names gives way; all others stay. Without a name the
// entry is selected by its digest. The whole of target has to be in the layout, else nothing changes.
func (l *Layout) Tag(ctx context.Context, target ocispec.Descriptor, names []string) error {
	if err := l.tag(ctx, target, names); err != nil {
		return fmt.Errorf("tag in layout %s: %w", l.Dir, err)
	}
	return nil
}

func (l *Layout) tag(ctx context.Context, target ocispec.Descriptor, names []string) error {
	entries, err := newEntries(target, names)
	if err != nil {
		return err
	}
	if err := l.complete(ctx, target); err != nil {
		return err
	}
	unlock, err := l.lockMaking(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	idx, err := l.existingIndex()
	if err != nil {
		return err
	}
	idx.Manifests = merge(idx.Manifests, entries)
	if len(idx.Manifests) > MaxLayoutEntries {
		return fmt.Errorf("%w: more than %d entries", ErrTooLarge, MaxLayoutEntries)
	}
	if err := l.writeVersion(); err != nil {
		return err
	}
	if err := l.writeIndex(idx); err != nil {
		return err
	}
	return l.endIngest()
}

// existingIndex reads index.json; one that is not there lists nothing.
func (l *Layout) existingIndex() (*layoutIndex, error) {
	if _, err := os.Lstat(l.path(ocispec.ImageIndexFile)); errors.Is(err, fs.ErrNotExist) {
		return &layoutIndex{}, nil
	}
	return l.reader().readIndex()
}

// writeVersion writes the file that marks a layout, unless it is there.
func (l *Layout) writeVersion() error {
	if _, err := os.Lstat(l.path(ocispec.ImageLayoutFile)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	version, err := json.Marshal(ocispec.ImageLayout{Version: ocispec.ImageLayoutVersion})
	if err != nil {
		return err
	}
	return l.replace(ocispec.ImageLayoutFile, version)
}

// complete sees to it that all of target is there and on disk.
func (l *Layout) complete(ctx context.Context, target ocispec.Descriptor) error {
	blobs, err := reachable(ctx, l.reader(), target)
	if err != nil {
		return err
	}
	dirs := map[string]bool{"": true} // the folder of the algorithms' folders
	for _, b := range blobs {
		rc, err := l.reader().openBlob(ctx, b.desc) // compares the size
		if err != nil {
			return err
		}
		rc.Close()
		dirs[b.desc.Digest.Algorithm().String()] = true
	}
	for alg := range dirs {
		if err := syncDir(l.path(ocispec.ImageBlobsDir, alg)); err != nil {
			return err
		}
	}
	return nil
}

// newEntries makes the entries that name target. They hold what finds it and nothing that changes from one
// build to the next, such as a time.
func newEntries(target ocispec.Descriptor, names []string) (layoutEntries, error) {
	tags, err := parseTags(names)
	if err != nil {
		return nil, err
	}
	bare := ocispec.Descriptor{MediaType: target.MediaType, Digest: target.Digest, Size: target.Size}
	if len(tags) == 0 {
		e, err := newEntry(bare)
		return layoutEntries{e}, err
	}
	var entries layoutEntries
	for _, tag := range tags {
		desc := bare
		desc.Annotations = map[string]string{
			ocispec.AnnotationRefName: tag.Tag(),
			annotationName:            tag.String(),
		}
		e, err := newEntry(desc)
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	slices.SortFunc(entries, compareEntries)
	return entries, nil
}

func newEntry(desc ocispec.Descriptor) (layoutEntry, error) {
	raw, err := json.Marshal(desc)
	return layoutEntry{Descriptor: desc, raw: raw}, err
}

// merge puts added entries among those that are there. Entries are sorted by name so that the order in which
// tags were given, or builds were run, does not show.
func merge(there, added layoutEntries) layoutEntries {
	taken := map[string]bool{} // tags and whole names, which cannot be confused: a tag has no slash
	for _, e := range added {
		taken[e.tag()] = true
		taken[e.Annotations[annotationName]] = true
	}
	delete(taken, "")
	var all layoutEntries
	for _, e := range there {
		if !taken[e.tag()] && !taken[e.Annotations[annotationName]] {
			all = append(all, e)
		}
	}
	for _, e := range added {
		// A target without a name needs no second entry to be found by its digest.
		if e.tag() != "" || !slices.ContainsFunc(all, func(o layoutEntry) bool { return o.Digest == e.Digest }) {
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, compareEntries)
	return all
}

func compareEntries(a, b layoutEntry) int {
	return cmp.Or(
		strings.Compare(a.tag(), b.tag()),
		strings.Compare(a.Annotations[annotationName], b.Annotations[annotationName]),
		strings.Compare(string(a.Digest), string(b.Digest)),
	)
}

func (l *Layout) writeIndex(idx *layoutIndex) error {
	data, err := encodeIndex(idx)
	if err != nil {
		return err
	}
	return l.replace(ocispec.ImageIndexFile, data)
}

func encodeIndex(idx *layoutIndex) ([]byte, error) {
	idx.SchemaVersion = 2
	idx.MediaType = ocispec.MediaTypeImageIndex
	if idx.Manifests == nil {
		idx.Manifests = layoutEntries{}
	}
	data, err := json.MarshalIndent(idx, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(data, '\n'), nil
}

func (l *Layout) reader() layout { return layout{dirFiles{root: l.Dir}} }

func (l *Layout) path(elem ...string) string {
	return filepath.Join(append([]string{l.Dir}, elem...)...)
}

func temporary(name string) string { return "." + name + ".tmp" }

// replace writes a file of the layout so that it has its old or its new content at any time. The lock is held,
// so the temporary name can be fixed, and a leftover is removed by the next writer.
func (l *Layout) replace(name string, data []byte) error {
	tmp := l.path(temporary(name))
	if err := os.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// Exclusive, lest a link put there in a shared directory leads elsewhere.
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, bytes.NewReader(data))
	err = cmp.Or(err, f.Sync())
	err = cmp.Or(err, f.Close())
	if err == nil {
		err = os.Rename(tmp, l.path(name))
	}
	if err != nil {
		os.Remove(tmp)
		return err
	}
	return syncDir(l.Dir)
}

// syncDir makes renames in a directory last. Windows does so without being asked, and cannot be.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return cmp.Or(f.Sync(), f.Close())
}
