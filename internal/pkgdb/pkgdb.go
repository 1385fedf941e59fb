// Package pkgdb reads the package databases of Debian and Alpine images, for the provides that are
// derived from them (SPEC-v3 §9.6).
//
// Start with [Databases], which says where an image keeps them and how to read them, and
// [PublishedVersion], which turns a distribution's version into the one a kit states. The package
// works on bytes and opens nothing. It refuses lines over [MaxLine]; the caller bounds the file by
// [MaxFile]. It lists what is recorded, once per record: a package that is installed for two
// architectures appears twice.
package pkgdb

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Bounds on a database, in bytes. The largest real ones have some ten megabytes and lines of a few
// kilobytes.
const (
	MaxFile = 16 << 20
	MaxLine = 1 << 20
)

// ErrLineTooLong says that a database has a line over MaxLine, so it is not one.
var ErrLineTooLong = errors.New("line is too long for a package database")

// Package is one installed package as its database records it.
type Package struct {
	Name    string
	Version string // the distribution's own spelling: see PublishedVersion
}

// Database is a kind of package database.
type Database struct {
	Namespace string // of the provides derived from it: "deb", "apk"
	Path      string // where an image keeps it
	Read      func([]byte) ([]Package, error)
}

// Databases lists the databases in the order in which provides are derived from them.
func Databases() []Database {
	return []Database{
		{"deb", "/var/lib/dpkg/status", ReadDpkg},
		{"apk", "/lib/apk/db/installed", ReadApk},
	}
}

// ReadDpkg reads a dpkg status file. A package whose status does not end in "installed" has left
// nothing but configuration and is not listed.
func ReadDpkg(data []byte) ([]Package, error) {
	var all []Package
	err := stanzas(data, func(lines []string) {
		var p Package
		var status []string
		for _, line := range lines {
			if line[0] == ' ' || line[0] == '\t' {
				continue // goes on with a long value, none of which is asked for
			}
			key, value, _ := strings.Cut(line, ":")
			switch strings.ToLower(key) {
			case "package":
				p.Name = strings.TrimSpace(value)
			case "version":
				p.Version = strings.TrimSpace(value)
			case "status":
				status = strings.Fields(value)
			}
		}
		if p.Name != "" && len(status) > 0 && status[len(status)-1] == "installed" {
			all = append(all, p)
		}
	})
	return all, err
}

// ReadApk reads an apk installed file, which lists nothing but installed packages.
func ReadApk(data []byte) ([]Package, error) {
	var all []Package
	err := stanzas(data, func(lines []string) {
		var p Package
		for _, line := range lines {
			if value, ok := strings.CutPrefix(line, "P:"); ok {
				p.Name = strings.TrimSpace(value)
			} else if value, ok := strings.CutPrefix(line, "V:"); ok {
				p.Version = strings.TrimSpace(value)
			}
		}
		if p.Name != "" {
			all = append(all, p)
		}
	})
	return all, err
}

// stanzas hands over the groups of lines between blank lines; no line of a group is empty.
func stanzas(data []byte, each func(lines []string)) error {
	var group []string
	number := 0
	for raw := range bytes.Lines(data) {
		number++
		if len(raw) > MaxLine {
			return fmt.Errorf("line %d: %w", number, ErrLineTooLong)
		}
		line := strings.TrimSuffix(strings.TrimSuffix(string(raw), "\n"), "\r")
		if strings.TrimSpace(line) != "" {
			group = append(group, line)
			continue
		}
		if group != nil {
			each(group)
			group = group[:0]
		}
	}
	if len(group) > 0 {
		each(group)
	}
	return nil
}

var (
	epoch       = regexp.MustCompile(`^[0-9]+:`)
	numericCore = regexp.MustCompile(`^[0-9]+(\.[0-9]+){0,2}`)
)

// PublishedVersion is the version that a kit states for a package: the leading dotted numbers of the
// upstream version, three at most, without epoch, revision and whatever else the distribution
// wrapped around them. ok is false where no number leads, and where the upstream part has a tilde:
// distributions sort that before the release, which a kit's version cannot express.
func PublishedVersion(raw string) (version string, ok bool) {
	upstream := epoch.ReplaceAllString(strings.TrimSpace(raw), "")
	if i := strings.LastIndexByte(upstream, '-'); i >= 0 {
		upstream = upstream[:i]
	}
	if strings.Contains(upstream, "~") {
		return "", false
	}
	version = numericCore.FindString(upstream)
	return version, version != ""
}
