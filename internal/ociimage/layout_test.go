package ociimage

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/containerd/containerd/v2/core/content"
	gcrlayout "github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// there tells which of the paths exist.
func there(paths ...string) string {
	var all []string
	for _, p := range paths {
		if _, err := os.Lstat(p); err == nil {
			all = append(all, filepath.Base(p))
		}
	}
	return strings.Join(all, " ")
}

// A directory is no layout before the first tag; where nothing was written nothing stays.
func TestCreateLayout(t *testing.T) {
	base := t.TempDir()
	outer, dir := filepath.Join(base, "a"), filepath.Join(base, "a", "b")
	l := createLayout(t, dir)
	if got := must(os.ReadDir(dir))(t); len(got) > 0 {
		t.Errorf("a new layout holds %v", got)
	}
	if _, err := OpenLayout(context.Background(), dir, "1"); !errors.Is(err, ErrNotLayout) {
		t.Errorf("before the first tag it is %v", err)
	}
	s := must(l.Store())(t)
	if err := s.Walk(context.Background(), func(content.Info) error { return errors.New("a blob") }); err != nil {
		t.Errorf("listing nothing: %v", err)
	}
	w := must(s.Writer(context.Background(), content.WithRef("r")))(t)
	if _, err := w.Write([]byte("half")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // closing again is no error
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got := there(outer, dir); got != "" {
		t.Errorf("after a build without a result %s is left", got)
	}
	existing := t.TempDir()
	if err := createLayout(t, existing).Close(); err != nil {
		t.Fatal(err)
	}
	if got := must(os.ReadDir(existing))(t); len(got) > 0 {
		t.Errorf("in a directory that was there %v is left", got)
	}
}

// A writer that ends between its first blob and its tag leaves no layout, and the next goes on from there.
func TestBlobsWithoutTag(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "layout")
	l := createLayout(t, dir)
	put(t, l, "text/plain", []byte("part of nothing"))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := files(t, dir); len(got) != 1 || !strings.HasPrefix(got[0], "blobs/sha256/") {
		t.Errorf("it left %v", got)
	}
	l = createLayout(t, dir)
	if err := buildInto(l, "1", 1000); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	wholeLayout(t, dir, []string{"1"})
	onlyContent(t, dir)
	if _, err := gcrlayout.FromPath(dir); err != nil {
		t.Error(err)
	}
	createLayout(t, dir) // once more is fine
}

// A tag that is refused makes no layout.
func TestRefusedTagMakesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "layout")
	l := createLayout(t, dir)
	none := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageIndex, Digest: digest.FromString("none")}
	wantError(t, l.Tag(context.Background(), none, []string{"kit:1"}), ErrNotFound)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := there(dir); got != "" {
		t.Errorf("%s is left", got)
	}
}

// A writer that ends without a result takes an empty directory away from one that has yet to begin.
func TestDirectoryRemovedByAnother(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "layout")
	first, second, third := createLayout(t, dir), createLayout(t, dir), createLayout(t, dir)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if got := there(dir); got != "" {
		t.Fatal("the directory is still there")
	}
	if err := third.Close(); err != nil {
		t.Errorf("close without a directory: %v", err)
	}
	if err := buildInto(second, "1", 1000); err != nil {
		t.Fatal(err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	wholeLayout(t, dir, []string{"1"})
}

// Writers that come and go without a result do not keep each other, nor one that has a result, from writing.
func TestDirectoryMadeAndRemovedAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "layout")
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			for range 25 {
				l, err := CreateLayout(dir)
				if err == nil {
					err = l.Close()
				}
				if err != nil {
					t.Error(err)
				}
			}
			l, err := CreateLayout(dir)
			if err == nil {
				err = errors.Join(buildInto(l, fmt.Sprint(n), 1000), l.Close())
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	wholeLayout(t, dir, []string{"0", "1", "2", "3"})
	onlyContent(t, dir)
}

func TestCreateLayoutRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		is    error
		says  string
	}{
		"foreign files":    {map[string]string{"dir/notes.txt": ""}, ErrNotLayout, `it holds "notes.txt"; name a new or empty directory`},
		"foreign dot file": {map[string]string{"dir/.git/HEAD": ""}, ErrNotLayout, `".git"`},
		"foreign blobs":    {map[string]string{"dir/blobs/sha256/x": "", "dir/blobs/mine": ""}, ErrNotLayout, `it holds "blobs/mine"`},
		"blobs and others": {map[string]string{"dir/blobs/sha256/x": "", "dir/ingest/x": ""}, ErrNotLayout, `"ingest"`},
		"a file":           {map[string]string{"dir": ""}, ErrNotLayout, "it is a file"},
		"later version":    {map[string]string{"dir/oci-layout": `{"imageLayoutVersion":"3"}`}, ErrNotLayout, `"3"`},
		"broken version":   {map[string]string{"dir/oci-layout": `{`}, ErrMalformed, "oci-layout"},
	} {
		t.Run(name, func(t *testing.T) {
			base := t.TempDir()
			for file, data := range c.files {
				path := filepath.Join(base, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			before := files(t, base)
			_, err := CreateLayout(filepath.Join(base, "dir"))
			wantError(t, err, c.is, c.says)
			if after := files(t, base); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Errorf("the directory was touched: %v, before %v", after, before)
			}
		})
	}
	link := filepath.Join(t.TempDir(), "dir")
	if err := os.Symlink("nowhere", link); err != nil {
		t.Fatal(err)
	}
	_, err := CreateLayout(link)
	wantError(t, err, ErrNotLayout, "a link that leads to nothing")
}

// What a process leaves that is killed before the layout is one does not stand in the way of the next.
func TestCreateLayoutAfterEarlyKill(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "blobs", "sha256"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, ingestPrefix+"1"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{lockName, ".oci-layout.tmp", ".index.json.tmp", ingestPrefix + "1/blob-1"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	createLayout(t, dir)
	onlyContent(t, dir)
}

func indexEntries(t testing.TB, dir string) []ocispec.Descriptor {
	t.Helper()
	var idx ocispec.Index
	if err := json.Unmarshal(must(os.ReadFile(filepath.Join(dir, "index.json")))(t), &idx); err != nil {
		t.Fatal(err)
	}
	if idx.SchemaVersion != 2 || idx.MediaType != ocispec.MediaTypeImageIndex {
		t.Errorf("index.json says schemaVersion %d, media type %s", idx.SchemaVersion, idx.MediaType)
	}
	return idx.Manifests
}

// named sums up the entries of a layout: tag, whole name, first figures of the digest.
func named(t testing.TB, dir string) string {
	t.Helper()
	var all []string
	for _, e := range indexEntries(t, dir) {
		all = append(all, fmt.Sprintf("%s=%s@%s", e.Annotations["org.opencontainers.image.ref.name"],
			e.Annotations["io.containerd.image.name"], e.Digest.Encoded()[:6]))
	}
	return strings.Join(all, " ")
}

func TestTag(t *testing.T) {
	ctx := context.Background()
	l := newLayout(t)
	first := putJSON(t, l, ocispec.MediaTypeImageManifest, goodManifest(t, l))
	second := putIndex(t, l, platformIndex(t, "linux/amd64", "linux/arm64"))
	a, b := first.Digest.Encoded()[:6], second.Digest.Encoded()[:6]
	for _, step := range []struct {
		target ocispec.Descriptor
		names  []string
		want   string
	}{
		{first, nil, "=@" + a},
		{first, nil, "=@" + a},
		{first, []string{"kit:2"}, "=@" + a + " 2=docker.io/library/kit:2@" + a},
		{second, []string{"me/kit:1", "kit", "kit:latest"}, "=@" + a + " 1=docker.io/me/kit:1@" + b + " 2=docker.io/library/kit:2@" + a +
			" latest=docker.io/library/kit:latest@" + b},
		{second, nil, "=@" + a + " 1=docker.io/me/kit:1@" + b + " 2=docker.io/library/kit:2@" + a +
			" latest=docker.io/library/kit:latest@" + b},
		{first, []string{"kit:latest", "ghcr.io/b/kit:1", "ghcr.io/a/kit:1"}, "=@" + a + " 1=ghcr.io/a/kit:1@" + a + " 1=ghcr.io/b/kit:1@" + a +
			" 2=docker.io/library/kit:2@" + a + " latest=docker.io/library/kit:latest@" + a},
		{second, []string{"kit:1"}, "=@" + a + " 1=docker.io/library/kit:1@" + b +
			" 2=docker.io/library/kit:2@" + a + " latest=docker.io/library/kit:latest@" + a},
	} {
		if err := l.Tag(ctx, step.target, step.names); err != nil {
			t.Fatal(err)
		}
		if got := named(t, l.Dir); got != step.want {
			t.Errorf("%v:\n got %s\nwant %s", step.names, got, step.want)
		}
	}
	if err := readLayout(l.Dir, "1"); err != nil {
		t.Error(err)
	}
	if err := readLayout(l.Dir, "latest"); err != nil {
		t.Error(err)
	}
	onlyContent(t, l.Dir)
}

func TestTagRefuses(t *testing.T) {
	ctx := context.Background()
	l, good := sample(t)
	before := must(os.ReadFile(filepath.Join(l.Dir, "index.json")))(t)
	half := goodManifest(t, l)
	half.Layers = append(half.Layers, ocispec.Descriptor{Digest: digest.FromString("not there"), Size: 9})
	wrong := good
	wrong.Size++
	for name, c := range map[string]struct {
		target ocispec.Descriptor
		names  []string
		is     error
	}{
		"no reference":     {good, []string{"kit:"}, ErrReference},
		"digest as name":   {good, []string{"kit@" + string(good.Digest)}, ErrReference},
		"missing layer":    {putJSON(t, l, ocispec.MediaTypeImageManifest, half), nil, ErrNotFound},
		"missing target":   {ocispec.Descriptor{MediaType: ocispec.MediaTypeImageIndex, Digest: digest.FromString("none")}, nil, ErrNotFound},
		"wrong size":       {wrong, nil, ErrDigest},
		"not a manifest":   {half.Layers[0], nil, ErrNotImage},
		"malformed digest": {ocispec.Descriptor{MediaType: ocispec.MediaTypeImageIndex, Digest: "sha256:../../x"}, nil, ErrMalformed},
	} {
		err := l.Tag(ctx, c.target, c.names)
		if !errors.Is(err, c.is) {
			t.Errorf("%s: %v, want %q", name, err, c.is)
		}
	}
	if after := must(os.ReadFile(filepath.Join(l.Dir, "index.json")))(t); !bytes.Equal(before, after) {
		t.Error("a refused Tag changed index.json")
	}
	writeIndexJSON(t, l, []byte("{"))
	wantError(t, l.Tag(ctx, good, nil), ErrMalformed)
	if after := must(os.ReadFile(filepath.Join(l.Dir, "index.json")))(t); string(after) != "{" {
		t.Error("a broken index.json was replaced")
	}
}

// What other tools wrote into index.json survives, fields that we do not know included.
func TestTagKeepsForeignEntries(t *testing.T) {
	l, target := sample(t)
	foreign := `{"mediaType":"application/vnd.example","digest":"sha256:` + strings.Repeat("ab", 32) + `","size":7,` +
		`"annotations":{"org.opencontainers.image.created":"2026-01-01T00:00:00Z","org.opencontainers.image.ref.name":"other"},"x-note":{"b":1,"a":[2]}}`
	writeIndexJSON(t, l, []byte(`{"schemaVersion":2,"annotations":{"k":"v"},"manifests":[`+foreign+`]}`))
	if err := l.Tag(context.Background(), target, []string{"kit:1"}); err != nil {
		t.Fatal(err)
	}
	var idx struct {
		Annotations map[string]string `json:"annotations"`
		Manifests   []json.RawMessage `json:"manifests"`
	}
	if err := json.Unmarshal(must(os.ReadFile(filepath.Join(l.Dir, "index.json")))(t), &idx); err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := json.Compact(&got, idx.Manifests[1]); err != nil {
		t.Fatal(err)
	}
	if got.String() != foreign || idx.Annotations["k"] != "v" || len(idx.Manifests) != 2 {
		t.Errorf("index.json is now %s %v", got.String(), idx)
	}
}

func TestLayoutEntriesAreBoundedWhenWriting(t *testing.T) {
	l, target := sample(t)
	e := must(newEntry(target))(t)
	idx := &layoutIndex{}
	for range MaxLayoutEntries {
		idx.Manifests = append(idx.Manifests, e)
	}
	if err := l.writeIndex(idx); err != nil {
		t.Fatal(err)
	}
	wantError(t, l.Tag(context.Background(), target, []string{"kit:2"}), ErrTooLarge)
}

// Equal content and names give equal bytes, in whatever order things happened; no time gets in.
func TestDeterministic(t *testing.T) {
	ctx := context.Background()
	idx := platformIndex(t, "linux/amd64", "linux/arm64")
	var index, archive []byte
	for _, names := range [][]string{{"b/kit:1", "kit:2", "a/kit:1"}, {"a/kit:1", "b/kit:1", "kit:2"}} {
		l := newLayout(t)
		target := putIndex(t, l, idx)
		noisy := target
		noisy.Annotations = map[string]string{"org.opencontainers.image.created": "2026-01-01T00:00:00Z"}
		noisy.Platform = &ocispec.Platform{OS: "linux"}
		if err := l.Tag(ctx, noisy, names); err != nil {
			t.Fatal(err)
		}
		got := must(os.ReadFile(filepath.Join(l.Dir, "index.json")))(t)
		var tarred bytes.Buffer
		if err := WriteTar(ctx, &tarred, l.Dir, noisy, names); err != nil {
			t.Fatal(err)
		}
		if index == nil {
			index, archive = got, tarred.Bytes()
		}
		if !bytes.Equal(index, got) || !bytes.Equal(archive, tarred.Bytes()) {
			t.Errorf("%v gives other bytes", names)
		}
		if bytes.Contains(got, []byte("2026")) || bytes.Contains(got, []byte("platform")) {
			t.Errorf("index.json holds more than it should: %s", got)
		}
	}
}

func TestOthersAcceptOurLayout(t *testing.T) {
	l, target := sample(t)
	if err := validatePath(t, l.Dir, target); err != nil {
		t.Error(err)
	}
	img, err := OpenLayout(context.Background(), l.Dir, "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	all, err := img.Artifacts(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(l.Dir, filepath.FromSlash(blobPath(all[1].Manifest.Layers[1].Digest)))
	if err := os.WriteFile(file, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := validatePath(t, l.Dir, target); err == nil {
		t.Error("a damaged layout was accepted: this test cannot fail")
	}
}

// validatePath has the registry library judge a target of a layout.
func validatePath(t testing.TB, dir string, target ocispec.Descriptor) error {
	t.Helper()
	p, err := gcrlayout.FromPath(dir)
	if err != nil {
		return err
	}
	root, err := p.ImageIndex()
	if err != nil {
		return err
	}
	for _, e := range must(root.IndexManifest())(t).Manifests {
		if e.Digest.String() != string(target.Digest) {
			continue
		}
		idx, err := root.ImageIndex(e.Digest)
		if err != nil {
			return err
		}
		return validate.Index(idx)
	}
	return errors.New("the target is not listed")
}

func TestWriteTar(t *testing.T) {
	ctx := context.Background()
	l, target := sample(t)
	put(t, l, "text/plain", []byte("part of nothing"))
	var buf bytes.Buffer
	if err := WriteTar(ctx, &buf, l.Dir, target, []string{"me/kit:1.0.0"}); err != nil {
		t.Fatal(err)
	}
	tr := tar.NewReader(bytes.NewReader(buf.Bytes()))
	dir, last, blobs := t.TempDir(), "", 0
	for {
		hdr, err := tr.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if hdr.Name <= last || hdr.ModTime.Unix() != 0 || hdr.Uid != 0 || hdr.Gid != 0 || hdr.Uname != "" {
			t.Errorf("member %s after %s: %v", hdr.Name, last, hdr)
		}
		last = hdr.Name
		if hdr.Typeflag == tar.TypeDir {
			if err := os.Mkdir(filepath.Join(dir, hdr.Name), 0o755); err != nil {
				t.Error(err)
			}
			continue
		}
		if strings.HasPrefix(hdr.Name, "blobs/") {
			blobs++
		}
		if err := os.WriteFile(filepath.Join(dir, hdr.Name), must(io.ReadAll(tr))(t), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if blobs != 9 {
		t.Errorf("%d blobs, want those of the target", blobs)
	}
	if err := readLayout(dir, "1.0.0"); err != nil {
		t.Error(err)
	}
	if err := validatePath(t, dir, target); err != nil {
		t.Error(err)
	}
}

type fullWriter struct{ left int }

func (f *fullWriter) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

var errFull = errors.New("no space left")

func TestWriteTarFails(t *testing.T) {
	ctx := context.Background()
	l, target := sample(t)
	wantError(t, WriteTar(ctx, &fullWriter{2000}, l.Dir, target, nil), errFull)
	wantError(t, WriteTar(ctx, io.Discard, l.Dir, target, []string{"kit:"}), ErrReference)
	wantError(t, WriteTar(ctx, io.Discard, l.Dir, ocispec.Descriptor{}, nil), ErrNotImage)
	wantError(t, WriteTar(ctx, io.Discard, filepath.Join(l.Dir, "none"), target, nil), ErrNotFound)
}

func TestWriteDockerArchive(t *testing.T) {
	ctx := context.Background()
	l := newLayout(t)
	img := image(t, "linux/amd64")
	target := putIndex(t, l, platformIndex(t, "linux/amd64"))
	bare := putImage(t, l, img)
	for name, c := range map[string]struct {
		target ocispec.Descriptor
		names  []string
		tags   string
	}{
		"index":          {target, []string{"me/kit:2", "kit:1"}, "[kit:1 me/kit:2]"},
		"manifest":       {bare, []string{"ghcr.io/me/kit"}, "[ghcr.io/me/kit:latest]"},
		"without a name": {bare, nil, "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "image.tar")
			f := must(os.Create(file))(t)
			defer f.Close()
			if err := WriteDockerArchive(ctx, f, l.Dir, c.target, c.names); err != nil {
				t.Fatal(err)
			}
			members := map[string][]byte{}
			rewrite(t, file, func(tw *tar.Writer, hdr *tar.Header, body []byte) {
				members[hdr.Name] = body
				add(tw, *hdr, body)
			})
			var list []struct {
				Config   string
				RepoTags []string
				Layers   []string
			}
			if err := json.Unmarshal(members["manifest.json"], &list); err != nil {
				t.Fatal(err)
			}
			if len(list) != 1 || fmt.Sprint(list[0].RepoTags) != c.tags || len(list[0].Layers) != 2 {
				t.Fatalf("manifest.json is %s", members["manifest.json"])
			}
			for _, m := range append(list[0].Layers, list[0].Config) {
				if digest.FromBytes(members[m]).Encoded() != filepath.Base(m) {
					t.Errorf("member %s has other content, or is missing", m)
				}
			}
			back, err := OpenLayoutTar(ctx, file, string(c.target.Digest))
			if err != nil {
				t.Fatal(err)
			}
			defer back.Close()
			if err := readEverything(ctx, back); err != nil {
				t.Error(err)
			}
		})
	}
	two := putIndex(t, l, platformIndex(t, "linux/amd64", "linux/arm64"))
	wantError(t, WriteDockerArchive(ctx, io.Discard, l.Dir, two, nil), ErrSeveralPlatforms,
		"linux/amd64, linux/arm64", "--platform", "--output type=oci")
	wantError(t, WriteDockerArchive(ctx, io.Discard, l.Dir, two, []string{""}), ErrReference)
}
