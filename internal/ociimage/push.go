package ociimage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/distribution/reference"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"
)

// pushJobs is how many blobs are sent at the same time.
const pushJobs = 4

// Push writes target of the layout in dir under every reference to its registry. Each repository is given all
// blobs first, then the manifests, then the index that refers to them; tags are set only when every repository
// holds everything, so a failure before that leaves all tags as they were. At the end each tag is looked up
// and has to lead to the digest of target. Credentials are those of the Docker configuration.
func Push(ctx context.Context, dir string, target ocispec.Descriptor, refs []string, opt Options) error {
	tags, err := parseTags(refs)
	if err != nil {
		return fmt.Errorf("push %s: %w", target.Digest, err)
	}
	if len(tags) == 0 {
		return fmt.Errorf("push %s: %w: no name given to push to", target.Digest, ErrReference)
	}
	src := layout{dirFiles{root: dir}}
	blobs, err := reachable(ctx, src, target)
	if err != nil {
		return fmt.Errorf("push %s from layout %s: %w", target.Digest, dir, err)
	}

	repos, err := destinations(tags, opt)
	if err != nil {
		return fmt.Errorf("push %s: %w", target.Digest, err)
	}
	meter := newMeter(blobs, len(repos), opt.Progress)
	for _, r := range repos {
		if err := r.content(ctx, src, blobs, meter); err != nil {
			return fmt.Errorf("push %s to %s: %w", target.Digest, r.name, err)
		}
	}
	root := blobs[len(blobs)-1]
	for _, r := range repos {
		for _, tag := range r.tags {
			if err := r.setTag(ctx, tag, root); err != nil {
				return fmt.Errorf("push %s to %s:%s: %w", target.Digest, r.name, tag, err)
			}
		}
	}
	return nil
}

// destination is a repository with the tags to set there.
type destination struct {
	name   string // as Docker writes it
	repo   name.Repository
	tags   []string
	pusher *remote.Pusher
	opts   []remote.Option
}

// destinations groups tags by repository, in the order given.
func destinations(tags []reference.NamedTagged, opt Options) ([]*destination, error) {
	var all []*destination
	byName := map[string]*destination{}
	for _, tag := range tags {
		d := byName[tag.Name()]
		if d == nil {
			plainHost := ""
			if opt.PlainHTTP {
				plainHost = reference.Domain(tag)
			}
			repo, plain, err := repository(tag, plainHost)
			if err != nil {
				return nil, err
			}
			d = &destination{name: tag.Name(), repo: repo, opts: []remote.Option{
				remote.WithTransport(&scheme{plain, repo.RegistryStr(), network()}),
				remote.WithAuthFromKeychain(authn.DefaultKeychain),
				remote.WithUserAgent(opt.UserAgent),
			}}
			if d.pusher, err = remote.NewPusher(d.opts...); err != nil {
				return nil, err
			}
			byName[tag.Name()] = d
			all = append(all, d)
		}
		d.tags = append(d.tags, tag.Tag())
	}
	return all, nil
}

// content sends all blobs, and then the documents, each after what it refers to.
func (d *destination) content(ctx context.Context, src source, blobs []blob, meter *meter) error {
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(pushJobs)
	for _, b := range blobs {
		if b.raw != nil {
			continue
		}
		group.Go(func() error {
			p := &pushed{ctx: gctx, open: src.openBlob, desc: b.desc, meter: meter}
			err := d.pusher.Upload(gctx, d.repo, p)
			p.settle(err)
			return cause(d.repo, p.failure(), err)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, b := range blobs {
		if b.raw == nil {
			continue
		}
		if err := d.pusher.Push(ctx, d.repo.Digest(b.desc.Digest.String()), document(b)); err != nil {
			return registryError(d.repo, err)
		}
	}
	return nil
}

// setTag names what content has put there.
func (d *destination) setTag(ctx context.Context, tag string, root blob) error {
	ref := d.repo.Tag(tag)
	if err := d.pusher.Push(ctx, ref, document(root)); err != nil {
		return registryError(d.repo, err)
	}
	got, err := remote.Head(ref, append(d.opts, remote.WithContext(ctx))...)
	if err != nil {
		return registryError(d.repo, err)
	}
	if got.Digest.String() != root.desc.Digest.String() {
		return fmt.Errorf("%w: the tag leads to %s", ErrDigest, got.Digest)
	}
	return nil
}

// cause prefers what was wrong with our own blob to what the registry said about it.
func cause(repo name.Repository, own, err error) error {
	switch {
	case err == nil:
		return nil
	case own != nil:
		return own
	}
	return registryError(repo, err)
}

// document is an index or a manifest as the library's pusher wants it.
type document blob

func (d document) RawManifest() ([]byte, error) { return d.raw, nil }

func (d document) MediaType() (types.MediaType, error) {
	return types.MediaType(d.desc.MediaType), nil
}

// pushed is a blob as the library wants a layer. It lives for one call, whose context it holds because the
// library's interface has no room for one.
type pushed struct {
	ctx   context.Context
	open  opener
	desc  ocispec.Descriptor
	meter *meter // may be nil

	mu   sync.Mutex
	sent int64
	err  error // of the last attempt to read the blob
}

func (p *pushed) Digest() (v1.Hash, error)             { return v1.NewHash(p.desc.Digest.String()) }
func (p *pushed) Size() (int64, error)                 { return p.desc.Size, nil }
func (p *pushed) MediaType() (types.MediaType, error)  { return types.MediaType(p.desc.MediaType), nil }
func (p *pushed) DiffID() (v1.Hash, error)             { return v1.Hash{}, errPacked }
func (p *pushed) Uncompressed() (io.ReadCloser, error) { return nil, errPacked }

var errPacked = errors.New("[internal error] a blob is sent as it is stored")

// Compressed opens the blob, verified. The library opens it once more for each attempt.
func (p *pushed) Compressed() (io.ReadCloser, error) {
	p.settle(errRestart)
	rc, err := openVerified(p.ctx, p.open, p.desc)
	p.note(0, err)
	if err != nil {
		return nil, err
	}
	return &pushedReader{rc, p}, nil
}

type pushedReader struct {
	io.ReadCloser
	of *pushed
}

func (r *pushedReader) Read(b []byte) (int, error) {
	n, err := r.ReadCloser.Read(b)
	r.of.note(n, err)
	return n, err
}

func (p *pushed) note(n int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent += int64(n)
	p.err = err
	if err == io.EOF {
		p.err = nil
	}
	p.meter.add(int64(n))
}

func (p *pushed) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

var errRestart = errors.New("sent anew")

// settle makes the meter right: all of a blob is done when it is present, whether sent or found there, and none
// of it after a failed attempt.
func (p *pushed) settle(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	want := p.desc.Size
	if err != nil {
		want = 0
	}
	p.meter.add(want - p.sent)
	p.sent = want
}

// meter adds up what is done and reports it.
type meter struct {
	mu          sync.Mutex
	done, total int64
	report      func(done, total int64)
}

// newMeter gives nil where nobody wants to know.
func newMeter(blobs []blob, copies int, report func(done, total int64)) *meter {
	if report == nil {
		return nil
	}
	m := &meter{report: report}
	for _, b := range blobs {
		if b.raw == nil {
			m.total += b.desc.Size * int64(copies)
		}
	}
	return m
}

func (m *meter) add(n int64) {
	if m == nil || n == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done += n
	m.report(m.done, m.total)
}
