package buildkit

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
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/plugins/content/local"
	"github.com/containerd/platforms"
	"github.com/moby/buildkit/client"
	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/exporter/containerimage/exptypes"
	gateway "github.com/moby/buildkit/frontend/gateway/client"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"
)

// scratchBuild is a build function: one file, for two platforms, from nothing.
func scratchBuild(ctx context.Context, c gateway.Client) (*gateway.Result, error) {
	res := gateway.NewResult()
	var list exptypes.Platforms
	for _, id := range []string{"linux/amd64", "linux/arm64"} {
		p := platforms.MustParse(id)
		def, err := llb.Scratch().File(llb.Mkfile("/platform", 0o644, []byte(id))).Marshal(ctx, llb.Platform(p))
		if err != nil {
			return nil, err
		}
		r, err := c.Solve(ctx, gateway.SolveRequest{Definition: def.ToPB()})
		if err != nil {
			return nil, err
		}
		ref, err := r.SingleRef()
		if err != nil {
			return nil, err
		}
		config, err := json.Marshal(ocispecs.Image{Platform: p})
		if err != nil {
			return nil, err
		}
		res.AddRef(id, ref)
		res.AddMeta(exptypes.ExporterImageConfigKey+"/"+id, config)
		list.Platforms = append(list.Platforms, exptypes.Platform{ID: id, Platform: p})
	}
	b, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	res.AddMeta(exptypes.ExporterPlatformsKey, b)
	return res, nil
}

// toLayout exports to an OCI layout in a directory.
func toLayout(dir string) []client.ExportEntry {
	return []client.ExportEntry{{Type: client.ExporterOCI, OutputDir: dir, Attrs: map[string]string{"tar": "false"}}}
}

// readIndex reads a layout's index, or one that it names.
func readIndex(t *testing.T, dir, name string) ocispecs.Index {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	var index ocispecs.Index
	if err := json.Unmarshal(b, &index); err != nil {
		t.Fatal(err)
	}
	return index
}

func TestBuildTwoPlatforms(t *testing.T) {
	needRoot(t)
	e := start(t, t.TempDir())
	if e.Snapshotter != overlayName && e.Snapshotter != nativeName {
		t.Errorf("snapshotter %q", e.Snapshotter)
	}
	dir := t.TempDir()
	if _, err := e.Client.Build(t.Context(), client.SolveOpt{Exports: toLayout(dir)}, "test", scratchBuild, nil); err != nil {
		t.Fatal(err)
	}
	outer := readIndex(t, dir, "index.json")
	if len(outer.Manifests) != 1 {
		t.Fatalf("index.json names %d manifests, want one index", len(outer.Manifests))
	}
	inner := readIndex(t, dir, "blobs/sha256/"+outer.Manifests[0].Digest.Encoded())
	var got []string
	for _, m := range inner.Manifests {
		got = append(got, platforms.Format(*m.Platform))
	}
	if want := "linux/amd64 linux/arm64"; strings.Join(got, " ") != want {
		t.Errorf("platforms %q, want %q", got, want)
	}
}

// exportFile builds a recipe and returns one file of its result.
func exportFile(t *testing.T, e *Engine, r recipe, name string, opt client.SolveOpt) (string, error) {
	t.Helper()
	tarFile := filepath.Join(t.TempDir(), "out.tar")
	opt.Exports = []client.ExportEntry{{Type: client.ExporterTar, Output: func(map[string]string) (io.WriteCloser, error) {
		return os.Create(tarFile)
	}}}
	if err := r.solve(t.Context(), e, runner(t), opt, nil); err != nil {
		return "", err
	}
	f, err := os.Open(tarFile)
	if err != nil {
		return "", err
	}
	defer f.Close()
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if err != nil {
			return "", fmt.Errorf("look for %s: %w", name, err)
		}
		if h.Name == name {
			b, err := io.ReadAll(r)
			return string(b), err
		}
	}
}

func TestRunStep(t *testing.T) {
	needRoot(t)
	e := start(t, t.TempDir())
	r := dockerfile("FROM scratch", "COPY runner /runner", runStep("write", "/out", "one"), runStep("append", "/out", " two"))
	got, err := exportFile(t, e, r, "out", client.SolveOpt{})
	if err != nil || got != "one two" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestFailingRunStep(t *testing.T) {
	needRoot(t)
	e := start(t, t.TempDir())
	var out bytes.Buffer
	err := dockerfile("FROM scratch", "COPY runner /runner", runStep("fail")).solve(t.Context(), e, runner(t), client.SolveOpt{}, &out)
	if err == nil || !strings.Contains(err.Error(), "exit code: 3") {
		t.Errorf("error %v, want exit code 3", err)
	}
	for _, want := range []string{"to stdout\n", "to stderr\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the step's output %q lacks %q", out.String(), want)
		}
	}
}

// A base image may come from an OCI layout on the client's side, without a registry.
func TestBaseFromLayout(t *testing.T) {
	needRoot(t)
	e := start(t, t.TempDir())
	dir := t.TempDir()
	r := dockerfile("FROM scratch", "COPY runner /runner", runStep("write", "/out", "base"))
	if err := r.solve(t.Context(), e, runner(t), client.SolveOpt{Exports: toLayout(dir)}, nil); err != nil {
		t.Fatal(err)
	}
	store, err := local.NewStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	base := readIndex(t, dir, "index.json").Manifests[0].Digest
	opt := client.SolveOpt{
		OCIStores:     map[string]content.Store{"bases": store},
		FrontendAttrs: map[string]string{"context:base": "oci-layout://bases@" + base.String()},
	}
	// Another engine, which cannot know the image from before.
	got, err := exportFile(t, start(t, t.TempDir()), dockerfile("FROM base", runStep("append", "/out", " and more")), "out", opt)
	if err != nil || got != "base and more" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestConcurrentBuilds(t *testing.T) {
	needRoot(t)
	e := start(t, t.TempDir())
	program := runner(t)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			r := dockerfile("FROM scratch", "COPY runner /runner", runStep("write", "/out", fmt.Sprint(i)))
			if got, err := exportFile(t, e, r, "out", client.SolveOpt{}); err != nil || got != fmt.Sprint(i) {
				t.Errorf("build %d: got %q, %v", i, got, err)
			}
			if err := r.solve(t.Context(), e, program, client.SolveOpt{}, nil); err != nil {
				t.Errorf("build %d again: %v", i, err)
			}
		})
	}
	wg.Wait()
}

// What was built once is known to the next engine on the same directory, and to no other.
func TestCacheIsKept(t *testing.T) {
	needRoot(t)
	build := func(root string) string {
		e := start(t, root)
		var out bytes.Buffer
		r := dockerfile("FROM scratch", "COPY runner /runner", runStep("say", "hello"))
		if err := r.solve(t.Context(), e, runner(t), client.SolveOpt{}, &out); err != nil {
			t.Fatal(err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	root := t.TempDir()
	for i, want := range []string{"hello\n", ""} {
		if got := build(root); got != want {
			t.Errorf("build %d said %q, want %q", i+1, got, want)
		}
	}
	if err := os.RemoveAll(root); err != nil { // safe while no engine runs
		t.Fatal(err)
	}
	if got := build(root); got != "hello\n" {
		t.Errorf("build without cache said %q", got)
	}
}

// A cache that is too large is trimmed when the engine is closed, and what remains is usable.
func TestCacheIsTrimmed(t *testing.T) {
	needRoot(t)
	root := t.TempDir()
	size := func(limit int64) (total int64) {
		e := startWith(t, Options{Root: root, MaxCache: limit})
		for _, text := range []string{"a", "b"} {
			r := dockerfile("FROM scratch", "COPY runner /runner", runStep("write", "/out", text))
			if err := r.solve(t.Context(), e, runner(t), client.SolveOpt{}, nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		err := filepath.Walk(filepath.Join(root, "runc-"+e.Snapshotter, "snapshots"), func(_ string, fi os.FileInfo, err error) error {
			if err == nil && fi.Mode().IsRegular() {
				total += fi.Size()
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return total
	}
	st, err := os.Stat(runner(t))
	if err != nil {
		t.Fatal(err)
	}
	if kept := size(0); kept < st.Size() {
		t.Errorf("%d bytes kept of a cache within its bounds, want the program's %d at least", kept, st.Size())
	}
	if kept := size(1); kept >= st.Size() {
		t.Errorf("%d bytes kept of a cache that may hold one", kept)
	}
	size(0)
}

// Close ends a build that runs, and its container with it.
func TestCloseEndsBuild(t *testing.T) {
	needRoot(t)
	root, mark := t.TempDir(), newMark()
	e := start(t, root)
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	failed := make(chan error, 1)
	program := runner(t)
	go func() {
		defer in.Close()
		r := dockerfile("FROM scratch", "COPY runner /runner", runStep("block", mark))
		failed <- r.solve(context.Background(), e, program, client.SolveOpt{}, in)
	}()
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatalf("the build ended early: %v", <-failed)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if p := processesWith(t, mark); len(p) > 0 {
		t.Errorf("processes after Close: %q", p)
	}
	if m := mountsBelow(t, root); len(m) > 0 {
		t.Errorf("mounts after Close: %q", m)
	}
	if err := <-failed; err == nil {
		t.Error("the build succeeded")
	}
}

// Overlay file systems cannot be stacked on themselves, so there the layers are copied.
func TestWithoutOverlay(t *testing.T) {
	needRoot(t)
	base := t.TempDir()
	for _, name := range []string{"low", "up", "work", "on"} {
		if err := os.Mkdir(filepath.Join(base, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	on := filepath.Join(base, "on")
	if err := unix.Mount("overlay", on, "overlay", 0, fmt.Sprintf("lowerdir=%[1]s/low,upperdir=%[1]s/up,workdir=%[1]s/work", base)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		eventually(t, "unmount", func() []string {
			runtime.GC() // a library leaves a file there that is closed by its finalizer
			if err := unix.Unmount(on, 0); err != nil {
				return []string{err.Error()}
			}
			return nil
		})
	})
	var said []string
	e := startWith(t, Options{Root: filepath.Join(on, "state"), Logf: func(format string, a ...any) {
		said = append(said, fmt.Sprintf(format, a...))
	}})
	if e.Snapshotter != nativeName || len(said) != 1 || !strings.HasPrefix(said[0], "layers are copied") {
		t.Errorf("snapshotter %q, said %q", e.Snapshotter, said)
	}
	r := dockerfile("FROM scratch", "COPY runner /runner", runStep("write", "/out", "x"))
	if got, err := exportFile(t, e, r, "out", client.SolveOpt{}); err != nil || got != "x" {
		t.Errorf("got %q, %v", got, err)
	}
}

// Nothing of the libraries' talk reaches the user, even when a build fails.
func TestSilence(t *testing.T) {
	needRoot(t)
	cmd := helper(t, "isolated-fail", t.TempDir(), runner(t))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if got := exitStatus(t, err); got != 1 || !strings.Contains(string(out), "exit code: 3") {
		t.Errorf("exit status %d, output %q", got, out)
	}
	if stderr.Len() > 0 {
		t.Errorf("standard error: %q", stderr.String())
	}
}

func TestVerbose(t *testing.T) {
	needRoot(t)
	var mu sync.Mutex
	var said []string
	e := startWith(t, Options{Root: t.TempDir(), Verbose: true, Logf: func(format string, a ...any) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, fmt.Sprintf(format, a...))
	}})
	logrus.Error("one")
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	logrus.Error("two")
	mu.Lock()
	defer mu.Unlock()
	if !slices.Contains(said, "builder: error: one") || slices.Contains(said, "builder: error: two") {
		t.Errorf("said %q, want what was logged before Close and not what came after", said)
	}
}

// lingering are the functions of BuildKit in which a goroutine waits after the end of an engine. They hold
// neither files nor the lock.
var lingering = []string{
	"solver/llbsolver/history.NewQueue",
	"util/throttle.throttle",
}

func TestCloseLeavesNothing(t *testing.T) {
	needRoot(t)
	root := t.TempDir()
	once := func() {
		e := start(t, root)
		r := dockerfile("FROM scratch", "COPY runner /runner", runStep("write", "/out", "x"))
		if err := r.solve(t.Context(), e, runner(t), client.SolveOpt{}, nil); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(e.Close(), e.Close()); err != nil {
			t.Fatal(err)
		}
	}
	files := func() []string {
		runtime.GC() // a library leaves one that is closed by its finalizer
		names, err := filepath.Glob("/proc/self/fd/*")
		if err != nil {
			t.Fatal(err)
		}
		var open []string
		for _, name := range names {
			if to, err := os.Readlink(name); err == nil && strings.HasPrefix(to, root) {
				open = append(open, to)
			}
		}
		return open
	}
	before := runtime.NumGoroutine()
	once()
	once()
	eventually(t, "open files", files)
	if m := mountsBelow(t, root); len(m) > 0 {
		t.Errorf("mounts: %q", m)
	}
	if p := processesWith(t, root); len(p) > 0 {
		t.Errorf("processes: %q", p)
	}
	eventually(t, "goroutines", func() []string {
		if runtime.NumGoroutine() <= before {
			return nil
		}
		var b strings.Builder
		if err := pprof.Lookup("goroutine").WriteTo(&b, 2); err != nil {
			t.Fatal(err)
		}
		var left []string
	stacks:
		for stack := range strings.SplitSeq(b.String(), "\n\n") {
			for _, name := range lingering {
				if strings.Contains(stack, name) {
					continue stacks
				}
			}
			if strings.Contains(stack, "moby/buildkit") || strings.Contains(stack, "grpc") {
				left = append(left, stack)
			}
		}
		return left
	})
}
