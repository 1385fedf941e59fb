package kitbuild

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	gwclient "github.com/moby/buildkit/frontend/gateway/client"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/sbxkit/sbxkit/descriptor"
	"github.com/sbxkit/sbxkit/internal/kitbuild/project"
	"github.com/sbxkit/sbxkit/internal/layerfs"
	"github.com/sbxkit/sbxkit/tck"
)

// selfCheck runs the conformance checks on one platform's final file system, with the very annotations
// and config that are about to be exported.
func (b *build) selfCheck(ctx context.Context, doc *descriptor.Document, t target, ref gwclient.Reference, annotations map[string]string, config []byte) error {
	report, err := tck.Run(ctx, &refSource{ref: ref, annotations: annotations, config: config})
	if err != nil {
		return fmt.Errorf("check the kit for %s: %w", t.id, err)
	}
	for _, f := range report.Findings {
		if f.Severity == tck.Warn {
			b.warn(ctx, warning(doc, project.CodeCheckWarns, askedBy(doc.Descriptor(), f.Check), "", "%s: %s: %s", t.id, f.Name, f.Detail))
		}
	}
	if err := report.Err(); err != nil {
		return fmt.Errorf("the kit for %s does not conform: %w", t.id, err)
	}
	return nil
}

// askedBy is the path of the entry that a check stands for, empty when it stands for no capability type
// or the kit does not declare it.
func askedBy(d *descriptor.Descriptor, c tck.Check) string {
	short, _, _ := strings.Cut(c.Requirement, "/")
	asked := path.Join(path.Dir(descriptor.TypeSbx), short) // checks stand for the platform's own types only
	paths := project.EntryPaths(d)
	for i, entry := range d.Declared() {
		if entry.Type == asked {
			return paths[i]
		}
	}
	return ""
}

// refSource lets the checks look at what is being built. Layers do not exist yet.
type refSource struct {
	ref         gwclient.Reference // nil: an empty file system
	annotations map[string]string
	config      []byte
}

var _ tck.Source = (*refSource)(nil)

func (s *refSource) Annotations() map[string]string { return s.annotations }

func (s *refSource) Config(context.Context) (*ocispec.Image, error) {
	var image ocispec.Image
	if err := json.Unmarshal(s.config, &image); err != nil {
		return nil, fmt.Errorf("read image config: %w", err)
	}
	return &image, nil
}

func (s *refSource) Index() (map[string]string, bool) { return nil, false }

func (s *refSource) Layers(context.Context) (int, error) { return 0, tck.ErrUnobservable }

func (s *refSource) Overlay(context.Context) (*layerfs.Overlay, error) {
	return nil, tck.ErrUnobservable
}

func (s *refSource) Exists(ctx context.Context, name string) (bool, error) {
	_, err := s.Stat(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (s *refSource) Stat(ctx context.Context, name string) (layerfs.Info, error) {
	if s.ref == nil {
		return layerfs.Info{}, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	stat, err := s.ref.StatFile(ctx, gwclient.StatRequest{Path: name})
	if err != nil {
		return layerfs.Info{}, notExist(err)
	}
	mode := fs.FileMode(stat.Mode)
	if mode.IsDir() {
		return layerfs.Info{}, fmt.Errorf("%s is a folder: %w", name, fs.ErrNotExist)
	}
	return layerfs.Info{Mode: mode, UID: int(stat.Uid), GID: int(stat.Gid), Regular: mode.IsRegular(), Size: stat.Size}, nil
}

func (s *refSource) ReadFile(ctx context.Context, name string, limit int64) ([]byte, error) {
	data, err := readRef(ctx, s.ref, name, limit)
	switch {
	case errors.Is(err, project.ErrTooLarge):
		return nil, fmt.Errorf("%s: %w", name, layerfs.ErrTooLarge)
	case errors.Is(err, errFolder): // which is no file for a check
		return nil, fmt.Errorf("%w: %w", err, fs.ErrNotExist)
	}
	return data, err
}

// Stems lists real folders only: a link to one is another name for it.
func (s *refSource) Stems(ctx context.Context, root, file string) ([]string, error) {
	if s.ref == nil {
		return nil, nil
	}
	entries, err := s.ref.ReadDir(ctx, gwclient.ReadDirRequest{Path: root})
	if err := notExist(err); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	var stems []string
	for _, e := range entries {
		if !fs.FileMode(e.Mode).IsDir() {
			continue
		}
		name := path.Base(e.Path)
		found, err := s.Exists(ctx, path.Join(root, name, file))
		if err != nil {
			return nil, err
		}
		if found {
			stems = append(stems, name)
		}
	}
	slices.Sort(stems)
	return stems, nil
}
