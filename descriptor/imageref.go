package descriptor

import "strings"

// Limits of image references, as Docker's clients have them.
const (
	maxRepositoryLen = 255
	maxTagLen        = 128
)

// checkImageRef tells what is wrong with s as an image reference in Docker's everyday spelling
// ("acme/tool", "quay.io/acme/tool:1.2", "…@sha256:…"), or "". It also gives the digest, if s has one.
func checkImageRef(s string) (digest, fault string) {
	name, digest, pinned := strings.Cut(s, "@")
	if pinned && !isAnyDigest(digest) {
		return "", "the digest is ill-formed"
	}
	if i := strings.LastIndexByte(name, ':'); i >= 0 && !strings.Contains(name[i:], "/") {
		if !isTag(name[i+1:]) {
			return "", "the tag is ill-formed"
		}
		name = name[:i]
	}
	host, path := "", name
	if first, rest, ok := strings.Cut(name, "/"); ok && isHost(first) {
		host, path = first, rest
		if !isDomain(host) {
			return "", "the registry's host is ill-formed"
		}
	}
	switch {
	case strings.Contains(s, "://"):
		return "", "an image reference has no URL scheme"
	case path == "":
		return "", "the repository is missing"
	case strings.ToLower(path) != path:
		return "", "a repository is written in lower case"
	case host == "" && len(path) == 64 && every(path, func(b byte) bool { return digit(b) || b >= 'a' && b <= 'f' }):
		return "", "a bare image id is no reference"
	case len(host)+1+len(path) > maxRepositoryLen:
		return "", "the repository is too long"
	}
	for _, component := range strings.Split(path, "/") {
		if !isPathComponent(component) {
			return "", "the repository is ill-formed"
		}
	}
	return digest, ""
}

// isHost tells whether the first component of a reference names a registry rather than a user.
func isHost(s string) bool {
	return strings.ContainsAny(s, ".:") || s == "localhost" || strings.ToLower(s) != s
}

func isDomain(s string) bool {
	if strings.HasPrefix(s, "[") {
		address, port, ok := strings.Cut(s[1:], "]")
		return ok && address != "" && every(address, func(b byte) bool { return alnum(b) || b == ':' }) &&
			(port == "" || port[0] == ':' && len(port) > 1 && every(port[1:], digit))
	}
	host, port, ok := strings.Cut(s, ":")
	if ok && (port == "" || !every(port, digit)) {
		return false
	}
	for _, label := range strings.Split(host, ".") {
		if label == "" || !alnum(label[0]) || !alnum(label[len(label)-1]) ||
			!every(label, func(b byte) bool { return alnum(b) || b == '-' }) {
			return false
		}
	}
	return true
}

// isPathComponent: runs of lower-case letters and digits joined by ".", "_", "__" or hyphens.
func isPathComponent(s string) bool {
	if s == "" || !lowerAlnum(s[0]) || !lowerAlnum(s[len(s)-1]) {
		return false
	}
	for i := 0; i < len(s); {
		if lowerAlnum(s[i]) {
			i++
			continue
		}
		j := i
		for j < len(s) && s[j] == s[i] {
			j++
		}
		switch run := j - i; {
		case s[i] == '-':
		case s[i] == '.' && run == 1:
		case s[i] == '_' && run <= 2:
		default:
			return false
		}
		if !lowerAlnum(s[j]) {
			return false
		}
		i = j
	}
	return true
}

func isTag(s string) bool {
	word := func(b byte) bool { return alnum(b) || b == '_' }
	return s != "" && len(s) <= maxTagLen && word(s[0]) &&
		every(s, func(b byte) bool { return word(b) || b == '.' || b == '-' })
}

// isAnyDigest accepts digests of algorithms other than ours as well.
func isAnyDigest(s string) bool {
	algorithm, hex, ok := strings.Cut(s, ":")
	if algorithm == "sha256" {
		return isDigest(s)
	}
	return ok && algorithm != "" && every(algorithm, func(b byte) bool { return lowerAlnum(b) || strings.IndexByte("-_+.", b) >= 0 }) &&
		len(hex) >= 32 && every(hex, func(b byte) bool { return digit(b) || b >= 'a' && b <= 'f' })
}
