package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// maxSettingsFile bounds a file that is searched for host names, in bytes. The largest one that packages
// write is dpkg's status, well below a megabyte for this image.
const maxSettingsFile = 16 << 20

// A namedHostError says that the image would give away where this machine gets its packages.
type namedHostError struct{ Path, Host string }

func (e *namedHostError) Error() string {
	return fmt.Sprintf("%s names %s, a mirror or proxy of this machine", e.Path, e.Host)
}

// filter copies a root file system from in to out as a tar stream and leaves out what belongs to this
// machine or to the moment. No regular file in a folder of settings may name one of hosts. Files of
// packages below /usr are not searched: a distribution may well name its public mirrors there.
func filter(out io.Writer, in io.Reader, hosts []string) error {
	r, w := tar.NewReader(in), tar.NewWriter(out)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return w.Close()
		}
		if err != nil {
			return fmt.Errorf("read root file system: %w", err)
		}
		h.Name = clean(h.Name)
		if h.Name == "" || dropped(h) {
			continue
		}
		if h.Typeflag == tar.TypeLink {
			h.Linkname = clean(h.Linkname)
		}
		if h.Typeflag == tar.TypeDir {
			h.Name += "/"
		}
		body := io.Reader(r)
		if h.Typeflag == tar.TypeReg && isSettings(h.Name) {
			data, err := io.ReadAll(io.LimitReader(r, maxSettingsFile+1))
			if err != nil {
				return fmt.Errorf("read %s: %w", h.Name, err)
			}
			if len(data) > maxSettingsFile {
				return fmt.Errorf("search %s: more than %d bytes", h.Name, maxSettingsFile)
			}
			for _, host := range hosts {
				if bytes.Contains(data, []byte(host)) {
					return &namedHostError{Path: h.Name, Host: host}
				}
			}
			body = bytes.NewReader(data)
		}
		if err := w.WriteHeader(h); err != nil {
			return fmt.Errorf("write %s: %w", h.Name, err)
		}
		if _, err := io.Copy(w, body); err != nil {
			return fmt.Errorf("write %s: %w", h.Name, err)
		}
	}
}

// clean turns "./etc/" into "etc" and the root into the empty string.
func clean(name string) string {
	return strings.TrimPrefix(path.Clean("/"+name), "/")
}

// machineFiles belong to the machine that ran the installation.
var machineFiles = []string{
	"etc/apt/apt.conf.d/99mmdebstrap",
	"etc/apt/sources.list",
	"etc/hostname",
	"etc/resolv.conf",
}

// emptied folders keep their sub-folders, which packages rely on, and lose everything else: device nodes
// are the runtime's to make, the rest differs from one installation to the next.
var emptied = []string{
	"dev/",
	"etc/apt/sources.list.d/",
	"var/cache/",
	"var/lib/apt/lists/",
	"var/log/",
}

func dropped(h *tar.Header) bool {
	if slices.Contains(machineFiles, h.Name) {
		return true
	}
	if strings.HasPrefix(h.Name, "var/lib/dpkg/") && strings.HasSuffix(h.Name, "-old") {
		return true
	}
	return h.Typeflag != tar.TypeDir && slices.ContainsFunc(emptied, func(dir string) bool {
		return strings.HasPrefix(h.Name, dir)
	})
}

// isSettings tells whether an installation writes the file, rather than unpacking it.
func isSettings(name string) bool {
	return !strings.HasPrefix(name, "usr/") && !strings.HasPrefix(name, "boot/")
}
