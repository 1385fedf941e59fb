package testenv

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// recorder takes the place of a test whose end is to be watched.
type recorder struct {
	testing.TB
	fatal, skip string
	cleanups    []func()
}

func (r *recorder) Helper()                   {}
func (r *recorder) Failed() bool              { return false }
func (r *recorder) Cleanup(f func())          { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Fatalf(f string, _ ...any) { r.fatal = f; runtime.Goexit() }
func (r *recorder) Skipf(f string, _ ...any)  { r.skip = f; runtime.Goexit() }

// watch runs f as a test function of its own.
func watch(t *testing.T, f func(testing.TB)) *recorder {
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	return r
}

func (r *recorder) end() {
	for i := len(r.cleanups) - 1; i >= 0; i-- {
		r.cleanups[i]()
	}
}

func TestAnAbsentProgramFailsInCIAndSkipsElsewhere(t *testing.T) {
	t.Setenv("CI", "true")
	absent := func(tb testing.TB) { Tool(tb, "no-such-program") }
	r := watch(t, absent)
	if r.fatal == "" || r.skip != "" {
		t.Errorf("in CI: fatal %q, skip %q", r.fatal, r.skip)
	}
	t.Setenv("CI", "")
	r = watch(t, absent)
	if r.fatal != "" || r.skip == "" {
		t.Errorf("elsewhere: fatal %q, skip %q", r.fatal, r.skip)
	}
	if got := Tool(t, "sh"); !filepath.IsAbs(got) {
		t.Errorf("sh is at %q", got)
	}
}

func TestRegistryTakesAnImage(t *testing.T) {
	address := Registry(t)
	image, err := random.Image(100, 2)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(address + "/a/b:c")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, image); err != nil {
		t.Fatal(err)
	}
	got, err := remote.Head(ref)
	if err != nil {
		t.Fatal(err)
	}
	if want, _ := image.Digest(); got.Digest != want {
		t.Errorf("got %s, want %s", got.Digest, want)
	}
}

func TestDockerdRunsTheBaseImage(t *testing.T) {
	layoutDir, digest := Base(t)
	d := Dockerd(t)
	file := filepath.Join(t.TempDir(), "base.tar")
	writeArchive(t, file, layoutDir, digest)
	if out, err := d.Command(t.Context(), "load", "-i", file).CombinedOutput(); err != nil {
		t.Fatalf("load: %v\n%s", err, out)
	}
	out, err := d.Command(t.Context(), "run", "--rm", "--network", "none", "base:latest", "python3", "-c", "print(6 * 7)").Output()
	if err != nil || strings.TrimSpace(string(out)) != "42" {
		t.Errorf("run: got %q, %v", out, err)
	}
}

func writeArchive(t *testing.T, file, layoutDir, digest string) {
	t.Helper()
	hash, err := v1.NewHash(digest)
	if err != nil {
		t.Fatal(err)
	}
	index, err := layout.ImageIndexFromPath(layoutDir)
	if err != nil {
		t.Fatal(err)
	}
	image, err := index.Image(hash)
	if err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag("base:latest")
	if err != nil {
		t.Fatal(err)
	}
	if err := tarball.WriteToFile(file, tag, image); err != nil {
		t.Fatal(err)
	}
}

func TestBuildkitdBuildsOnTheBaseImage(t *testing.T) {
	layoutDir, digest := Base(t)
	b := Buildkitd(t)
	dir := t.TempDir()
	recipe := "FROM base\nRUN python3 --version > /out\nFROM scratch\nCOPY --from=0 /out /out\n"
	if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte(recipe), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := b.Command(t.Context(), "build", "--frontend", "dockerfile.v0", "--progress", "plain",
		"--local", "context="+dir, "--local", "dockerfile="+dir,
		"--oci-layout", "base="+layoutDir, "--opt", "context:base=oci-layout://base@"+digest,
		"--output", "type=local,dest="+dir+"/result").CombinedOutput()
	if err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	got, err := os.ReadFile(filepath.Join(dir, "result", "out"))
	if err != nil || !strings.HasPrefix(string(got), "Python 3.") {
		t.Errorf("got %q, %v", got, err)
	}
}

// What a service started, and what it mounted, ends with it, also when it has no time to tidy up.
func TestNothingIsLeftBehind(t *testing.T) {
	Root(t)
	r := &recorder{TB: t}
	dir := workDir(r)
	mark := filepath.Join(dir, "mark")
	s := start(r, "stubborn", inNamespaces("/bin/sh", "-c",
		"mount -t tmpfs none "+dir+" && { sleep 1000 & } && trap '' TERM && echo up && while :; do sleep 1; done"),
		func(s *service) error {
			if !strings.Contains(s.log.String(), "up") {
				return os.ErrNotExist
			}
			return nil
		})
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(mark); err != nil {
		t.Errorf("the service's mount reaches out of its namespace: %v", err)
	}
	s.cmd.Process.Kill()
	<-s.done
	r.end()
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", dir, err)
	}
	if out, err := exec.CommandContext(context.Background(), "pgrep", "-f", dir).Output(); err == nil {
		t.Errorf("processes are left: %s", out)
	}
}

func TestLogKeepsTheNewest(t *testing.T) {
	var l logTail
	l.Write([]byte(strings.Repeat("x", maxLog)))
	l.Write([]byte("end"))
	if got := l.String(); len(got) != maxLog || !strings.HasSuffix(got, "xend") {
		t.Errorf("kept %d bytes ending in %q", len(got), got[len(got)-8:])
	}
}
