package ociimage

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

func TestPush(t *testing.T) {
	ctx := context.Background()
	one, two := startRegistry(t), startRegistry(t)
	l := newLayout(t)
	// An attestation beside the platforms, as BuildKit makes them, and an index in an index.
	statement := put(t, l, "application/vnd.in-toto+json", []byte("{}"))
	attestation := putJSON(t, l, ocispec.MediaTypeImageManifest, manifestOf(put(t, l, ocispec.MediaTypeImageConfig, []byte("{}")), statement))
	inner := putIndex(t, l, platformIndex(t, "linux/amd64", "linux/arm64"))
	target := putJSON(t, l, ocispec.MediaTypeImageIndex, indexOf(inner, onPlatform(attestation, "unknown", "unknown")))
	refs := []string{one.host + "/me/kit:1", one.host + "/me/kit:latest", two.host + "/you/kit", one.host + "/me/other:1", one.host + "/me/kit:1"}

	var mu sync.Mutex
	var last, total int64
	if err := Push(ctx, l.Dir, target, refs, Options{Progress: func(d, n int64) {
		mu.Lock()
		defer mu.Unlock()
		if d > n {
			t.Errorf("%d of %d bytes done", d, n)
		}
		last, total = d, n
	}}); err != nil {
		t.Fatal(err)
	}
	if last != total || total == 0 {
		t.Errorf("progress ended at %d of %d", last, total)
	}
	for _, ref := range refs {
		img, err := OpenRegistry(ctx, ref, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if img.Target.Digest != target.Digest {
			t.Errorf("%s leads to %s, want %s", ref, img.Target.Digest, target.Digest)
		}
		if err := readEverything(ctx, img); err != nil {
			t.Error(err)
		}
		idx, err := remote.Index(must(name.NewDigest(strings.Split(ref, "/")[0] + "/" + strings.Split(strings.SplitN(ref, "/", 2)[1], ":")[0] + "@" + string(inner.Digest)))(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Index(idx); err != nil {
			t.Error(err)
		}
	}
	for _, reg := range []*testRegistry{one, two} {
		if body := getBlob(t, reg, statement.Digest); body == 0 {
			t.Error("the attestation did not arrive")
		}
	}
	// Once more: everything is there, progress ends at the whole all the same.
	last = 0
	if err := Push(ctx, l.Dir, target, refs, Options{Progress: func(d, _ int64) { last = d }}); err != nil {
		t.Fatal(err)
	}
	if last != total {
		t.Errorf("second progress ended at %d of %d", last, total)
	}
}

func getBlob(t testing.TB, reg *testRegistry, d digest.Digest) int64 {
	t.Helper()
	for _, repo := range []string{"me/kit", "you/kit"} {
		resp, err := http.Head("http://" + reg.host + "/v2/" + repo + "/blobs/" + string(d))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return resp.ContentLength
		}
	}
	return 0
}

// Blobs come first, then manifests, then the index, and tags of every repository last.
func TestPushOrder(t *testing.T) {
	reg := startRegistry(t)
	_, target := pushSample(t, reg, "me/kit:1", "me/kit:2", "me/other:1")
	rank := func(request string) int {
		last := request[strings.LastIndex(request, "/")+1:]
		switch {
		case !strings.HasPrefix(request, "PUT "):
			return -1
		case strings.Contains(request, "/blobs/"):
			return 0
		case last == string(target.Digest):
			return 2
		case strings.HasPrefix(last, "sha256:"):
			return 1
		}
		return 3
	}
	ranks := map[string][]int{}
	firstTag, lastContent, tags := 0, 0, 0
	for n, request := range reg.requests() {
		r := rank(request)
		if r < 0 {
			continue
		}
		repo := strings.Join(strings.Split(request, "/")[2:4], "/")
		ranks[repo] = append(ranks[repo], r)
		if r == 3 {
			tags++
			if firstTag == 0 {
				firstTag = n
			}
		} else {
			lastContent = n
		}
	}
	for repo, r := range ranks {
		if !slices.IsSorted(r) {
			t.Errorf("%s: order %v", repo, r)
		}
	}
	if len(ranks) != 2 || tags != 3 || firstTag < lastContent {
		t.Errorf("%d tags in %d repositories, first at %d, content until %d", tags, len(ranks), firstTag, lastContent)
	}
}

// Wherever a push fails, tags that were there lead where they did.
func TestPushFails(t *testing.T) {
	ctx := context.Background()
	reg := startRegistry(t)
	_, old := pushSample(t, reg, "me/kit:1", "me/other:1")
	refs := []string{reg.host + "/me/kit:1", reg.host + "/me/other:1"}
	var l *Layout
	var target ocispec.Descriptor
	for name, stop := range map[string]func(r *http.Request) bool{
		"blobs": func(r *http.Request) bool { return strings.Contains(r.URL.Path, "me/other/blobs") },
		"manifests": func(r *http.Request) bool {
			return r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/")
		},
		"the index": func(r *http.Request) bool {
			return r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, string(target.Digest))
		},
		"no permission": func(r *http.Request) bool { return r.Method == http.MethodPost },
	} {
		l, target = sample(t)
		reg.setFront(func(w http.ResponseWriter, r *http.Request, inner http.Handler) {
			if stop(r) {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			inner.ServeHTTP(w, r)
		})
		err := Push(ctx, l.Dir, target, refs, Options{})
		wantError(t, err, ErrUnauthorized, "me/", string(target.Digest))
		reg.setFront(nil)
		for _, ref := range refs {
			img, err := OpenRegistry(ctx, ref, Options{})
			if err != nil || img.Target.Digest != old.Digest {
				t.Errorf("%s: %s leads to %v, %v", name, ref, img, err)
			}
		}
	}

	wantError(t, Push(ctx, l.Dir, target, nil, Options{}), ErrReference, "no name given")
	wantError(t, Push(ctx, l.Dir, target, []string{reg.host + "/me/kit@" + string(target.Digest)}, Options{}), ErrReference)
	wantError(t, Push(ctx, l.Dir, ocispec.Descriptor{}, refs, Options{}), ErrNotImage)

	// A blob that is damaged here is our fault, not the registry's, and is named.
	for _, name := range files(t, filepath.Join(l.Dir, "blobs", "sha256")) {
		file := filepath.Join(l.Dir, "blobs", "sha256", name)
		good := must(os.ReadFile(file))(t)
		bad := slices.Clone(good)
		bad[len(bad)-1] ^= 1
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		fresh := startRegistry(t) // it lacks all blobs, so each has to be sent
		wantError(t, Push(ctx, l.Dir, target, []string{fresh.host + "/me/kit:1"}, Options{}), ErrDigest, name)
		if err := os.WriteFile(file, good, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// A registry that files something else under the tag is caught.
func TestPushChecksTags(t *testing.T) {
	ctx := context.Background()
	reg := startRegistry(t)
	_, other := pushSample(t, reg, "me/kit:1")
	l, target := sample(t)
	reg.setFront(func(w http.ResponseWriter, r *http.Request, inner http.Handler) {
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/manifests/1") {
			w.WriteHeader(http.StatusCreated)
			return
		}
		inner.ServeHTTP(w, r)
	})
	wantError(t, Push(ctx, l.Dir, target, []string{reg.host + "/me/kit:1"}, Options{}), ErrDigest, "the tag leads to "+string(other.Digest))
}

func TestPushCancelled(t *testing.T) {
	reg := startRegistry(t)
	l, target := sample(t)
	ctx, cancel := context.WithCancel(context.Background())
	reg.setFront(func(w http.ResponseWriter, r *http.Request, inner http.Handler) {
		if r.Method == http.MethodPost {
			cancel()
		}
		inner.ServeHTTP(w, r)
	})
	wantError(t, Push(ctx, l.Dir, target, []string{reg.host + "/me/kit:1"}, Options{}), context.Canceled)
}
