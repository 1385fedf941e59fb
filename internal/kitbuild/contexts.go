package kitbuild

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/containerd/containerd/v2/core/content"
	contentlocal "github.com/containerd/containerd/v2/plugins/content/local"
	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
	"github.com/moby/buildkit/client"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/tonistiigi/fsutil"

	"github.com/sbxkit/sbxkit/internal/ociimage"
)

// addContexts tells the engine about the named build contexts, spelled as for buildx.
func addContexts(ctx context.Context, opt *client.SolveOpt, contexts map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(contexts)) {
		key, err := contextKey(name)
		if err != nil {
			return err
		}
		value, err := addContext(ctx, opt, key, contexts[name])
		if err != nil {
			return fmt.Errorf("open build context %s: %w", name, err)
		}
		if _, taken := opt.FrontendAttrs["context:"+key]; taken {
			return fmt.Errorf("build context %s is given twice", key)
		}
		opt.FrontendAttrs["context:"+key] = value
	}
	return nil
}

// contextKey is the name in the spelling in which the Dockerfile frontend looks for it.
func contextKey(name string) (string, error) {
	base, platform, _ := strings.Cut(name, "::")
	named, err := reference.ParseNormalizedNamed(base)
	if err != nil {
		return "", fmt.Errorf("parse build context name %q: %w", name, err)
	}
	key := strings.TrimSuffix(reference.FamiliarString(named), ":latest")
	if platform != "" {
		key += "::" + platform
	}
	return key, nil
}

func addContext(ctx context.Context, opt *client.SolveOpt, key, value string) (string, error) {
	if at, ok := cutLayout(value); ok {
		return addLayout(ctx, opt, at)
	}
	for _, remote := range []string{"docker-image://", "https://", "http://", "git://", "git@", "ssh://"} {
		if strings.HasPrefix(value, remote) {
			return value, nil
		}
	}
	dir, err := openDir(value)
	if err != nil {
		return "", err
	}
	name := "context:" + key // apart from the two locals that every build has
	opt.LocalMounts[name] = dir
	return "local:" + name, nil
}

func cutLayout(value string) (string, bool) {
	at, ok := strings.CutPrefix(value, "oci-layout:")
	return strings.TrimPrefix(at, "//"), ok
}

// addLayout opens DIR, DIR:TAG or DIR@DIGEST; without either the tag is latest. A tag is resolved here, so
// that all of the build sees one image.
func addLayout(ctx context.Context, opt *client.SolveOpt, at string) (string, error) {
	dir, selector := splitLayout(at)
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	image, err := ociimage.OpenLayout(ctx, dir, selector)
	if err != nil {
		return "", err
	}
	target := image.Target.Digest
	if err := image.Close(); err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(dir))
	id := "layout-" + hex.EncodeToString(sum[:8])
	opt.OCIStores[id] = layoutBlobs(dir)
	return "oci-layout://" + id + "@" + target.String(), nil
}

func splitLayout(at string) (dir, selector string) {
	if i := strings.LastIndex(at, "@sha256:"); i >= 0 {
		return at[:i], at[i+1:]
	}
	if i := strings.LastIndexByte(at, ':'); i > strings.LastIndexAny(at, `/\`) && i > 0 {
		return at[:i], at[i+1:]
	}
	return at, "latest"
}

// openDir gives a folder to send. Owners on this machine mean nothing in an image; the client resets them.
func openDir(dir string) (fsutil.FS, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder", dir)
	}
	return fsutil.NewFS(dir)
}

// layoutBlobs serves the blobs of an OCI layout folder and changes nothing in it.
type layoutBlobs string

var _ content.Store = layoutBlobs("")

func (l layoutBlobs) file(d digest.Digest) (string, error) {
	if err := d.Validate(); err != nil {
		return "", fmt.Errorf("blob %q: %w", d, errdefs.ErrInvalidArgument)
	}
	return filepath.Join(string(l), ocispec.ImageBlobsDir, d.Algorithm().String(), d.Encoded()), nil
}

// Info implements content.InfoProvider.
func (l layoutBlobs) Info(_ context.Context, d digest.Digest) (content.Info, error) {
	file, err := l.file(d)
	if err != nil {
		return content.Info{}, err
	}
	stat, err := os.Stat(file)
	if os.IsNotExist(err) {
		return content.Info{}, fmt.Errorf("blob %s: %w", d, errdefs.ErrNotFound)
	}
	if err != nil {
		return content.Info{}, err
	}
	return content.Info{Digest: d, Size: stat.Size(), CreatedAt: stat.ModTime(), UpdatedAt: stat.ModTime()}, nil
}

// ReaderAt implements content.Provider. The engine verifies what it reads.
func (l layoutBlobs) ReaderAt(_ context.Context, desc ocispec.Descriptor) (content.ReaderAt, error) {
	file, err := l.file(desc.Digest)
	if err != nil {
		return nil, err
	}
	return contentlocal.OpenReader(file)
}

var errReadOnly = fmt.Errorf("layout of a build context: %w", errdefs.ErrPermissionDenied)

// Update implements content.Manager.
func (l layoutBlobs) Update(context.Context, content.Info, ...string) (content.Info, error) {
	return content.Info{}, errReadOnly
}

// Walk implements content.Manager.
func (l layoutBlobs) Walk(context.Context, content.WalkFunc, ...string) error { return errReadOnly }

// Delete implements content.Manager.
func (l layoutBlobs) Delete(context.Context, digest.Digest) error { return errReadOnly }

// Status implements content.IngestManager.
func (l layoutBlobs) Status(context.Context, string) (content.Status, error) {
	return content.Status{}, errReadOnly
}

// ListStatuses implements content.IngestManager.
func (l layoutBlobs) ListStatuses(context.Context, ...string) ([]content.Status, error) {
	return nil, errReadOnly
}

// Abort implements content.IngestManager.
func (l layoutBlobs) Abort(context.Context, string) error { return errReadOnly }

// Writer implements content.Ingester.
func (l layoutBlobs) Writer(context.Context, ...content.WriterOpt) (content.Writer, error) {
	return nil, errReadOnly
}
