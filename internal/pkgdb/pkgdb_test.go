package pkgdb

import (
	"bytes"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestPublishedVersion(t *testing.T) {
	data, err := os.ReadFile("testdata/versions.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases := 0
	for line := range strings.Lines(string(data)) {
		raw, want, ok := strings.Cut(strings.TrimSpace(line), " -> ")
		if !ok {
			continue
		}
		cases++
		got, ok := PublishedVersion(raw)
		if !ok {
			got = "none"
		}
		if got != want {
			t.Errorf("%q gives %q, want %q", raw, got, want)
		}
	}
	if cases == 0 {
		t.Fatal("versions.txt has no cases")
	}
}

const dpkg = `Package: bash
Essential: yes
Status: install ok installed
Version: 5.2.37-2
Description: a shell
 Package: not-a-field
	Version: neither

package: libc6
status: hold ok installed
version: 2.41-12

Package: gone
Status: deinstall ok config-files
Version: 1.0-1

Package: half
Status: install ok half-installed
Version: 1.0-1

Package: unstated
Version: 1.0-1
` + "\r\n" + `Package: last
Status: install ok installed` + "\r\n" + `Version: 3-1`

func TestReadDpkg(t *testing.T) {
	got, err := ReadDpkg([]byte(dpkg))
	want := []Package{{"bash", "5.2.37-2"}, {"libc6", "2.41-12"}, {"last", "3-1"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

const apk = "C:Q1abc=\nP:musl\nV:1.2.5-r9\nA:x86_64\np:so:libc.musl-x86_64.so.1=1\n\nP:busybox\nV:1.36.1-r29\n\nV:1-r0\n"

func TestReadApk(t *testing.T) {
	got, err := ReadApk([]byte(apk))
	want := []Package{{"musl", "1.2.5-r9"}, {"busybox", "1.36.1-r29"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

// A line of MaxLine bytes is read, one byte more is refused.
func TestLineLimit(t *testing.T) {
	for _, db := range Databases() {
		fits := append(bytes.Repeat([]byte("x"), MaxLine-1), '\n')
		if _, err := db.Read(fits); err != nil {
			t.Errorf("%s: a line of %d bytes: %v", db.Namespace, len(fits), err)
		}
		if _, err := db.Read(append([]byte("x"), fits...)); !errors.Is(err, ErrLineTooLong) {
			t.Errorf("%s: a line of %d bytes: %v, want ErrLineTooLong", db.Namespace, len(fits)+1, err)
		}
	}
}

var publishable = regexp.MustCompile(`^[0-9]+(\.[0-9]+){0,2}$`)

// FuzzRead asks that every package that is found stands in the data, and that what is published of
// its version fits the grammar of versions and opens the version's upstream part.
func FuzzRead(f *testing.F) {
	f.Add([]byte(dpkg))
	f.Add([]byte(apk))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, db := range Databases() {
			packages, err := db.Read(data)
			if err != nil && !errors.Is(err, ErrLineTooLong) {
				t.Fatalf("%s: %v", db.Namespace, err)
			}
			for _, p := range packages {
				if p.Name == "" || !bytes.Contains(data, []byte(p.Name)) || !bytes.Contains(data, []byte(p.Version)) {
					t.Fatalf("%s: %+v is not in the data", db.Namespace, p)
				}
				if v, ok := PublishedVersion(p.Version); ok && (!publishable.MatchString(v) || !strings.Contains(p.Version, v)) {
					t.Fatalf("%q is published as %q", p.Version, v)
				}
			}
		}
	})
}
