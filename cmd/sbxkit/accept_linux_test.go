package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/sbxkit/sbxkit/internal/testenv"
)

const (
	kitDir   = "../../kits/deepagents"
	kitFile  = kitDir + "/deepagents.yaml"
	kitTag   = "0.7.21"
	bothText = "linux/amd64, linux/arm64\n  18 checks · 18 passed\n"
)

// buildDeepagents builds the kit for both platforms into a layout folder and returns the digest.
func buildDeepagents(b *bench, out string, flags ...string) string {
	b.t.Helper()
	args := append([]string{"build", kitDir, "-f", kitFile, "-t", "deepagents:" + kitTag,
		"--platform", "linux/amd64,linux/arm64", "--output", "type=oci,dest=" + out + ",tar=false"}, flags...)
	return strings.TrimSpace(b.must("sbxkit", args...).stdout)
}

func readIndex(t *testing.T, dir string) ocispec.Index {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var index ocispec.Index
	if err := json.Unmarshal(data, &index); err != nil {
		t.Fatal(err)
	}
	return index
}

// The main job: the kit is built for two platforms, conforms, and is the same image each time.
func TestDeepagentsConformsAndIsReproducible(t *testing.T) {
	testenv.Root(t)
	first, second := newBench(t), newBench(t) // with caches of their own
	one, two := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "two")
	digest := buildDeepagents(first, one)
	if again := buildDeepagents(second, two); again != digest {
		t.Errorf("built twice: %s and %s", digest, again)
	}
	for _, dir := range []string{one, two} {
		index := readIndex(t, dir)
		if len(index.Manifests) != 1 || index.Manifests[0].Digest.String() != digest {
			t.Errorf("%s names %v, want only %s", dir, index.Manifests, digest)
		}
		r := first.must("kit-tck", "validate", "--layout", dir, kitTag)
		if !strings.Contains(r.stdout, bothText) {
			t.Errorf("verdict on %s:\n%s", dir, r.stdout)
		}
	}
	a, b := readFile(t, one+"/index.json"), readFile(t, two+"/index.json")
	if !bytes.Equal(a, b) {
		t.Errorf("index.json differs:\n%s\n%s", a, b)
	}
}

// A copy of the sources somewhere else, with other times on its files, gives the same image.
func TestDigestDependsOnContentAlone(t *testing.T) {
	testenv.Root(t)
	b := newBench(t)
	digest := buildDeepagents(b, filepath.Join(t.TempDir(), "out"))
	copied := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.CopyFS(copied, os.DirFS(kitDir)); err != nil {
		t.Fatal(err)
	}
	r := newBench(t).must("sbxkit", "build", copied, "-t", "other:tag", "--platform", "linux/amd64,linux/arm64",
		"--output", "type=oci,dest="+filepath.Join(t.TempDir(), "out")+",tar=false")
	if got := strings.TrimSpace(r.stdout); got != digest {
		t.Errorf("built from a copy: %s, want %s", got, digest)
	}
}

// Other people's tools read what we write.
func TestOtherToolsReadTheLayout(t *testing.T) {
	testenv.Root(t)
	skopeo, umoci := testenv.Tool(t, "skopeo"), testenv.Tool(t, "umoci")
	b := newBench(t)
	out, copied := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "copied")
	digest := buildDeepagents(b, out)

	b.must(skopeo, "copy", "--all", "oci:"+out+":"+kitTag, "oci:"+copied+":"+kitTag)
	if got := readIndex(t, copied).Manifests[0].Digest.String(); got != digest {
		t.Errorf("skopeo's copy is %s, want %s", got, digest)
	}
	if r := b.must("kit-tck", "validate", "--layout", copied, kitTag); !strings.Contains(r.stdout, bothText) {
		t.Errorf("verdict on skopeo's copy:\n%s", r.stdout)
	}

	root, err := layout.ImageIndexFromPath(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(root); err != nil {
		t.Errorf("go-containerregistry: %v", err)
	}

	for _, arch := range []string{"amd64", "arm64"} {
		single, bundle := filepath.Join(t.TempDir(), "single"), filepath.Join(t.TempDir(), "bundle")
		b.must(skopeo, "--override-os", "linux", "--override-arch", arch, "copy", "oci:"+out+":"+kitTag, "oci:"+single+":"+arch)
		b.must(umoci, "unpack", "--image", single+":"+arch, bundle)
		staged := filepath.Join(bundle, "rootfs/usr/share/sandbox/kit/deepagents")
		for _, file := range []string{"kit.yaml", "kit.dockerfile", "deepagents-context.md"} {
			if info, err := os.Stat(filepath.Join(staged, file)); err != nil || info.Mode().Perm() != 0o644 {
				t.Errorf("%s: staged %s: %v, %v", arch, file, info, err)
			}
		}
	}
}

// Pushed under two tags, the kit is judged from the registry as it is from the layout.
func TestPush(t *testing.T) {
	testenv.Root(t)
	registry := testenv.Registry(t)
	b := newBench(t)
	out := filepath.Join(t.TempDir(), "out")
	repo := registry + "/kits/deepagents"
	r := b.must("sbxkit", "build", kitDir, "-f", kitFile, "--platform", "linux/amd64,linux/arm64",
		"--output", "type=oci,dest="+out+",tar=false", "--push", "-t", repo+":"+kitTag, "-t", repo+":latest")
	digest := strings.TrimSpace(r.stdout)
	for _, tag := range []string{kitTag, "latest"} {
		ref, err := name.ParseReference(repo + ":" + tag)
		if err != nil {
			t.Fatal(err)
		}
		head, err := remote.Head(ref)
		if err != nil {
			t.Fatal(err)
		}
		if head.Digest.String() != digest {
			t.Errorf("%s is %s, want %s", ref, head.Digest, digest)
		}
		if r := b.must("kit-tck", "validate", repo+":"+tag); !strings.Contains(r.stdout, bothText) {
			t.Errorf("verdict on %s:\n%s", ref, r.stdout)
		}
	}
	for _, entry := range readIndex(t, out).Manifests {
		if got := entry.Digest.String(); got != digest {
			t.Errorf("the layout names %s, want %s", got, digest)
		}
	}
}

// The shell kit is built on a base made of distribution packages, conforms as a workload and runs in an
// engine that reads only the docker archive form.
func TestShellConformsAndRuns(t *testing.T) {
	testenv.Root(t)
	base, baseDigest := testenv.Base(t)
	b := newBench(t)
	dir := t.TempDir()
	out, archive := filepath.Join(dir, "out"), filepath.Join(dir, "shell.tar")
	b.must("sbxkit", "build", "../../kits/shell", "-t", "shell:1.0.0", "--platform", "linux/amd64",
		"--build-context", "debian:12-slim=oci-layout://"+base+"@"+baseDigest,
		"-o", "type=oci,dest="+out+",tar=false", "-o", "type=docker,dest="+archive)
	if r := b.must("kit-tck", "validate", "--layout", out, "1.0.0"); !strings.Contains(r.stdout, "  18 checks · 18 passed\n") {
		t.Errorf("verdict:\n%s", r.stdout)
	}

	engine := testenv.Dockerd(t)
	docker := func(args ...string) string {
		t.Helper()
		r := b.capture(engine.Command(t.Context(), args...))
		if r.status != 0 {
			t.Fatalf("docker %s: %s%s", strings.Join(args, " "), r.stdout, r.stderr)
		}
		return r.stdout
	}
	docker("load", "-i", archive)
	got := docker("run", "--rm", "--network", "none", "shell:1.0.0", "bash", "-c", "id && cd && pwd && python3 -m pip --version")
	if !strings.HasPrefix(got, "uid=1000(agent) gid=1000(agent)") || !strings.Contains(got, "\n/home/agent\n") || !strings.Contains(got, "\npip ") {
		t.Errorf("docker run printed %q", got)
	}
}

// Each slip of the pen in a descriptor is told at its place, before anything is built.
func TestEverySlipIsReportedAtItsNode(t *testing.T) {
	b := newBench(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(kitDir)); err != nil {
		t.Fatal(err)
	}
	list := mutations(t, readFile(t, kitFile))
	const atLeast = 100 // so that a generator that makes nothing cannot pass
	if len(list) < atLeast {
		t.Fatalf("only %d slips", len(list))
	}
	file := filepath.Join(dir, "deepagents.yaml")
	for _, m := range list {
		if err := os.WriteFile(file, m.source, 0o644); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("%s:%d:%d: ", file, m.line, m.column)
		if m.warns {
			r := b.run("sbxkit", "validate", dir)
			if r.status != 0 || !strings.Contains(r.stdout, want+"warning: ") {
				t.Errorf("%s: exit status %d, want 0 and a warning at %d:%d\n%s%s", m.what, r.status, m.line, m.column, r.stdout, r.stderr)
			}
			continue
		}
		r := b.run("sbxkit", "build", dir, "-o", "type=cacheonly")
		if r.status != 1 || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: exit status %d, want 1 and a finding at %d:%d\n%s\n%s", m.what, r.status, m.line, m.column, r.stderr, m.source)
		}
	}
	if _, err := os.Stat(filepath.Join(b.home, "cache")); !os.IsNotExist(err) {
		t.Errorf("something was built: %v", err)
	}
	t.Logf("%d slips", len(list))
}

func readFile(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
