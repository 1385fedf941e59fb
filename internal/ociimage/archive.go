package ociimage

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/distribution/reference"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// dockerManifestFile is what docker load looks for.
const dockerManifestFile = "manifest.json"

// WriteTar writes one target of the layout in dir as a layout of its own, in a tar stream that depends on target
// and names alone: members sorted, times and owners zero. Names are as for Layout.Tag. An error leaves the stream
// unfinished; whoever writes to a file puts it in place only after success.
func WriteTar(ctx context.Context, w io.Writer, dir string, target ocispec.Descriptor, names []string) error {
	if err := writeTar(ctx, w, layout{dirFiles{root: dir}}, target, names); err != nil {
		return fmt.Errorf("write layout tar of %s: %w", target.Digest, err)
	}
	return nil
}

// WriteDockerArchive writes one target of the layout in dir in the form that docker load of every engine reads: a
// layout tar as of WriteTar with Docker's own list added. That list holds one platform: ErrSeveralPlatforms if
// target has more. Engines from before layouts were known take the image without its annotations.
func WriteDockerArchive(ctx context.Context, w io.Writer, dir string, target ocispec.Descriptor, names []string) error {
	src := layout{dirFiles{root: dir}}
	data, err := dockerList(ctx, src, target, names)
	if err == nil {
		err = writeTar(ctx, w, src, target, names, tarMember{name: dockerManifestFile, data: data})
	}
	if err != nil {
		return fmt.Errorf("write docker archive of %s: %w", target.Digest, err)
	}
	return nil
}

// dockerList is the content of manifest.json for one image.
func dockerList(ctx context.Context, src layout, target ocispec.Descriptor, names []string) ([]byte, error) {
	tags, err := parseTags(names)
	if err != nil {
		return nil, err
	}
	raw, err := readVerified(ctx, src.openManifest, target)
	if err != nil {
		return nil, err
	}
	img, err := open(src, "the image", target, raw)
	if err != nil {
		return nil, err
	}
	all, err := img.Artifacts(ctx)
	if err != nil {
		return nil, err
	}
	if len(all) > 1 {
		var labels []string
		for _, a := range all {
			labels = append(labels, cmp.Or(a.Platform, "no platform"))
		}
		return nil, fmt.Errorf("%w, and a docker archive holds one: %s; build for one of them with --platform, or write --output type=oci",
			ErrSeveralPlatforms, strings.Join(labels, ", "))
	}
	one := struct {
		Config   string
		RepoTags []string
		Layers   []string
	}{RepoTags: []string{}, Layers: []string{}}
	m := all[0].Manifest
	for _, part := range append([]ocispec.Descriptor{m.Config}, m.Layers...) {
		if err := part.Digest.Validate(); err != nil {
			return nil, fmt.Errorf("blob %s: %w: %w", quote(string(part.Digest)), ErrMalformed, err)
		}
	}
	one.Config = blobPath(m.Config.Digest)
	for _, layer := range m.Layers {
		one.Layers = append(one.Layers, blobPath(layer.Digest))
	}
	for _, tag := range tags {
		one.RepoTags = append(one.RepoTags, reference.FamiliarString(tag))
	}
	slices.Sort(one.RepoTags)
	return json.Marshal([]any{one})
}

// writeTar writes a layout tar with further members.
func writeTar(ctx context.Context, w io.Writer, src layout, target ocispec.Descriptor, names []string, members ...tarMember) error {
	entries, err := newEntries(target, names)
	if err != nil {
		return err
	}
	index, err := encodeIndex(&layoutIndex{Manifests: entries})
	if err != nil {
		return err
	}
	version, err := json.Marshal(ocispec.ImageLayout{Version: ocispec.ImageLayoutVersion})
	if err != nil {
		return err
	}
	blobs, err := reachable(ctx, src, target)
	if err != nil {
		return err
	}

	members = append(members,
		tarMember{name: ocispec.ImageIndexFile, data: index},
		tarMember{name: ocispec.ImageLayoutFile, data: version})
	folders := map[string]bool{}
	for _, b := range blobs {
		p := blobPath(b.desc.Digest)
		members = append(members, tarMember{name: p, blob: b.desc})
		for d := path.Dir(p); d != "."; d = path.Dir(d) {
			if !folders[d] {
				folders[d] = true
				members = append(members, tarMember{name: d + "/", folder: true})
			}
		}
	}
	slices.SortFunc(members, func(a, b tarMember) int { return strings.Compare(a.name, b.name) })
	tw := tar.NewWriter(w)
	for _, m := range members {
		if err := m.write(ctx, tw, src); err != nil {
			return err
		}
	}
	return tw.Close()
}

// tarMember is a folder, a file with data, or a blob.
type tarMember struct {
	name   string
	folder bool
	data   []byte
	blob   ocispec.Descriptor
}

func (m tarMember) write(ctx context.Context, tw *tar.Writer, src source) error {
	hdr := &tar.Header{Typeflag: tar.TypeReg, Name: m.name, Mode: 0o644, ModTime: time.Unix(0, 0)}
	var body io.Reader = bytes.NewReader(m.data)
	switch {
	case m.folder:
		hdr.Typeflag, hdr.Mode = tar.TypeDir, 0o755
	case m.blob.Digest != "":
		rc, err := openVerified(ctx, src.openBlob, m.blob)
		if err != nil {
			return err
		}
		defer rc.Close()
		hdr.Size, body = m.blob.Size, rc
	default:
		hdr.Size = int64(len(m.data))
	}
	if err := tw.WriteHeader(hdr); err != nil {
		return err
	}
	_, err := io.Copy(tw, body)
	return err
}
