package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

type entry struct {
	name string
	kind byte
	text string // content of a file, target of a link
}

// pack makes a root file system as mmdebstrap writes one.
func pack(t *testing.T, entries ...entry) io.Reader {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: e.kind, Mode: 0o755}
		if e.kind == tar.TypeReg {
			h.Size = int64(len(e.text))
		} else {
			h.Linkname = e.text
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if e.kind == tar.TypeReg {
			if _, err := io.WriteString(w, e.text); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &out
}

func names(t *testing.T, stream io.Reader) []string {
	t.Helper()
	var all []string
	for r := tar.NewReader(stream); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		name := h.Name
		if h.Linkname != "" {
			name += " -> " + h.Linkname
		}
		all = append(all, name)
	}
}

func TestFilterKeepsTheSystemAndDropsTheMachine(t *testing.T) {
	in := pack(t,
		entry{"./", tar.TypeDir, ""},
		entry{"./bin", tar.TypeSymlink, "usr/bin"},
		entry{"./dev/", tar.TypeDir, ""},
		entry{"./dev/null", tar.TypeChar, ""},
		entry{"./etc/", tar.TypeDir, ""},
		entry{"./etc/apt/sources.list", tar.TypeReg, "deb http://mirror.test/ x main"},
		entry{"./etc/apt/sources.list.d/", tar.TypeDir, ""},
		entry{"./etc/apt/sources.list.d/more.sources", tar.TypeReg, "URIs: http://mirror.test/"},
		entry{"./etc/hostname", tar.TypeReg, "builder"},
		entry{"./etc/passwd", tar.TypeReg, "root:x:0:0::/root:/bin/sh"},
		entry{"./etc/resolv.conf", tar.TypeReg, "nameserver 192.0.2.1"},
		entry{"./usr/bin/perl", tar.TypeReg, "mirror.test"},
		entry{"./usr/bin/perl5", tar.TypeLink, "./usr/bin/perl"},
		entry{"./var/cache/apt/archives/", tar.TypeDir, ""},
		entry{"./var/cache/apt/pkgcache.bin", tar.TypeReg, "x"},
		entry{"./var/lib/apt/lists/mirror.test_Packages", tar.TypeReg, "x"},
		entry{"./var/lib/dpkg/status", tar.TypeReg, "Package: bash"},
		entry{"./var/lib/dpkg/status-old", tar.TypeReg, "Package: bash"},
		entry{"./var/log/apt/history.log", tar.TypeReg, "x"},
	)
	var out bytes.Buffer
	if err := filter(&out, in, []string{"mirror.test"}); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"bin -> usr/bin", "dev/", "etc/", "etc/apt/sources.list.d/", "etc/passwd",
		"usr/bin/perl", "usr/bin/perl5 -> usr/bin/perl", "var/cache/apt/archives/", "var/lib/dpkg/status",
	}
	if got := names(t, &out); !slices.Equal(got, want) {
		t.Errorf("filtered tree:\n got %q\nwant %q", got, want)
	}
}

func TestFilterRefusesAHostOfTheMachine(t *testing.T) {
	for _, name := range []string{"./etc/pip.conf", "./root/.config/pip/pip.conf", "./var/lib/dpkg/status"} {
		in := pack(t, entry{name, tar.TypeReg, "index = http://mirror.test/simple"})
		var named *namedHostError
		if err := filter(io.Discard, in, []string{"proxy.test", "mirror.test"}); !errors.As(err, &named) {
			t.Errorf("%s: got %v, want a namedHostError", name, err)
		} else if named.Host != "mirror.test" || "./"+named.Path != name {
			t.Errorf("%s: got %+v", name, named)
		}
	}
}

func TestFilterRefusesAnEndlessSettingsFile(t *testing.T) {
	for size, want := range map[int]bool{maxSettingsFile: true, maxSettingsFile + 1: false} {
		in := pack(t, entry{"./etc/big", tar.TypeReg, strings.Repeat("x", size)})
		if err := filter(io.Discard, in, nil); (err == nil) != want {
			t.Errorf("a file of %d bytes: %v", size, err)
		}
	}
}

func TestParseSources(t *testing.T) {
	release := osRelease("PRETTY_NAME=\"Debian GNU/Linux 12\"\nID=debian\nVERSION_CODENAME=bookworm\n")
	targets := strings.Join([]string{
		"http://mirror.test/debian/|bookworm|main|Debian|amd64",
		"http://mirror.test/debian/|bookworm|main|Debian|amd64",
		"http://mirror.test/debian/|bookworm|contrib|Debian|amd64",
		"http://mirror.test/debian/|bookworm|main|Debian|arm64",
		"http://security.test/|bookworm-security|main|Debian|amd64",
		"https://vendor.test/apt|stable|main|Vendor|amd64",
		"",
	}, "\n")
	config := "APT::Architecture \"amd64\";\nAcquire::http::Proxy \"http://proxy.test:3128/\";\nAcquire::https::Proxy \"http://localhost:9\";\n"
	got := parseSources(release, "amd64", targets, config)
	wantLines := []string{"deb http://mirror.test/debian/ bookworm main", "deb http://security.test/ bookworm-security main"}
	if got.Codename != "bookworm" || !slices.Equal(got.Lines, wantLines) {
		t.Errorf("got codename %q, lines %q, want bookworm, %q", got.Codename, got.Lines, wantLines)
	}
	wantHosts := []string{"mirror.test", "security.test", "vendor.test", "proxy.test"}
	if !slices.Equal(got.Hosts, wantHosts) {
		t.Errorf("got hosts %q, want %q", got.Hosts, wantHosts)
	}
}

func TestLayoutIsKeptWhileItsStampHolds(t *testing.T) {
	src := sources{Codename: "test", Arch: "arm64"}
	work := t.TempDir()
	root := filepath.Join(work, "root.tar")
	data, err := io.ReadAll(pack(t, entry{"./etc/passwd", tar.TypeReg, "root"}))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(root, data, 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(work, "base")
	if got, err := readStamp(dir); got != "" || err != nil {
		t.Fatalf("stamp of an absent layout: %q, %v", got, err)
	}
	if err := writeLayout(dir, root, src); err != nil {
		t.Fatal(err)
	}
	if got, err := readStamp(dir); got != stamp(src) || err != nil {
		t.Errorf("stamp: got %q, %v, want %q", got, err, stamp(src))
	}
	// A build of it would need root and a network: that it returns at once shows that it kept the layout.
	if err := build(t.Context(), dir, src); err != nil {
		t.Errorf("build of a layout that is there: %v", err)
	}
	if stamp(src) == stamp(sources{Codename: "other", Arch: "arm64"}) {
		t.Error("two distributions share a stamp")
	}
}
