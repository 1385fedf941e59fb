package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Buildkit is a running buildkitd with an empty cache and a runc worker.
type Buildkit struct {
	Addr     string // what BUILDKIT_HOST holds
	Buildctl string // path of the client
}

// Buildkitd starts the daemon of the very version that this module builds with. Its builds use the network
// of the test.
func Buildkitd(t testing.TB) *Buildkit {
	t.Helper()
	Root(t)
	runc := Tool(t, "runc")
	daemon, client := buildkitPrograms(t)
	dir := workDir(t)
	socket := filepath.Join(dir, "buildkitd.sock")
	b := &Buildkit{Addr: "unix://" + socket, Buildctl: client}
	cmd := inNamespaces(daemon,
		"--config", settings(t, dir, "buildkitd.toml", fmt.Sprintf("[worker.oci]\ndefaultCgroupParent = %q\n", cgroupParent(t, dir))),
		"--root", filepath.Join(dir, "root"),
		"--addr", b.Addr,
		"--containerd-worker=false",
		"--oci-worker=true", "--oci-worker-binary", runc, "--oci-worker-net", "host",
	)
	start(t, "buildkitd", cmd, func(s *service) error {
		if err := socketAnswers(socket)(s); err != nil {
			return err
		}
		out, err := output(b.Command(context.Background(), "debug", "workers"))
		if err == nil && !strings.Contains(out, "linux/") {
			return errors.New("it has no worker yet")
		}
		return err
	})
	return b
}

// Command prepares a command of buildctl that talks to this daemon.
func (b *Buildkit) Command(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, b.Buildctl, append([]string{"--addr", b.Addr}, args...)...)
}

// buildkitPrograms finds what internal/dev/buildkit.sh made. Compiling takes a minute or two, so no test does it.
func buildkitPrograms(t testing.TB) (daemon, client string) {
	t.Helper()
	version, err := output(exec.Command("go", "list", "-m", "-f", "{{.Version}}", "github.com/moby/buildkit"))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cacheDir(t), "buildkit-"+strings.TrimSpace(version))
	if _, err := os.Stat(dir); err != nil {
		missing(t, "there is no buildkitd: run make setup")
	}
	return filepath.Join(dir, "buildkitd"), filepath.Join(dir, "buildctl")
}
