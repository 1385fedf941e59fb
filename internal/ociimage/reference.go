package ociimage

import (
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/distribution/reference"
	"github.com/opencontainers/go-digest"
)

// parseReference reads a reference as Docker does: "kit" is docker.io/library/kit:latest, and a digest wins
// over a tag. The result has a tag or a digest, never both.
func parseReference(ref string) (reference.Named, error) {
	named, err := reference.ParseDockerRef(ref)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", quote(ref), ErrReference, err)
	}
	// The library takes a first part with capitals for a host, so that "Me/kit" would be looked for there.
	if host := reference.Domain(named); !strings.ContainsAny(host, ".:") && host != "localhost" {
		return nil, fmt.Errorf("%s: %w: a repository name is lower case", quote(ref), ErrReference)
	}
	return named, nil
}

// parseTag reads a reference under which something is to be stored.
func parseTag(ref string) (reference.NamedTagged, error) {
	named, err := parseReference(ref)
	if err != nil {
		return nil, err
	}
	tagged, ok := named.(reference.NamedTagged)
	if !ok {
		return nil, fmt.Errorf("%s: %w: a name to store under has a tag, not a digest", quote(ref), ErrReference)
	}
	return tagged, nil
}

// parseTags reads several, each once, in the given order.
func parseTags(refs []string) ([]reference.NamedTagged, error) {
	var tags []reference.NamedTagged
	seen := map[string]bool{}
	for _, ref := range refs {
		tag, err := parseTag(ref)
		if err != nil {
			return nil, err
		}
		if !seen[tag.String()] {
			seen[tag.String()] = true
			tags = append(tags, tag)
		}
	}
	return tags, nil
}

// atDigest gives the same repository at a digest.
func atDigest(named reference.Named, dgst string) (reference.Named, error) {
	d := digest.Digest(dgst)
	if err := d.Validate(); err != nil {
		return nil, fmt.Errorf("digest %s: %w: %w", quote(dgst), ErrReference, err)
	}
	return reference.WithDigest(reference.TrimNamed(named), d)
}

// isLoopback tells the hosts that are spoken to without TLS, with or without a port: localhost, 127.0.0.0/8
// and ::1. Private networks are not among them.
func isLoopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}
