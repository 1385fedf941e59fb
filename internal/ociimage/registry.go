package ociimage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/distribution/reference"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// OpenRegistry opens a reference of a registry, normalised as Docker does, with the credentials of the Docker
// configuration. What a tag selects is fixed by this call: everything below it is read by digest.
func OpenRegistry(ctx context.Context, ref string, opt Options) (*Image, error) {
	named, err := parseReference(ref)
	if err != nil {
		return nil, err
	}
	plain := ""
	if opt.PlainHTTP {
		plain = reference.Domain(named)
	}
	return openRegistry(ctx, named, opt.UserAgent, plain)
}

func openRegistry(ctx context.Context, named reference.Named, userAgent, plainHost string) (*Image, error) {
	where := named.String()
	reg, err := newRegistry(ctx, named, userAgent, plainHost)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", where, err)
	}
	target, raw, err := reg.resolve(ctx, named)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", where, err)
	}
	return open(reg, where, target, raw)
}

// registry is a source over one repository. Requests are made here rather than by the library's readers, which
// take manifests of 100 MiB and do not tell a wrong digest from a broken connection; login, tokens and retries
// are the library's.
type registry struct {
	repo      name.Repository
	client    *http.Client
	userAgent string
	plainHost string // the host that is spoken to without TLS at the caller's wish
}

func newRegistry(ctx context.Context, named reference.Named, userAgent, plainHost string) (*registry, error) {
	repo, plain, err := repository(named, plainHost)
	if err != nil {
		return nil, err
	}
	auth, err := authn.Resolve(ctx, authn.DefaultKeychain, repo)
	if err != nil {
		return nil, fmt.Errorf("read credentials for %s: %w", repo.RegistryStr(), err)
	}
	base := transport.NewRetry(&scheme{plain, repo.RegistryStr(), network()},
		transport.WithRetryStatusCodes(http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
			http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout))
	base = transport.NewUserAgent(base, userAgent)
	rt, err := transport.NewWithContext(ctx, repo.Registry, auth, base, []string{repo.Scope(transport.PullScope)})
	if err != nil {
		return nil, registryError(repo, err)
	}
	return &registry{
		repo:      repo,
		client:    &http.Client{Transport: rt, CheckRedirect: checkRedirect},
		userAgent: userAgent,
		plainHost: plainHost,
	}, nil
}

// network is the way to every registry.
func network() http.RoundTripper { return &patience{MaxSilence, remote.DefaultTransport} }

// repository turns a normalised reference into the library's form of its repository; plain if its registry is to
// be spoken to without TLS.
func repository(named reference.Named, plainHost string) (repo name.Repository, plain bool, err error) {
	host := reference.Domain(named)
	plain = host == plainHost || isLoopback(host)
	var opts []name.Option
	if plain {
		opts = append(opts, name.Insecure)
	}
	reg, err := name.NewRegistry(host, opts...)
	if err != nil {
		return name.Repository{}, false, fmt.Errorf("%s: %w: %w", named, ErrReference, err)
	}
	return reg.Repo(reference.Path(named)), plain, nil
}

func (r *registry) close() error { return nil }

func (r *registry) sibling(ctx context.Context, named reference.Named) (*Image, error) {
	return openRegistry(ctx, named, r.userAgent, r.plainHost)
}

// resolve fetches what a reference selects.
func (r *registry) resolve(ctx context.Context, named reference.Named) (ocispec.Descriptor, []byte, error) {
	var id string
	var want digest.Digest
	switch ref := named.(type) {
	case reference.Digested:
		want = ref.Digest()
		id = want.String()
	case reference.Tagged:
		id = ref.Tag()
	}
	resp, err := r.get(ctx, "manifests", id)
	if err != nil {
		return ocispec.Descriptor{}, nil, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, MaxManifestSize+1))
	if err != nil {
		return ocispec.Descriptor{}, nil, fmt.Errorf("read manifest: %w", err)
	}
	if len(raw) > MaxManifestSize {
		return ocispec.Descriptor{}, nil, fmt.Errorf("read manifest: %w: at most %d bytes", ErrTooLarge, MaxManifestSize)
	}
	if want == "" {
		// A tag promises nothing, but the registry's own statement has to fit what it sent.
		want = digest.Digest(resp.Header.Get("Docker-Content-Digest"))
		if want.Validate() != nil {
			want = digest.FromBytes(raw)
		}
	}
	if got := want.Algorithm().FromBytes(raw); got != want {
		return ocispec.Descriptor{}, nil, fmt.Errorf("read manifest %s: %w: its digest is %s", want, ErrDigest, got)
	}
	return ocispec.Descriptor{MediaType: mediaType(resp.Header, raw), Digest: want, Size: int64(len(raw))}, raw, nil
}

// mediaType prefers what the registry says, unless it does not know the type and the document does.
func mediaType(h http.Header, raw []byte) string {
	said, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	if isIndex(said) || isManifest(said) {
		return said
	}
	var doc struct {
		MediaType string `json:"mediaType"`
	}
	if decode(raw, &doc) == nil && doc.MediaType != "" {
		return doc.MediaType
	}
	return said
}

func (r *registry) openManifest(ctx context.Context, desc ocispec.Descriptor) (io.ReadCloser, error) {
	return r.openAt(ctx, "manifests", desc)
}

func (r *registry) openBlob(ctx context.Context, desc ocispec.Descriptor) (io.ReadCloser, error) {
	return r.openAt(ctx, "blobs", desc)
}

func (r *registry) openAt(ctx context.Context, kind string, desc ocispec.Descriptor) (io.ReadCloser, error) {
	resp, err := r.get(ctx, kind, desc.Digest.String())
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", desc.Digest, err)
	}
	return resp.Body, nil
}

// get asks the repository for a manifest or a blob.
func (r *registry) get(ctx context.Context, kind, id string) (*http.Response, error) {
	u := url.URL{
		Scheme: r.repo.Scheme(),
		Host:   r.repo.RegistryStr(),
		Path:   "/v2/" + r.repo.RepositoryStr() + "/" + kind + "/" + id,
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	if kind == "manifests" {
		req.Header.Set("Accept", strings.Join([]string{
			ocispec.MediaTypeImageIndex, ocispec.MediaTypeImageManifest, dockerIndex, dockerManifest}, ","))
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, registryError(r.repo, err)
	}
	if err := transport.CheckError(resp, http.StatusOK); err != nil {
		resp.Body.Close()
		return nil, registryError(r.repo, err)
	}
	return resp, nil
}

// registryError says what went wrong at a registry. It leaves out addresses, which after a redirect may carry
// signatures, and the registry's own prose, which is anyone's text.
func registryError(repo name.Repository, err error) error {
	var status *transport.Error
	if errors.As(err, &status) {
		text := fmt.Sprintf("%s answers %d %s", repo.RegistryStr(), status.StatusCode, http.StatusText(status.StatusCode))
		for _, d := range status.Errors[:min(len(status.Errors), 3)] {
			text += " " + quote(string(d.Code))
		}
		switch status.StatusCode {
		case http.StatusNotFound:
			return fmt.Errorf("%w: %s", ErrNotFound, text)
		case http.StatusUnauthorized, http.StatusForbidden:
			return fmt.Errorf("%w: %s for %s: docker login %[2]s, unless the name is wrong",
				ErrUnauthorized, repo.RegistryStr(), repo.RepositoryStr())
		}
		return errors.New(text)
	}
	for _, known := range []error{ErrDigest, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, known) {
			return fmt.Errorf("reach %s: %w", repo.RegistryStr(), known)
		}
	}
	var silent *silenceError
	if errors.As(err, &silent) {
		return fmt.Errorf("reach %s: %w", repo.RegistryStr(), silent)
	}
	var dns *net.DNSError
	var op *net.OpError
	var wrapped *url.Error
	switch {
	case errors.As(err, &dns):
		err = dns
	case errors.As(err, &op):
		err = op
	case errors.Is(err, errPlain):
		err = errPlain
	case errors.As(err, &wrapped):
		err = wrapped.Err
	}
	return fmt.Errorf("reach %s: %w", repo.RegistryStr(), err)
}

var errPlain = errors.New("it does not speak TLS, or sends on to where there is none; ask for plain HTTP if that is meant")

// scheme holds requests to the decision between HTTP and HTTPS, which the library makes by rules of its own: it
// tries TLS first wherever it may do without, and counts private networks among these places.
type scheme struct {
	plain bool
	host  string
	next  http.RoundTripper
}

func (s *scheme) RoundTrip(req *http.Request) (*http.Response, error) {
	switch {
	case s.plain && req.URL.Host == s.host:
		req = req.Clone(req.Context())
		req.URL.Scheme = "http"
	case !s.plain && req.URL.Scheme == "http":
		return nil, errPlain
	}
	return s.next.RoundTrip(req)
}

// checkRedirect follows a registry to where it keeps its blobs, but not from a public host to an address
// inside a private network, where a metadata service may give away credentials.
func checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) >= 10 {
		return errors.New("more than 10 redirects")
	}
	from, to := via[0].URL.Hostname(), req.URL.Hostname()
	if from != to && isPrivate(to) && !isPrivate(from) {
		return fmt.Errorf("redirect from %s to the private address %s refused", from, to)
	}
	return nil
}

func isPrivate(host string) bool {
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return strings.EqualFold(host, "localhost")
	}
	addr = addr.Unmap()
	return addr.IsPrivate() || addr.IsLoopback() || addr.IsLinkLocalUnicast() || addr.IsUnspecified()
}
