package kits_test

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sbxkit/sbxkit/internal/testenv"
)

// buildShell builds the recipe of the shell kit alone, on the image tagged by base, and returns what the
// builder said. The engine is a plain buildkitd: this is about the recipe, not about our builder. There is
// no network, which shows that a base with everything needs none.
func buildShell(t *testing.T, b *testenv.Buildkit, layout, digest, output string) ([]byte, error) {
	t.Helper()
	return b.Command(t.Context(), "build", "--frontend", "dockerfile.v0", "--progress", "plain", "--no-cache",
		"--local", "context=shell", "--local", "dockerfile=shell", "--opt", "filename=shell.dockerfile",
		"--opt", "force-network-mode=none", "--opt", "build-arg:SOURCE_DATE_EPOCH=1700000000",
		"--oci-layout", "base="+layout, "--opt", "context:debian:12-slim=oci-layout://base@"+digest,
		"--output", output).CombinedOutput()
}

// changedBase makes a base that differs from the common one by one command.
func changedBase(t *testing.T, b *testenv.Buildkit, command string) (layout, digest string) {
	t.Helper()
	from, fromDigest := testenv.Base(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "Dockerfile"), "FROM base\nRUN "+command+"\n", 0o600)
	layout = filepath.Join(dir, "layout")
	out, err := b.Command(t.Context(), "build", "--frontend", "dockerfile.v0", "--progress", "plain",
		"--local", "context="+dir, "--local", "dockerfile="+dir,
		"--oci-layout", "base="+from, "--opt", "context:base=oci-layout://base@"+fromDigest,
		"--output", "type=oci,tar=false,dest="+layout).CombinedOutput()
	if err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	var index struct{ Manifests []struct{ Digest string } }
	unmarshal(t, string(read(t, filepath.Join(layout, "index.json"))), &index)
	return layout, index.Manifests[0].Digest
}

// TestShell shares one engine: unpacking the base is the slow part.
func TestShell(t *testing.T) {
	b := testenv.Buildkitd(t)
	t.Run("the recipe meets its base", func(t *testing.T) { testShellBases(t, b) })
	t.Run("built twice it is one image", func(t *testing.T) { testShellTwice(t, b) })
	t.Run("it runs in an engine", func(t *testing.T) { testShellRuns(t, b) })
}

func testShellBases(t *testing.T, b *testenv.Buildkit) {
	t.Run("a uid that is taken", func(t *testing.T) {
		layout, digest := changedBase(t, b, "useradd --uid 1000 --create-home other")
		file := filepath.Join(t.TempDir(), "shell.tar")
		if out, err := buildShell(t, b, layout, digest, "type=tar,dest="+file); err != nil {
			t.Fatalf("build: %v\n%s", err, out)
		}
		passwd := tarFile(t, file, "etc/passwd")
		if !strings.Contains(passwd, "\nagent:x:1000:1000::/home/agent:/bin/bash\n") || strings.Contains(passwd, "other") {
			t.Errorf("users:\n%s", passwd)
		}
	})
	t.Run("a package that is missing", func(t *testing.T) {
		// There is no network here: that it asks for the package is all that can be seen.
		layout, digest := changedBase(t, b, "dpkg --purge git")
		out, err := buildShell(t, b, layout, digest, "type=tar,dest="+filepath.Join(t.TempDir(), "shell.tar"))
		if err == nil || !strings.Contains(string(out), "Package git is not available") &&
			!strings.Contains(string(out), "Unable to locate package git") &&
			!strings.Contains(string(out), "Package 'git' has no installation candidate") {
			t.Errorf("got %v\n%s", err, out)
		}
	})
	t.Run("an old Python", func(t *testing.T) {
		layout, digest := changedBase(t, b, `printf '#!/bin/sh\nexit 1\n' >/usr/local/bin/python3 && chmod 755 /usr/local/bin/python3`)
		out, err := buildShell(t, b, layout, digest, "type=tar,dest="+filepath.Join(t.TempDir(), "shell.tar"))
		if err == nil || !strings.Contains(string(out), "Python older than 3.11") {
			t.Errorf("got %v\n%s", err, out)
		}
	})
}

func testShellTwice(t *testing.T, b *testenv.Buildkit) {
	layout, digest := testenv.Base(t)
	var manifests []string
	for range 2 {
		file := filepath.Join(t.TempDir(), "shell.tar")
		if out, err := buildShell(t, b, layout, digest, "type=oci,compression=uncompressed,force-compression=true,rewrite-timestamp=true,dest="+file); err != nil {
			t.Fatalf("build: %v\n%s", err, out)
		}
		var index struct{ Manifests []struct{ Digest string } }
		unmarshal(t, tarFile(t, file, "index.json"), &index)
		manifests = append(manifests, index.Manifests[0].Digest)
	}
	if manifests[0] != manifests[1] {
		t.Errorf("two builds of one recipe: %q", manifests)
	}
}

func testShellRuns(t *testing.T, b *testenv.Buildkit) {
	archive := filepath.Join(t.TempDir(), "shell.tar")
	layout, digest := testenv.Base(t)
	if out, err := buildShell(t, b, layout, digest, "type=docker,name=shell:test,dest="+archive); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	checkShellConfig(t, archive)

	d := testenv.Dockerd(t)
	if out, err := d.Command(t.Context(), "load", "-i", archive).CombinedOutput(); err != nil {
		t.Fatalf("load: %v\n%s", err, out)
	}
	for _, c := range []struct{ name, user, script, want string }{
		{"user", "", "id -u; id -un; id -g; echo $HOME; pwd", "1000\nagent\n1000\n/home/agent\n/home/agent/workspace"},
		{"writable", "", "touch ~/x ./y && echo yes", "yes"},
		{"floor", "", "for p in bash sh curl git python3 pip; do command -v $p >/dev/null || echo no $p; done; echo end", "end"},
		{"python", "", "python3 -c 'import sys, ssl; print(sys.version_info >= (3, 11))'", "True"},
		{"authorities", "", "test -s /etc/ssl/certs/ca-certificates.crt && echo yes", "yes"},
		{"proxy", "", "echo $NO_PROXY $no_proxy", "localhost,127.0.0.1,::1 localhost,127.0.0.1,::1"},
		{"path", "", "echo ${PATH%%:*}", "/home/agent/.local/bin"},
		{"own variables", "", "echo 'export KEPT=1' >~/.sandbox-env.sh; bash -c 'echo $KEPT'", "1"},
		{"root's file", "", "test -w $BASH_ENV || echo read-only", "read-only"},
		{"root reads nothing of the agent's", "0", "echo 'echo stolen' >/home/agent/.sandbox-env.sh; bash -c 'echo clean'", "clean"},
		{"no other user", "0", "find / -xdev -perm /6000 -type f; echo end", "end"},
		{"no ssh server", "", "command -v sshd || echo none", "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := d.Command(t.Context(), "run", "--rm", "--network", "none", "--user", c.user, "shell:test", "/bin/bash", "-c", c.script).Output()
			if got := strings.TrimSpace(string(out)); err != nil || got != c.want {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func checkShellConfig(t *testing.T, archive string) {
	t.Helper()
	var manifest []struct{ Config string }
	unmarshal(t, tarFile(t, archive, "manifest.json"), &manifest)
	var image struct {
		Config struct {
			User, WorkingDir string
			Env, Entrypoint  []string
			Cmd              []string
		}
	}
	unmarshal(t, tarFile(t, archive, manifest[0].Config), &image)
	c := image.Config
	if c.User != "agent" || c.WorkingDir != "/home/agent/workspace" ||
		len(c.Entrypoint) != 0 || !slices.Equal(c.Cmd, []string{"/bin/bash"}) {
		t.Errorf("config %+v", c)
	}
	if !slices.Contains(c.Env, "BASH_ENV=/etc/sandbox-env.sh") {
		t.Errorf("environment %q", c.Env)
	}
}

// tarFile returns one file of a tar archive.
func tarFile(t *testing.T, archive, name string) string {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			t.Fatalf("%s has no %s", archive, name)
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Name != name {
			continue
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatalf("read %s: %v", name, err)
		}
		return string(text)
	}
}

func unmarshal(t *testing.T, text string, out any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), out); err != nil {
		t.Fatal(err)
	}
}
