package ociimage

import (
	"testing"

	"github.com/distribution/reference"
)

func TestReferences(t *testing.T) {
	for _, v := range vectors(t, "references.txt", 3) {
		named, err := parseReference(v[0])
		if v[1] == "error" {
			if err == nil {
				t.Errorf("%q: accepted as %s", v[0], named)
			} else {
				wantError(t, err, ErrReference)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", v[0], err)
			continue
		}
		var selector string
		switch n := named.(type) {
		case reference.Digested:
			selector = n.Digest().String()
		case reference.Tagged:
			selector = n.Tag()
		}
		if named.Name() != v[1] || selector != v[2] {
			t.Errorf("%q: %s and %s, want %s and %s", v[0], named.Name(), selector, v[1], v[2])
		}
	}
}

func TestLoopback(t *testing.T) {
	for _, v := range vectors(t, "loopback.txt", 2) {
		if got := isLoopback(v[0]); got != (v[1] == "yes") {
			t.Errorf("%s: %v, want %s", v[0], got, v[1])
		}
	}
}

// Plain HTTP may be wished for one host; nothing else loses TLS by it, private networks least of all.
func TestSchemeOfRegistry(t *testing.T) {
	for host, want := range map[string]bool{
		"127.0.0.1:5000": true, "10.0.0.5:5000": false, "10.0.0.6:5000": true, "ghcr.io": false, "registry.local": false,
	} {
		named, err := parseReference(host + "/me/kit")
		if err != nil {
			t.Fatal(err)
		}
		if _, plain, err := repository(named, "10.0.0.6:5000"); err != nil || plain != want {
			t.Errorf("%s: plain %v, %v; want %v", host, plain, err, want)
		}
	}
}
