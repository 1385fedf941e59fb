package kitbuild

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	gwclient "github.com/moby/buildkit/frontend/gateway/client"
	fstypes "github.com/tonistiigi/fsutil/types"

	"github.com/sbxkit/sbxkit/internal/kitbuild/project"
	"github.com/sbxkit/sbxkit/internal/layerfs"
	"github.com/sbxkit/sbxkit/tck"
)

// fakeRef is a file system as the gateway shows it: its errors are nothing but text.
type fakeRef struct {
	gwclient.Reference
	files map[string]string      // contents
	modes map[string]fs.FileMode // of what is no regular file
}

func (r fakeRef) StatFile(_ context.Context, req gwclient.StatRequest) (*fstypes.Stat, error) {
	name := strings.Trim(req.Path, "/")
	if mode, ok := r.modes[name]; ok {
		return &fstypes.Stat{Path: name, Mode: uint32(mode), Uid: 7}, nil
	}
	if data, ok := r.files[name]; ok {
		return &fstypes.Stat{Path: name, Mode: 0o644, Size: int64(len(data)), Uid: 7, Gid: 8}, nil
	}
	return nil, fmt.Errorf("rpc error: lstat %s: no such file or directory", name)
}

func (r fakeRef) ReadFile(_ context.Context, req gwclient.ReadRequest) ([]byte, error) {
	data := r.files[strings.Trim(req.Filename, "/")]
	return []byte(data[:min(len(data), req.Range.Length)]), nil
}

func (r fakeRef) ReadDir(_ context.Context, req gwclient.ReadDirRequest) ([]*fstypes.Stat, error) {
	var out []*fstypes.Stat
	prefix := strings.Trim(req.Path, "/") + "/"
	for name, mode := range r.modes {
		if rest, ok := strings.CutPrefix(name, prefix); ok && !strings.Contains(rest, "/") {
			out = append(out, &fstypes.Stat{Path: rest, Mode: uint32(mode)})
		}
	}
	if out == nil {
		return nil, errors.New("rpc error: open: no such file or directory")
	}
	return out, nil
}

func TestReadRef(t *testing.T) {
	ref := fakeRef{
		files: map[string]string{"ten": "0123456789"},
		modes: map[string]fs.FileMode{"dir": fs.ModeDir | 0o755, "pipe": fs.ModeNamedPipe | 0o644},
	}
	for name, want := range map[string]error{"ten": nil, "none": fs.ErrNotExist, "dir": errFolder} {
		if _, err := readRef(t.Context(), ref, name, 10); !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("%s: got %v, want %v", name, err, want)
		}
	}
	if _, err := readRef(t.Context(), ref, "ten", 9); !errors.Is(err, project.ErrTooLarge) {
		t.Errorf("over the limit: %v", err)
	}
	if _, err := readRef(t.Context(), ref, "pipe", 9); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a pipe: %v", err)
	}
	if _, err := readRef(t.Context(), nil, "ten", 10); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty file system: %v", err)
	}
}

func TestRefSource(t *testing.T) {
	ctx := t.Context()
	s := &refSource{
		ref: fakeRef{
			files: map[string]string{"kits/a/kit.yaml": "a", "kits/link/kit.yaml": "a"},
			modes: map[string]fs.FileMode{
				"kits": fs.ModeDir, "kits/a": fs.ModeDir, "kits/b": fs.ModeDir, "kits/link": fs.ModeSymlink, "kits/file": 0,
			},
		},
		config: []byte(`{"os":"linux"}`),
	}
	if stems, err := s.Stems(ctx, "/kits", "kit.yaml"); err != nil || !slices.Equal(stems, []string{"a"}) {
		t.Errorf("stems %q (%v)", stems, err)
	}
	if stems, err := s.Stems(ctx, "/none", "kit.yaml"); err != nil || stems != nil {
		t.Errorf("stems of nothing %q (%v)", stems, err)
	}
	for name, want := range map[string]bool{"/kits/a/kit.yaml": true, "/kits/a": false, "/none": false} {
		if got, err := s.Exists(ctx, name); err != nil || got != want {
			t.Errorf("%s is there: %v (%v)", name, got, err)
		}
	}
	if info, err := s.Stat(ctx, "/kits/a/kit.yaml"); err != nil || !info.Regular || info.UID != 7 || info.GID != 8 {
		t.Errorf("stat %+v (%v)", info, err)
	}
	if _, err := s.ReadFile(ctx, "/kits/a", 9); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading a folder: %v", err)
	}
	if _, err := s.ReadFile(ctx, "/kits/a/kit.yaml", 0); !errors.Is(err, layerfs.ErrTooLarge) {
		t.Errorf("over the limit: %v", err)
	}
	if _, err := s.Layers(ctx); !errors.Is(err, tck.ErrUnobservable) {
		t.Errorf("layers: %v", err)
	}
	if config, err := s.Config(ctx); err != nil || config.OS != "linux" {
		t.Errorf("config %+v (%v)", config, err)
	}
	s.ref = nil
	if stems, err := s.Stems(ctx, "/kits", "kit.yaml"); err != nil || stems != nil {
		t.Errorf("stems of an empty file system %q (%v)", stems, err)
	}
	if there, err := s.Exists(ctx, "/kits"); err != nil || there {
		t.Errorf("an empty file system has files (%v)", err)
	}
}
