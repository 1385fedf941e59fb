package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/containerd/platforms"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/tonistiigi/units"

	"github.com/sbxkit/sbxkit/internal/ociimage"
	"github.com/sbxkit/sbxkit/internal/version"
)

// deliver writes the image to every output and pushes it.
func (j *buildJob) deliver(ctx context.Context, layout *ociimage.Layout, target ocispec.Descriptor) error {
	for _, o := range j.outputs {
		switch {
		case o.kind == outputCacheOnly:
		case o.kind == outputOCI && !o.tar:
			j.say("layout: %s%s", o.dest, selectors(j.names, target))
		default:
			write := ociimage.WriteTar
			if o.kind == outputDocker {
				write = ociimage.WriteDockerArchive
			}
			err := j.toFile(o.dest, func(w io.Writer) error {
				return write(ctx, w, layout.Dir, target, j.names)
			})
			if err != nil {
				return err
			}
			if o.dest != "-" {
				j.say("archive: %s", o.dest)
			}
		}
	}
	if !j.push {
		return nil
	}
	release, _ := version.Read()
	opt := ociimage.Options{PlainHTTP: j.plainHTTP, UserAgent: "sbxkit/" + release, Progress: j.pushProgress()}
	if err := ociimage.Push(ctx, layout.Dir, target, j.names, opt); err != nil {
		return err
	}
	for _, name := range j.names {
		j.say("pushed: %s@%s", name, target.Digest)
	}
	return nil
}

// selectors says how the image is asked for in its layout.
func selectors(names []string, target ocispec.Descriptor) string {
	if len(names) == 0 {
		return " (without a tag: select it by " + target.Digest.String() + ")"
	}
	var tags []string
	for _, name := range names {
		if tag := tagOf(name); !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return " (tag " + strings.Join(tags, ", ") + ")"
}

// tagOf is the part of a full name behind the last colon.
func tagOf(name string) string { return name[strings.LastIndexByte(name, ':')+1:] }

// leastProgress is the size, in bytes, from which the progress of a push is worth a word.
const leastProgress = 1 << 20

// pushProgress says every tenth of a push, which is enough for a log and not too much for a terminal.
func (j *buildJob) pushProgress() func(done, total int64) {
	next := int64(1)
	return func(done, total int64) {
		if total < leastProgress || done*10 < next*total {
			return
		}
		next = done*10/total + 1
		j.say("push: %.1f of %.1f", units.Bytes(done), units.Bytes(total))
	}
}

// metadataJSON is the shape of --metadata-file. The keys with a dot are buildx's.
type metadataJSON struct {
	Digest     digest.Digest      `json:"containerimage.digest"`
	Descriptor ocispec.Descriptor `json:"containerimage.descriptor"`
	Name       string             `json:"image.name"` // comma-separated
	Platforms  []string           `json:"platforms"`
}

// report prints the digest, which is the result, and writes the metadata file.
func (j *buildJob) report(ctx context.Context, layout *ociimage.Layout, target ocispec.Descriptor) error {
	if j.metadata != "" {
		if err := j.writeMetadata(ctx, layout, target); err != nil {
			return fmt.Errorf("write metadata: %w", err)
		}
	}
	if j.streams() { // standard output holds the archive
		j.say("%s", target.Digest)
		return nil
	}
	_, err := fmt.Fprintln(j.stdout, target.Digest)
	return err
}

func (j *buildJob) streams() bool {
	return slices.ContainsFunc(j.outputs, func(o output) bool { return o.dest == "-" })
}

func (j *buildJob) writeMetadata(ctx context.Context, layout *ociimage.Layout, target ocispec.Descriptor) (err error) {
	meta := metadataJSON{Digest: target.Digest, Descriptor: target, Name: strings.Join(j.names, ","), Platforms: []string{}}
	image, err := ociimage.OpenLayout(ctx, layout.Dir, target.Digest.String())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, image.Close()) }()
	artifacts, err := image.Artifacts(ctx)
	if err != nil {
		return err
	}
	for _, a := range artifacts {
		config, _, err := a.Config(ctx)
		if err != nil {
			return err
		}
		meta.Platforms = append(meta.Platforms, platforms.FormatAll(config.Platform))
	}
	data, err := json.MarshalIndent(meta, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(j.metadata, append(data, '\n'), 0o644)
}
