// Package ociimage reads a kit wherever it is published and writes OCI image layouts.
//
// To read, start with [OpenLayout] (a layout directory), [OpenLayoutTar] (a layout in a tar file) or
// [OpenRegistry]. Each gives an [Image]; [Image.Artifacts] lists the platform manifests in it and
// [Artifact.Layers] their layers. To write, start with [CreateLayout], hand [Layout.Store] to whatever
// produces blobs, and name the result with [Layout.Tag]. [WriteTar], [WriteDockerArchive] and [Push] carry
// one target of a layout on to a file, an old Docker Engine or a registry.
//
// # What it guarantees
//
// Every blob is compared with the size and the digest that its descriptor states while it is read; bytes that
// differ end the read with [ErrDigest], and the last piece of such a blob is never handed out. A layout
// directory is whole at any moment, whatever is killed and however full the disk is: blobs appear under
// their digest only when complete and on disk, index.json is replaced last, in one step and under a lock that
// keeps two writers apart.
//
// # What it refuses
//
// Content that is not a runnable image ([ErrNotImage]), documents that could be read in two ways
// ([ErrMalformed]), layouts in compressed or multi-volume tars, links among the members of a layout tar, output
// directories that hold something other than a layout. It deletes no blob and no tag that the caller did not
// name. It judges no kit: none of its errors says that something does not conform.
//
// # Limits
//
// The constants beginning with Max bound what is read from outside. Layers have no bound of their own: they are
// streamed, and their readers decide how far to go.
//
// The package is internal; its interface may change with any commit.
package ociimage

import (
	"context"
	"errors"
	"fmt"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Limits on what is read from outside.
const (
	// MaxManifestSize bounds an index, a manifest, a config and a layout's index.json, in bytes.
	MaxManifestSize = 8 << 20
	// MaxIndexDepth is the depth of the innermost index that is still read; the outermost has depth 0.
	MaxIndexDepth = 4
	// MaxIndexEntries bounds the entries of all indexes met in one descent, and the layers of one manifest. An
	// index that lists another many times over would otherwise multiply with every level.
	MaxIndexEntries = 1024
	// MaxDescentSize bounds the bytes of all indexes and manifests read in one descent.
	MaxDescentSize = 64 << 20
	// MaxLayoutEntries bounds the entries of a layout's index.json.
	MaxLayoutEntries = 10_000
	// MaxTarMembers bounds the members of a layout tar.
	MaxTarMembers = 100_000
)

// Errors that callers branch on. All of them mean "could not judge", never "does not conform".
var (
	// ErrNotFound says that the place, the tag, the digest or a blob is not there.
	ErrNotFound = errors.New("not found")
	// ErrNoTag says that nothing was selected; the message lists what there is.
	ErrNoTag = errors.New("no tag given")
	// ErrUnauthorized says that a registry wants a login, or another one.
	ErrUnauthorized = errors.New("login needed")
	// ErrNotImage says that the content is no runnable image; the message names the rule.
	ErrNotImage = errors.New("not an image")
	// ErrDigest says that bytes differ from the size or the digest that was promised for them.
	ErrDigest = errors.New("content does not match its digest")
	// ErrTooLarge says that something is over one of the limits of this package.
	ErrTooLarge = errors.New("over the limit")
	// ErrMalformed says that a document is not the JSON it should be, or could be read in two ways.
	ErrMalformed = errors.New("malformed")
	// ErrNotLayout says that a directory or a tar is there but holds no OCI layout.
	ErrNotLayout = errors.New("not an OCI layout")
	// ErrReference says that a text is no image reference, or not the kind that is needed.
	ErrReference = errors.New("not a usable image reference")
	// ErrNoSiblings says that the source of an image cannot reach other images.
	ErrNoSiblings = errors.New("source cannot reach other images")
	// ErrSeveralPlatforms says that a form for one platform was asked of an image for several.
	ErrSeveralPlatforms = errors.New("image has several platforms")
)

// Options of the functions that talk to a registry. The zero value is ready for use.
type Options struct {
	// PlainHTTP speaks HTTP without TLS to the registry of the given reference. Loopback hosts are always
	// spoken to that way. Other registries met on the way, such as that of an [Image.Sibling], keep TLS, so
	// that their credentials never travel in clear.
	PlainHTTP bool
	// UserAgent is sent with every request; empty leaves it to the registry library.
	UserAgent string
	// Progress, if set, is called by Push as bytes are done, one call at a time: sent or found present.
	Progress func(done, total int64)
}

// Image is what a reference selects: an index or one manifest. Its methods may be called at the same time.
type Image struct {
	// Target is the descriptor of what the reference selects.
	Target ocispec.Descriptor

	src      source
	where    string    // the place, for messages
	index    *index    // exactly one of these two is set
	manifest *manifest // the target when it is no index
}

// open decodes the target, which has been verified.
func open(src source, where string, target ocispec.Descriptor, raw []byte) (*Image, error) {
	img := &Image{Target: target, src: src, where: where}
	var err error
	switch {
	case isIndex(target.MediaType):
		img.index, err = decodeIndex(target, raw)
	case isManifest(target.MediaType) || target.MediaType == "":
		img.manifest, err = decodeManifest(target, raw)
	default:
		err = notImage(target.Digest, "its media type is %s, neither an image index nor an image manifest",
			quote(target.MediaType))
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", where, err)
	}
	return img, nil
}

// Close releases what the opener holds. Layers that are still open become unreadable.
func (i *Image) Close() error { return i.src.close() }

// Index gives the annotations of the outermost index, nil if it has none; ok is false for a bare manifest.
// Annotations of inner indexes never stand in for them.
func (i *Image) Index() (annotations map[string]string, ok bool) {
	if i.index == nil {
		return nil, false
	}
	return i.index.Annotations, true
}

// Sibling opens what another reference names, at a digest, with the client of this image. The tag of ref is
// not looked at. ErrNoSiblings if the image did not come from a registry.
func (i *Image) Sibling(ctx context.Context, ref, digest string) (*Image, error) {
	reg, ok := i.src.(*registry)
	if !ok {
		return nil, fmt.Errorf("open %s from %s: %w", ref, i.where, ErrNoSiblings)
	}
	named, err := parseReference(ref)
	if err != nil {
		return nil, err
	}
	named, err = atDigest(named, digest)
	if err != nil {
		return nil, err
	}
	return reg.sibling(ctx, named)
}

// quote makes foreign text fit for a message: escaped and of bounded length.
func quote(s string) string {
	const most = 120
	if len(s) > most {
		return fmt.Sprintf("%q...", s[:most])
	}
	return fmt.Sprintf("%q", s)
}

// list joins foreign names for a message, so many that a person can still read them.
func list(names []string) string {
	const most = 20
	quoted := make([]string, 0, most)
	for _, n := range names[:min(len(names), most)] {
		quoted = append(quoted, quote(n))
	}
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(quoted, ", "), more)
	}
	return strings.Join(quoted, ", ")
}
