package ociimage

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	contentapi "github.com/containerd/containerd/api/services/content/v1"
	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/content/proxy"
	"github.com/containerd/containerd/v2/plugins/services/content/contentserver"
	"github.com/containerd/errdefs"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
)

// overWire gives the store as BuildKit sees it: through containerd's content service.
func overWire(t *testing.T, s content.Store) content.Store {
	t.Helper()
	lis := bufconn.Listen(1 << 20)
	server := grpc.NewServer()
	contentapi.RegisterContentServer(server, contentserver.New(s))
	go func() { _ = server.Serve(lis) }()
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient("passthrough:layout", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return proxy.NewContentStore(conn)
}

func descOf(data []byte) ocispec.Descriptor {
	return ocispec.Descriptor{Digest: digest.FromBytes(data), Size: int64(len(data))}
}

func TestStore(t *testing.T) {
	ctx := context.Background()
	for _, route := range []string{"direct", "over the wire"} {
		t.Run(route, func(t *testing.T) {
			l := newLayout(t)
			s := must(l.Store())(t)
			if route == "over the wire" {
				s = overWire(t, s)
			}
			data := bytes.Repeat([]byte("layer "), 1<<20)
			desc := descOf(data)
			if err := content.WriteBlob(ctx, s, "ref", bytes.NewReader(data), desc); err != nil {
				t.Fatal(err)
			}
			_, err := s.Writer(ctx, content.WithRef("ref2"), content.WithDescriptor(desc))
			if !errdefs.IsAlreadyExists(err) {
				t.Errorf("a second writer: %v", err)
			}
			if info, err := s.Info(ctx, desc.Digest); err != nil || info.Size != desc.Size {
				t.Errorf("%v, %v", info, err)
			}
			got, err := content.ReadBlob(ctx, s, desc)
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			if _, err := s.Info(ctx, digest.FromString("none")); !errdefs.IsNotFound(err) {
				t.Errorf("info of nothing: %v", err)
			}
			if _, err := s.ReaderAt(ctx, descOf([]byte("none"))); !errdefs.IsNotFound(err) {
				t.Errorf("reader of nothing: %v", err)
			}
			wrong := desc
			wrong.Digest = digest.FromString("other")
			if err := content.WriteBlob(ctx, s, "wrong", bytes.NewReader(data), wrong); err == nil {
				t.Error("a blob was stored under another digest")
			}
			short := descOf([]byte("12345678"))
			if err := content.WriteBlob(ctx, s, "short", bytes.NewReader([]byte("1234")), short); err == nil {
				t.Error("half a blob was stored")
			}
			count := 0
			if err := s.Walk(ctx, func(i content.Info) error { count++; return nil }); err != nil || count != 1 {
				t.Errorf("%d blobs listed, %v", count, err)
			}
			if err := s.Delete(ctx, desc.Digest); !errdefs.IsFailedPrecondition(err) {
				t.Errorf("delete: %v", err)
			}
			if _, err := s.Update(ctx, content.Info{Digest: desc.Digest}); !errdefs.IsFailedPrecondition(err) {
				t.Errorf("update: %v", err)
			}
			if _, err := s.Status(ctx, "ref"); !errdefs.IsNotFound(err) {
				t.Errorf("status: %v", err)
			}
			if all, err := s.ListStatuses(ctx); err != nil || len(all) != 0 {
				t.Errorf("statuses: %v, %v", all, err)
			}
		})
	}
}

func TestWriterSteps(t *testing.T) {
	ctx := context.Background()
	l := newLayout(t)
	s := must(l.Store())(t)
	w := must(s.Writer(ctx, content.WithRef("r")))(t)
	write := func(text string) {
		t.Helper()
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	write("to be thrown away")
	if err := w.Truncate(3); !errdefs.IsInvalidArgument(err) {
		t.Errorf("truncate to 3: %v", err)
	}
	if err := w.Truncate(0); err != nil {
		t.Fatal(err)
	}
	write("kept")
	if st, err := w.Status(); err != nil || st.Offset != 4 || st.Ref != "r" {
		t.Errorf("%v, %v", st, err)
	}
	if w.Digest() != digest.FromString("kept") {
		t.Errorf("digest %s", w.Digest())
	}
	// The digest expected at the end may be of another algorithm than that assumed at the beginning.
	want := digest.SHA512.FromString("kept")
	if err := w.Commit(ctx, 4, want); err != nil {
		t.Fatal(err)
	}
	if data := must(os.ReadFile(filepath.Join(l.Dir, "blobs", "sha512", want.Encoded())))(t); string(data) != "kept" {
		t.Errorf("stored %q", data)
	}
	if err := w.Commit(ctx, 4, want); !errdefs.IsFailedPrecondition(err) {
		t.Errorf("second commit: %v", err)
	}
	if _, err := w.Write([]byte("x")); !errdefs.IsFailedPrecondition(err) {
		t.Errorf("write after commit: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.Writer(ctx, content.WithDescriptor(ocispec.Descriptor{Digest: "sha256:../x"})); !errdefs.IsInvalidArgument(err) {
		t.Errorf("malformed digest: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	onlyContent(t, l.Dir)
}

// A blob of the wrong length, left by some other tool, is written anew rather than trusted.
func TestBlobOfWrongLengthIsReplaced(t *testing.T) {
	l := newLayout(t)
	data := []byte("whole blob")
	desc := descOf(data)
	file := filepath.Join(l.Dir, filepath.FromSlash(blobPath(desc.Digest)))
	if err := os.WriteFile(file, data[:3], 0o644); err != nil {
		t.Fatal(err)
	}
	if err := putDesc(l, desc, data); err != nil {
		t.Fatal(err)
	}
	if got := must(os.ReadFile(file))(t); !bytes.Equal(got, data) {
		t.Errorf("the layout holds %q", got)
	}
}

// Unfinished blobs are kept while their writer is open, also when somebody tags or opens the layout meanwhile.
func TestTagBesideOpenWriter(t *testing.T) {
	ctx := context.Background()
	l, target := sample(t)
	s := must(l.Store())(t)
	w := must(s.Writer(ctx, content.WithRef("open")))(t)
	if _, err := w.Write([]byte("half")); err != nil {
		t.Fatal(err)
	}
	if err := l.Tag(ctx, target, []string{"kit:2"}); err != nil {
		t.Fatal(err)
	}
	other := createLayout(t, l.Dir)
	put(t, other, "", []byte("another process"))
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(ctx, 4, digest.FromString("half")); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	onlyContent(t, l.Dir)
}

func TestStaleIngestIsRemoved(t *testing.T) {
	l := newLayout(t)
	stale := filepath.Join(l.Dir, ingestPrefix+"123")
	if err := os.MkdirAll(stale, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(stale, "blob-1"), []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	createLayout(t, l.Dir)
	onlyContent(t, l.Dir)
}

func TestWritersAtOnce(t *testing.T) {
	ctx := context.Background()
	l := newLayout(t)
	s := must(l.Store())(t)
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for i := range 10 {
				data := fmt.Appendf(nil, "blob %d, the same for all of them", i)
				err := content.WriteBlob(ctx, s, fmt.Sprint(n, i), bytes.NewReader(data), descOf(data))
				if err != nil && !errdefs.IsAlreadyExists(err) {
					t.Error(err)
				}
			}
			own := fmt.Appendf(nil, `{"schemaVersion":2,"manifests":[],"annotations":{"n":"%d"}}`, n)
			desc := descOf(own)
			desc.MediaType = ocispec.MediaTypeImageIndex
			if err := putDesc(l, desc, own); err != nil {
				t.Error(err)
			}
			if err := l.Tag(ctx, desc, []string{fmt.Sprintf("kit:%d", n)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := len(indexEntries(t, l.Dir)); got != 8 {
		t.Errorf("%d entries, want 8: %s", got, named(t, l.Dir))
	}
	if got := len(files(t, filepath.Join(l.Dir, "blobs"))); got != 18 {
		t.Errorf("%d blobs, want 18", got)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	onlyContent(t, l.Dir)
}
