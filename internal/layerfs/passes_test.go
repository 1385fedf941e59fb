package layerfs

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"testing"
)

// layerOf reads the entries of one layer, in the words of the cases.
func layerOf(t testing.TB, lines ...string) []member {
	t.Helper()
	var ms []member
	for _, l := range lines {
		m, err := parseMembers(words(l))
		if err != nil {
			t.Fatalf("%s: %v", l, err)
		}
		ms = append(ms, m...)
	}
	return ms
}

func blobOf(t testing.TB, digest string, lines ...string) *memBlob {
	t.Helper()
	return &memBlob{digest: digest, data: archive(t, layerOf(t, lines...))}
}

func TestOnePassForEveryQuestionButBodies(t *testing.T) {
	ctx := t.Context()
	b := blobOf(t, "a", "file k/a/kit.yaml = 1", "file k/b/kit.yaml = 2", "file etc/passwd = 3", "link l -> k")
	s := NewStack([]Blob{b})
	if b.opened != 0 {
		t.Fatal("NewStack opens a blob")
	}
	for range 2 {
		if _, err := s.Stems(ctx, "/k", "kit.yaml"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Exists(ctx, "/l/a/kit.yaml"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Overlay(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := s.ReadFile(ctx, "/none", 1); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("got %v, want not exist", err)
		}
	}
	if b.opened != 1 || b.ends != 1 {
		t.Fatalf("opened %d times, read to the end %d times, want 1 and 1", b.opened, b.ends)
	}
	// What Stems found comes with the first body that is asked for.
	for stem, want := range map[string]string{"a": "1", "b": "2"} {
		got, err := s.ReadFile(ctx, "/k/"+stem+"/kit.yaml", 10)
		if err != nil || string(got) != want {
			t.Fatalf("%s: got %q, %v", stem, got, err)
		}
		got[0] = 'x' // belongs to the caller
	}
	if got, err := s.ReadFile(ctx, "/k/a/kit.yaml", 10); err != nil || string(got) != "1" {
		t.Fatalf("got %q, %v", got, err)
	}
	if b.opened != 2 || b.ends != 2 {
		t.Fatalf("opened %d times, read to the end %d times, want 2 and 2", b.opened, b.ends)
	}
}

func TestKeepSavesFurtherPasses(t *testing.T) {
	ctx := t.Context()
	b := blobOf(t, "a", "file ./etc/passwd = 3", "file etc/empty", "dir etc/passwd.d", "file big = 12345")
	s := NewStack([]Blob{b})
	s.Keep(func(p string) bool { return strings.HasPrefix(p, "/etc/") })
	for p, want := range map[string]string{"/etc/passwd": "3", "/etc/empty": ""} {
		if got, err := s.ReadFile(ctx, p, 10); err != nil || string(got) != want {
			t.Fatalf("%s: got %q, %v", p, got, err)
		}
	}
	if b.opened != 1 {
		t.Fatalf("opened %d times, want 1", b.opened)
	}
	if got, err := s.ReadFile(ctx, "/big", 10); err != nil || string(got) != "12345" {
		t.Fatalf("got %q, %v", got, err)
	}
	if b.opened != 2 {
		t.Fatalf("opened %d times, want 2", b.opened)
	}
}

func TestBlobsOfOneDigestAreReadOnce(t *testing.T) {
	ctx := t.Context()
	a, b := blobOf(t, "same", "file a"), blobOf(t, "same", "file a")
	c, d := blobOf(t, "", "file c"), blobOf(t, "", "file d")
	s := NewStack([]Blob{a, b, c, d})
	for _, p := range []string{"/a", "/c", "/d"} {
		if ok, err := s.Exists(ctx, p); !ok || err != nil {
			t.Fatalf("%s: %v, %v", p, ok, err)
		}
	}
	if a.opened+b.opened != 1 || c.opened != 1 || d.opened != 1 {
		t.Fatalf("opened %d, %d, %d, %d times", a.opened, b.opened, c.opened, d.opened)
	}
}

// questions are all that a stack can be asked.
var questions = map[string]func(ctx context.Context, s *Stack) error{
	"Exists":   func(ctx context.Context, s *Stack) error { _, err := s.Exists(ctx, "/a"); return err },
	"Stat":     func(ctx context.Context, s *Stack) error { _, err := s.Stat(ctx, "/a"); return err },
	"ReadFile": func(ctx context.Context, s *Stack) error { _, err := s.ReadFile(ctx, "/a", 10); return err },
	"Stems":    func(ctx context.Context, s *Stack) error { _, err := s.Stems(ctx, "/", "a"); return err },
	"Overlay":  func(ctx context.Context, s *Stack) error { _, err := s.Overlay(ctx); return err },
}

func TestBadStreamIsAnErrorOfEveryQuestion(t *testing.T) {
	good := archive(t, layerOf(t, "file a = body", "file b = {x*2000}"))
	gz, zst := pack(t, "gzip", good), pack(t, "zstd", good)
	damaged := bytes.Clone(good)
	damaged[0] ^= 0xff
	errEnd := errors.New("content does not match its digest")
	for name, b := range map[string]*memBlob{
		"not a tar":             {data: bytes.Repeat([]byte("text "), 500)},
		"damaged header":        {data: damaged},
		"cut off in a header":   {data: good[:100]},
		"cut off in a body":     {data: good[:2000]},
		"gzip cut off":          {data: gz[:len(gz)/2]},
		"gzip header only":      {data: gz[:3]},
		"zstd cut off":          {data: zst[:len(zst)/2]},
		"gzip of nonsense":      {data: append([]byte{0x1f, 0x8b}, bytes.Repeat([]byte{7}, 100)...)},
		"error at the very end": {data: gz, fail: errEnd},
	} {
		for q, ask := range questions {
			b.digest, b.opened = "sha256:d", 0
			s := NewStack([]Blob{b})
			err := ask(t.Context(), s)
			if err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "read layer sha256:d: ") {
				t.Errorf("%s: %s: got %v", name, q, err)
			}
			if b.fail != nil && !errors.Is(err, b.fail) {
				t.Errorf("%s: %s: got %v, want the error of the blob", name, q, err)
			}
			if err2 := ask(t.Context(), s); err2 == nil || b.opened != 1 {
				t.Errorf("%s: %s: asked again: %v after %d passes", name, q, err2, b.opened)
			}
		}
	}
}

func TestErrorAtTheEndSpoilsABody(t *testing.T) {
	b := blobOf(t, "a", "file a = body", "file b")
	s := NewStack([]Blob{b})
	if ok, err := s.Exists(t.Context(), "/a"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	b.fail = errors.New("content does not match its digest")
	if got, err := s.ReadFile(t.Context(), "/a", 10); !errors.Is(err, b.fail) {
		t.Fatalf("got %q, %v", got, err)
	}
	b.fail = nil
	b.data = archive(t, layerOf(t, "file x = body", "file b"))
	if got, err := s.ReadFile(t.Context(), "/a", 10); err == nil || !strings.Contains(err.Error(), "changed between two reads") {
		t.Fatalf("got %q, %v", got, err)
	}
	b.data = archive(t, nil)
	if got, err := s.ReadFile(t.Context(), "/a", 10); err == nil || !strings.Contains(err.Error(), "vanished between two reads") {
		t.Fatalf("got %q, %v", got, err)
	}
}

// badBlob fails to open or to close.
type badBlob struct{ open, shut error }

func (b badBlob) Digest() string { return "bad" }
func (b badBlob) Open(context.Context) (io.ReadCloser, error) {
	return shutter{b.shut}, b.open
}

type shutter struct{ err error }

func (shutter) Read([]byte) (int, error) { return 0, io.EOF }
func (s shutter) Close() error           { return s.err }

func TestOpenAndCloseErrorsCount(t *testing.T) {
	want := errors.New("no such blob")
	for _, b := range []badBlob{{open: want}, {shut: want}} {
		if _, err := NewStack([]Blob{b}).Exists(t.Context(), "/a"); !errors.Is(err, want) {
			t.Errorf("%+v: got %v", b, err)
		}
	}
	if _, err := NewStack([]Blob{badBlob{}}).Exists(t.Context(), "/a"); err != nil {
		t.Errorf("an empty stream: got %v", err)
	}
}

func TestACancelledQuestionLeavesNoTrace(t *testing.T) {
	for q, ask := range questions {
		ctx, cancel := context.WithCancel(t.Context())
		b := blobOf(t, "a", "file a = body")
		cancelling := &cancelBlob{memBlob: b, cancel: cancel}
		s := NewStack([]Blob{cancelling})
		if err := ask(ctx, s); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, want cancelled", q, err)
		}
		if err := ask(t.Context(), s); err != nil {
			t.Errorf("%s: asked again: %v", q, err)
		}
		if err := ask(ctx, s); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: asked with an ended context: %v", q, err)
		}
	}
}

// cancelBlob cancels its first reader.
type cancelBlob struct {
	*memBlob
	cancel func()
}

func (b *cancelBlob) Open(ctx context.Context) (io.ReadCloser, error) {
	b.cancel()
	return b.memBlob.Open(ctx)
}

func TestWaitingForTheTurnEndsWithTheContext(t *testing.T) {
	s := NewStack(nil)
	if err := s.acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error)
	go func() {
		_, err := s.Exists(ctx, "/a")
		result <- err
	}()
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	s.release()
	if _, err := s.Exists(t.Context(), "/a"); err != nil {
		t.Fatal(err)
	}
}

func TestManyGoroutines(t *testing.T) {
	var lines []string
	for i := range 20 {
		lines = append(lines, fmt.Sprintf("file k/s%02d/kit.yaml = %d", i, i))
	}
	b := blobOf(t, "a", lines...)
	s := NewStack([]Blob{b, blobOf(t, "b", "link l -> k")})
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			ctx := t.Context()
			if got, err := s.ReadFile(ctx, fmt.Sprintf("/l/s%02d/kit.yaml", i), 10); err != nil || string(got) != fmt.Sprint(i) {
				t.Errorf("got %q, %v", got, err)
			}
			if stems, err := s.Stems(ctx, "/k", "kit.yaml"); err != nil || len(stems) != 20 {
				t.Errorf("got %v, %v", stems, err)
			}
			o, err := s.Overlay(ctx)
			if err != nil || len(o.UnresolvedLinks()) != 0 {
				t.Errorf("got %v", err)
			}
		})
	}
	wg.Wait()
}

func TestTrailingBytesAreNoConcern(t *testing.T) {
	good := archive(t, layerOf(t, "file a = body"))
	for name, data := range map[string][]byte{
		"plain": append(bytes.Clone(good), "trailing"...),
		"gzip":  append(pack(t, "gzip", good), make([]byte, 512)...),
		"zstd":  append(pack(t, "zstd", good), make([]byte, 512)...),
	} {
		b := &memBlob{data: data}
		if ok, err := NewStack([]Blob{b}).Exists(t.Context(), "/a"); !ok || err != nil || b.ends != 1 {
			t.Errorf("%s: %v, %v, read to the end %d times", name, ok, err, b.ends)
		}
	}
}

func TestErrorsNameTheQuestion(t *testing.T) {
	s := NewStack([]Blob{blobOf(t, "a", "link a -> b", "link b -> a", "file c = long")})
	for _, c := range []struct {
		err  error
		want string
	}{
		{second(s.Stat(t.Context(), "/none")), "stat /none: file does not exist"},
		{second(s.ReadFile(t.Context(), "/a", 1)), "read /a: too many links"},
		{second(s.ReadFile(t.Context(), "/c", 3)), "read /c: file is too large"},
		{second(s.Stems(t.Context(), "/a", "f")), "list /a: too many links"},
	} {
		if c.err == nil || c.err.Error() != c.want {
			t.Errorf("got %v, want %s", c.err, c.want)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// The name of a type that archive/tar does not know is kept as a file.
func TestUnknownTypeIsAFile(t *testing.T) {
	data := archive(t, []member{{tar.Header{Name: "a", Typeflag: tar.TypeReg, Mode: 0o600}, []byte("x")}})
	retype(data, 'Z')
	s := NewStack([]Blob{&memBlob{data: data}})
	if i, err := s.Stat(t.Context(), "/a"); err != nil || !i.Regular {
		t.Fatalf("got %+v, %v", i, err)
	}
	if o, err := s.Overlay(t.Context()); err != nil || o.describe("/a") != "file" {
		t.Fatalf("got %v", err)
	}
}
