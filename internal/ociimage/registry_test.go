package ociimage

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	gcrregistry "github.com/google/go-containerregistry/pkg/registry"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// testRegistry is a registry on loopback. Its requests pass through front, if that is set, and are noted.
type testRegistry struct {
	host  string
	inner http.Handler

	mu    sync.Mutex
	front func(w http.ResponseWriter, r *http.Request, inner http.Handler)
	seen  []string
	agent string
}

func startRegistry(t testing.TB) *testRegistry {
	t.Helper()
	r := &testRegistry{inner: gcrregistry.New(gcrregistry.Logger(log.New(io.Discard, "", 0)))}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.host = strings.TrimPrefix(server.URL, "http://")
	// Nobody's credentials but those that a test writes.
	t.(*testing.T).Setenv("DOCKER_CONFIG", t.TempDir())
	return r
}

func (r *testRegistry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	front := r.front
	r.seen = append(r.seen, req.Method+" "+req.URL.Path)
	r.agent = req.UserAgent()
	r.mu.Unlock()
	if front != nil {
		front(w, req, r.inner)
		return
	}
	r.inner.ServeHTTP(w, req)
}

func (r *testRegistry) setFront(front func(w http.ResponseWriter, r *http.Request, inner http.Handler)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.front, r.seen = front, nil
}

func (r *testRegistry) requests() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.seen)
}

// answer gives what the registry would say, to be changed.
func answer(r *http.Request, inner http.Handler) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	inner.ServeHTTP(rec, r)
	return rec
}

func send(w http.ResponseWriter, rec *httptest.ResponseRecorder, body []byte) {
	for key, values := range rec.Header() {
		if key != "Content-Length" {
			w.Header()[key] = values
		}
	}
	w.WriteHeader(rec.Code)
	_, _ = w.Write(body)
}

func readRegistry(ref string, opt Options) error {
	ctx := context.Background()
	img, err := OpenRegistry(ctx, ref, opt)
	if err != nil {
		return err
	}
	defer img.Close()
	return readEverything(ctx, img)
}

func pushSample(t testing.TB, reg *testRegistry, names ...string) (*Layout, ocispec.Descriptor) {
	t.Helper()
	l, target := sample(t)
	var refs []string
	for _, n := range names {
		refs = append(refs, reg.host+"/"+n)
	}
	if err := Push(context.Background(), l.Dir, target, refs, Options{}); err != nil {
		t.Fatal(err)
	}
	return l, target
}

func TestOpenRegistry(t *testing.T) {
	ctx := context.Background()
	reg := startRegistry(t)
	_, target := pushSample(t, reg, "me/kit:1.0.0", "me/other", "x:1") // a name of one letter as well
	for _, ref := range []string{"me/kit:1.0.0", "me/other", "me/kit@" + string(target.Digest), "me/kit:none@" + string(target.Digest), "x:1"} {
		img, err := OpenRegistry(ctx, reg.host+"/"+ref, Options{UserAgent: "kits/1"})
		if err != nil {
			t.Fatal(err)
		}
		if img.Target.Digest != target.Digest || img.Target.Size != target.Size || img.Target.MediaType != target.MediaType {
			t.Errorf("%s: target %v, want %v", ref, img.Target, target)
		}
		all, err := img.Artifacts(ctx)
		if err != nil || fmt.Sprint(labels(all)) != "[linux/amd64 linux/arm64]" {
			t.Errorf("%s: %v, %v", ref, labels(all), err)
		}
		if err := readEverything(ctx, img); err != nil {
			t.Error(err)
		}
		if err := img.Close(); err != nil {
			t.Error(err)
		}
		if !strings.HasPrefix(reg.agent, "kits/1") {
			t.Errorf("user agent %q", reg.agent)
		}
	}
}

// What a tag selected stays selected, whatever happens to the tag.
func TestTagIsReadOnce(t *testing.T) {
	ctx := context.Background()
	reg := startRegistry(t)
	_, first := pushSample(t, reg, "me/kit:1")
	img, err := OpenRegistry(ctx, reg.host+"/me/kit:1", Options{})
	if err != nil {
		t.Fatal(err)
	}
	pushSample(t, reg, "me/kit:1")
	if err := readEverything(ctx, img); err != nil || img.Target.Digest != first.Digest {
		t.Errorf("%v, %v", img.Target, err)
	}
}

func TestSibling(t *testing.T) {
	ctx := context.Background()
	reg, elsewhere := startRegistry(t), startRegistry(t)
	pushSample(t, reg, "me/set:1")
	_, near := pushSample(t, reg, "me/kit:1")
	_, far := pushSample(t, elsewhere, "you/kit:1")
	img, err := OpenRegistry(ctx, reg.host+"/me/set:1", Options{UserAgent: "kits/1"})
	if err != nil {
		t.Fatal(err)
	}
	for ref, target := range map[string]ocispec.Descriptor{reg.host + "/me/kit:9": near, elsewhere.host + "/you/kit": far} {
		sib, err := img.Sibling(ctx, ref, string(target.Digest))
		if err != nil {
			t.Fatal(err)
		}
		if err := readEverything(ctx, sib); err != nil || sib.Target.Digest != target.Digest {
			t.Errorf("%v, %v", sib.Target, err)
		}
	}
	if !strings.HasPrefix(elsewhere.agent, "kits/1") {
		t.Errorf("user agent %q", elsewhere.agent)
	}
	_, err = img.Sibling(ctx, reg.host+"/me/none", string(near.Digest))
	wantError(t, err, ErrNotFound, "me/none@"+string(near.Digest))
	_, err = img.Sibling(ctx, "me/kit:", string(near.Digest))
	wantError(t, err, ErrReference)
	_, err = img.Sibling(ctx, reg.host+"/me/kit", "sha256:00")
	wantError(t, err, ErrReference)
}

func TestRegistryRefuses(t *testing.T) {
	reg := startRegistry(t)
	_, target := pushSample(t, reg, "me/kit:1")
	gone := httptest.NewServer(nil)
	gone.Close()
	status := func(code int, body string) func(http.ResponseWriter, *http.Request, http.Handler) {
		return func(w http.ResponseWriter, r *http.Request, inner http.Handler) {
			if strings.Contains(r.URL.Path, "/manifests/") {
				w.WriteHeader(code)
				_, _ = io.WriteString(w, body)
				return
			}
			inner.ServeHTTP(w, r)
		}
	}
	change := func(do func(http.Header, []byte) []byte) func(http.ResponseWriter, *http.Request, http.Handler) {
		return func(w http.ResponseWriter, r *http.Request, inner http.Handler) {
			rec := answer(r, inner)
			body := rec.Body.Bytes()
			if strings.HasSuffix(r.URL.Path, "/manifests/1") || strings.HasSuffix(r.URL.Path, string(target.Digest)) {
				body = do(rec.Header(), body)
			}
			send(w, rec, body)
		}
	}
	byDigest := reg.host + "/me/kit@" + string(target.Digest)
	for name, c := range map[string]struct {
		ref   string
		front func(http.ResponseWriter, *http.Request, http.Handler)
		is    error
		says  []string
	}{
		"bad reference":   {"me/kit:", nil, ErrReference, nil},
		"no such tag":     {reg.host + "/me/kit:2", nil, ErrNotFound, []string{reg.host + "/me/kit:2", "404", `"MANIFEST_UNKNOWN"`}},
		"no such kit":     {reg.host + "/me/none:2", nil, ErrNotFound, []string{"me/none:2"}},
		"no such digest":  {reg.host + "/me/kit@sha256:" + strings.Repeat("0", 64), nil, ErrNotFound, nil},
		"login needed":    {reg.host + "/me/kit:1", status(401, ""), ErrUnauthorized, []string{"docker login " + reg.host}},
		"forbidden":       {reg.host + "/me/kit:1", status(403, "<html>"), ErrUnauthorized, []string{"docker login " + reg.host}},
		"not ours to say": {reg.host + "/me/kit:1", status(418, "short and stout"), nil, []string{"answers 418"}},
		"too large": {reg.host + "/me/kit:1", change(func(_ http.Header, b []byte) []byte { return append(b, make([]byte, MaxManifestSize)...) }),
			ErrTooLarge, []string{"8388608"}},
		"altered under its tag":    {reg.host + "/me/kit:1", change(func(_ http.Header, b []byte) []byte { return append(b, ' ') }), ErrDigest, []string{string(target.Digest)}},
		"altered under its digest": {byDigest, change(func(_ http.Header, b []byte) []byte { return append(b, ' ') }), ErrDigest, []string{string(target.Digest)}},
		"other digest stated": {reg.host + "/me/kit:1", change(func(h http.Header, b []byte) []byte {
			h.Set("Docker-Content-Digest", "sha256:"+strings.Repeat("0", 64))
			return b
		}), ErrDigest, nil},
		"no digest stated":  {reg.host + "/me/kit:1", change(func(h http.Header, b []byte) []byte { h.Del("Docker-Content-Digest"); return b }), nil, nil},
		"odd digest stated": {reg.host + "/me/kit:1", change(func(h http.Header, b []byte) []byte { h.Set("Docker-Content-Digest", "odd"); return b }), nil, nil},
		"type with a parameter": {reg.host + "/me/kit:1", change(func(h http.Header, b []byte) []byte {
			h.Set("Content-Type", ocispec.MediaTypeImageIndex+"; charset=utf-8")
			return b
		}), nil, nil},
		"type not stated": {reg.host + "/me/kit:1", change(func(h http.Header, b []byte) []byte { h.Set("Content-Type", "application/json"); return b }), nil, nil},
		"signed first schema": {reg.host + "/me/kit:1", change(func(h http.Header, _ []byte) []byte {
			h.Set("Content-Type", "application/vnd.docker.distribution.manifest.v1+prettyjws")
			h.Del("Docker-Content-Digest")
			return []byte(`{"schemaVersion":1}`)
		}), ErrNotImage, []string{"v1+prettyjws"}},
		"nobody there": {strings.TrimPrefix(gone.URL, "http://") + "/me/kit:1", nil, nil, []string{"connection refused"}},
	} {
		t.Run(name, func(t *testing.T) {
			reg.setFront(c.front)
			err := readRegistry(c.ref, Options{})
			if c.is == nil && c.says == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if c.is == nil {
				c.is = err // any
			}
			if err == nil {
				t.Fatal("accepted")
			}
			wantError(t, err, c.is, c.says...)
			if strings.Contains(err.Error(), "stout") || strings.Contains(err.Error(), "html") {
				t.Errorf("%q quotes the registry's prose", err)
			}
		})
	}
}

// Every blob and manifest is damaged in turn, in each way, between the registry and us.
func TestDamagedInTransit(t *testing.T) {
	reg := startRegistry(t)
	l, target := pushSample(t, reg, "me/kit:1")
	cases := 0
	for _, name := range files(t, filepath.Join(l.Dir, "blobs", "sha256")) {
		dgst := "sha256:" + name
		for how, d := range damage {
			reg.setFront(func(w http.ResponseWriter, r *http.Request, inner http.Handler) {
				if !strings.HasSuffix(r.URL.Path, dgst) {
					inner.ServeHTTP(w, r)
					return
				}
				if d.do == nil {
					w.WriteHeader(http.StatusNotFound)
					return
				}
				rec := answer(r, inner)
				send(w, rec, d.do(rec.Body.Bytes()))
			})
			err := readRegistry(reg.host+"/me/kit@"+string(target.Digest), Options{})
			if !errors.Is(err, d.is) || !strings.Contains(err.Error(), dgst) {
				t.Errorf("%s %s: %v", dgst, how, err)
			}
			cases++
		}
	}
	if cases != 9*len(damage) {
		t.Errorf("%d cases", cases)
	}
}

// A connection that breaks is not a wrong digest: trying again may help.
func TestBrokenConnection(t *testing.T) {
	reg := startRegistry(t)
	l, _ := pushSample(t, reg, "me/kit:1")
	img, err := OpenLayout(context.Background(), l.Dir, "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	a, err := img.Artifact(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	layer := a.Layers()[0].Digest()
	reg.setFront(func(w http.ResponseWriter, r *http.Request, inner http.Handler) {
		if !strings.HasSuffix(r.URL.Path, layer) {
			inner.ServeHTTP(w, r)
			return
		}
		rec := answer(r, inner)
		w.Header().Set("Content-Length", fmt.Sprint(rec.Body.Len()))
		_, _ = w.Write(rec.Body.Bytes()[:10])
	})
	err = readRegistry(reg.host+"/me/kit:1", Options{})
	if !errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, ErrDigest) {
		t.Errorf("%v", err)
	}
}

// login has a registry ask for a name and a password, or a token for them.
func login(reg *testRegistry, password string, tokens bool) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, inner http.Handler) {
		_, pass, _ := r.BasicAuth()
		switch {
		case tokens && r.URL.Path == "/token":
			if pass != password {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			_, _ = io.WriteString(w, `{"token":"a-token"}`)
		case tokens && r.Header.Get("Authorization") == "Bearer a-token", !tokens && pass == password:
			inner.ServeHTTP(w, r)
		default:
			challenge := `Basic realm="test"`
			if tokens {
				challenge = fmt.Sprintf(`Bearer realm="http://%s/token",service="test"`, reg.host)
			}
			w.Header().Set("WWW-Authenticate", challenge)
			w.WriteHeader(http.StatusUnauthorized)
		}
	}
}

func TestCredentials(t *testing.T) {
	const password = "open-sesame"
	for _, tokens := range []bool{false, true} {
		reg := startRegistry(t)
		reg.setFront(login(reg, password, tokens))
		l, target := sample(t)
		ref := reg.host + "/me/kit:1"
		push := func() error { return Push(context.Background(), l.Dir, target, []string{ref}, Options{}) }
		config := func(pass string) {
			dir := t.TempDir()
			t.Setenv("DOCKER_CONFIG", dir)
			doc := must(json.Marshal(map[string]any{"auths": map[string]any{reg.host: map[string]string{
				"auth": base64.StdEncoding.EncodeToString([]byte("me:" + pass))}}}))(t)
			if err := os.WriteFile(filepath.Join(dir, "config.json"), doc, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, wrong := range []string{"", "guessed-wrong"} {
			if wrong != "" {
				config(wrong)
			}
			for _, err := range []error{readRegistry(ref, Options{}), push()} {
				wantError(t, err, ErrUnauthorized, "docker login "+reg.host)
				if wrong != "" && strings.Contains(err.Error(), wrong) {
					t.Errorf("%q shows a password", err)
				}
			}
		}
		config(password)
		if err := push(); err != nil {
			t.Error(err)
		}
		if err := readRegistry(ref, Options{}); err != nil {
			t.Error(err)
		}
	}
}

func TestRedirects(t *testing.T) {
	for name, c := range map[string]struct {
		from, to string
		hops     int
		fine     bool
	}{
		"to storage":          {"https://ghcr.io/v2/", "https://storage.example.com/x?sig=1", 1, true},
		"to metadata":         {"https://ghcr.io/v2/", "http://169.254.169.254/latest", 1, false},
		"to a private net":    {"https://ghcr.io/v2/", "https://10.0.0.1/x", 1, false},
		"to mapped loopback":  {"https://ghcr.io/v2/", "https://[::ffff:127.0.0.1]/x", 1, false},
		"to localhost":        {"https://ghcr.io/v2/", "https://localhost/x", 1, false},
		"inside private nets": {"https://10.0.0.5/v2/", "https://10.0.0.6/x", 1, true},
		"round and round":     {"https://ghcr.io/v2/", "https://ghcr.io/v2/", 10, false},
	} {
		at := func(s string) *http.Request { return &http.Request{URL: must(url.Parse(s))(t)} }
		via := slices.Repeat([]*http.Request{at(c.from)}, c.hops)
		if err := checkRedirect(at(c.to), via); (err == nil) != c.fine {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An address after a redirect may hold a signature, which is as good as a password.
func TestErrorsShowNoAddresses(t *testing.T) {
	reg := startRegistry(t)
	pushSample(t, reg, "me/kit:1")
	gone := httptest.NewServer(nil)
	gone.Close()
	reg.setFront(func(w http.ResponseWriter, r *http.Request, inner http.Handler) {
		if strings.Contains(r.URL.Path, "/blobs/") {
			http.Redirect(w, r, gone.URL+"/blob?X-Signature=secret", http.StatusTemporaryRedirect)
			return
		}
		inner.ServeHTTP(w, r)
	})
	err := readRegistry(reg.host+"/me/kit:1", Options{})
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
}

// recorder notes which scheme a request went out with.
type recorder struct{ schemes []string }

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	r.schemes = append(r.schemes, req.URL.Scheme+" "+req.URL.Host)
	return &http.Response{StatusCode: 200, Body: io.NopCloser(bytes.NewReader(nil)), Request: req}, nil
}

func TestScheme(t *testing.T) {
	for _, c := range []struct {
		plain     bool
		url, want string
	}{
		{false, "https://reg:5000/v2/", "https reg:5000"},
		{false, "http://reg:5000/v2/", ""},
		{false, "http://storage/x", ""},
		{true, "https://reg:5000/v2/", "http reg:5000"},
		{true, "http://reg:5000/v2/", "http reg:5000"},
		{true, "https://storage/x", "https storage"},
	} {
		rec := &recorder{}
		req := must(http.NewRequest(http.MethodGet, c.url, nil))(t)
		resp, err := (&scheme{plain: c.plain, host: "reg:5000", next: rec}).RoundTrip(req)
		if err == nil {
			resp.Body.Close()
		}
		if got := strings.Join(rec.schemes, ","); got != c.want || (c.want == "") != errors.Is(err, errPlain) {
			t.Errorf("plain %v, %s: %q, %v", c.plain, c.url, got, err)
		}
	}
}

func TestDigestAlgorithms(t *testing.T) {
	if d := digest.SHA512.FromString("x"); d.Validate() != nil {
		t.Error("sha512 is not linked in")
	}
}
