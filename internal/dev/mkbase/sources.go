package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// Sources says where apt on this machine gets its packages.
type sources struct {
	Codename string   // of the distribution, "bookworm"
	Arch     string   // as Debian spells it, "amd64"
	Lines    []string // one-line package sources, "deb URI SUITE COMPONENT"
	Hosts    []string // names that must not get into an image: mirrors and proxies
}

// targetFormat asks apt for one line a package list, with a separator that no field holds.
const targetFormat = "$(REPO_URI)|$(RELEASE)|$(COMPONENT)|$(ORIGIN)|$(ARCHITECTURE)"

// readSources asks apt, which understands every form in which its sources can be written.
func readSources(ctx context.Context) (sources, error) {
	release, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return sources{}, fmt.Errorf("tell the distribution: %w", err)
	}
	arch, err := output(ctx, "dpkg", "--print-architecture")
	if err != nil {
		return sources{}, err
	}
	targets, err := output(ctx, "apt-get", "indextargets", "--format", targetFormat, "Created-By: Packages")
	if err != nil {
		return sources{}, err
	}
	config, err := output(ctx, "apt-config", "dump")
	if err != nil {
		return sources{}, err
	}
	src := parseSources(osRelease(string(release)), strings.TrimSpace(arch), targets, config)
	for _, name := range []string{"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"} {
		src.addHost(os.Getenv(name))
	}
	if src.Codename == "" || len(src.Lines) == 0 {
		return sources{}, errors.New("apt knows no package list of this distribution: run apt-get update first")
	}
	return src, nil
}

// parseSources picks the distribution's own lists: a third party's could pull in packages of its own.
func parseSources(release map[string]string, arch, targets, config string) sources {
	src := sources{Codename: release["VERSION_CODENAME"], Arch: arch}
	for line := range strings.Lines(targets) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if len(f) != 5 {
			continue
		}
		src.addHost(f[0])
		if !strings.EqualFold(f[3], release["ID"]) || f[2] != "main" || f[4] != arch {
			continue
		}
		entry := fmt.Sprintf("deb %s %s %s", f[0], f[1], f[2])
		if !slices.Contains(src.Lines, entry) {
			src.Lines = append(src.Lines, entry)
		}
	}
	for line := range strings.Lines(config) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(key, "Acquire::") && strings.Contains(strings.ToLower(key), "proxy") {
			src.addHost(strings.Trim(value, `";`))
		}
	}
	return src
}

// addHost notes the host of a URL. A loopback name gives nothing away and stands in every image.
func (s *sources) addHost(address string) {
	u, err := url.Parse(address)
	if err != nil {
		return
	}
	host := u.Hostname()
	if host == "" || host == "localhost" || host == "127.0.0.1" || host == "::1" || slices.Contains(s.Hosts, host) {
		return
	}
	s.Hosts = append(s.Hosts, host)
}

// osRelease reads the KEY=value lines of os-release(5).
func osRelease(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			fields[key] = strings.Trim(value, `"'`)
		}
	}
	return fields
}

// output runs a program and returns what it printed; its complaints become part of the error.
func output(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("run %s: %w\n%s", name, err, bytes.TrimSpace(complaints.Bytes()))
	}
	return string(out), nil
}
