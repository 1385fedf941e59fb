package testenv

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Docker is a running Docker Engine with no images and no network.
type Docker struct {
	Host   string // value of DOCKER_HOST
	cli    string
	config string // folder of the client's settings, empty
}

// Dockerd starts a Docker Engine: the distribution's own, old enough that it reads nothing newer than the
// docker archive form.
func Dockerd(t testing.TB) *Docker {
	t.Helper()
	Root(t)
	program, cli := Tool(t, "dockerd"), Tool(t, "docker")
	dir := workDir(t)
	d := &Docker{
		Host:   "unix://" + filepath.Join(dir, "docker.sock"),
		cli:    cli,
		config: filepath.Join(dir, "client"),
	}
	cmd := inNamespaces(program,
		"--config-file", settings(t, dir, "daemon.json", "{}"),
		"--data-root", filepath.Join(dir, "data"),
		"--exec-root", filepath.Join(dir, "exec"),
		"--pidfile", filepath.Join(dir, "pid"),
		"--host", d.Host,
		"--group", "root", // who owns the socket; a group "docker" need not exist
		"--cgroup-parent", cgroupParent(t, dir), "--exec-opt", "native.cgroupdriver=cgroupfs",
		"--bridge", "none", "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false",
	)
	cmd.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":"+strings.Join(sbin, ":"))
	start(t, "dockerd", cmd, func(*service) error {
		_, err := output(d.Command(context.Background(), "version", "--format", "{{.Server.Version}}"))
		return err
	})
	return d
}

// Command prepares a command of the docker client that talks to this engine and reads no settings of the user.
func (d *Docker) Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, d.cli, args...)
	cmd.Env = append(os.Environ(), "DOCKER_HOST="+d.Host, "DOCKER_CONFIG="+d.config, "DOCKER_CONTEXT=")
	return cmd
}
