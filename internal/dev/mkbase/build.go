package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// packages is what kits/shell asks of its base; everything else is what the distribution calls essential.
var packages = []string{"bash", "ca-certificates", "curl", "git", "python3", "python3-pip"}

// unpacked says which files of packages are left out. Licences stay.
var unpacked = []string{
	"path-exclude=/usr/share/doc/*",
	"path-include=/usr/share/doc/*/copyright",
	"path-exclude=/usr/share/info/*",
	"path-exclude=/usr/share/locale/*",
	"path-exclude=/usr/share/man/*",
}

// sourceDate is the newest time stamp in the image, so that two installations of the same packages agree.
// It lies after 1980, the earliest that a zip archive, and so a Python wheel, can state.
var sourceDate = time.Date(2023, time.June, 10, 0, 0, 0, 0, time.UTC)

// revision goes up when this program makes another image of the same packages.
const revision = "1"

// stampKey is the annotation of the layout's index that tells what the image was made from.
const stampKey = "com.github.sbxkit.base.stamp"

func stamp(src sources) string {
	recipe := strings.Join(append(append([]string{revision, src.Codename, src.Arch}, packages...), unpacked...), "\n")
	return fmt.Sprintf("%x", sha256.Sum256([]byte(recipe)))
}

// build makes the layout at dir unless it is there already. It appears whole or not at all, and two
// processes do not make it at once.
func build(ctx context.Context, dir string, src sources) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	lock := flock.New(dir + ".lock")
	if _, err := lock.TryLockContext(ctx, 100*time.Millisecond); err != nil {
		return fmt.Errorf("wait for %s: %w", lock.Path(), err)
	}
	defer lock.Unlock()

	if current, err := readStamp(dir); err != nil {
		return err
	} else if current == stamp(src) {
		return nil
	}
	fmt.Fprintf(os.Stderr, "mkbase: making %s from packages of %s\n", dir, src.Codename)
	work, err := os.MkdirTemp(filepath.Dir(dir), "base-")
	if err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	defer os.RemoveAll(work)

	root := filepath.Join(work, "root.tar")
	if err := install(ctx, root, src); err != nil {
		return err
	}
	made := filepath.Join(work, "layout")
	if err := writeLayout(made, root, src); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove old layout: %w", err)
	}
	return os.Rename(made, dir)
}

// readStamp returns the empty string for a layout that is absent.
func readStamp(dir string) (string, error) {
	index, err := layout.ImageIndexFromPath(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", dir, err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return "", fmt.Errorf("read %s: %w", dir, err)
	}
	return manifest.Annotations[stampKey], nil
}

// install writes the root file system of a fresh installation to file, filtered.
func install(ctx context.Context, file string, src sources) (err error) {
	out, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("write root file system: %w", err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()

	args := []string{"--mode=root", "--variant=minbase", "--format=tar", "--include=" + strings.Join(packages, ",")}
	for _, option := range unpacked {
		args = append(args, "--dpkgopt="+option)
	}
	args = append(append(args, src.Codename, "-"), src.Lines...)
	cmd := exec.CommandContext(ctx, "mmdebstrap", args...)
	// It unmounts and deletes its work when asked to stop; killed at once it could not.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	cmd.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", sourceDate.Unix()))
	var talk bytes.Buffer
	cmd.Stderr = &talk
	root, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("run mmdebstrap: %w", err)
	}
	filtered := filter(out, root, src.Hosts)
	// After a filter that gave up, nobody reads: a closed pipe ends the program, an open one would hold it.
	root.Close()
	if err := cmd.Wait(); filtered == nil && err != nil {
		return fmt.Errorf("run mmdebstrap: %w\n%s", err, bytes.TrimSpace(talk.Bytes()))
	}
	return filtered
}

// writeLayout makes an image with one layer and tags it "latest".
func writeLayout(dir, root string, src sources) error {
	layer, err := tarball.LayerFromFile(root, tarball.WithCompressionLevel(gzip.BestSpeed), tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return fmt.Errorf("make layer: %w", err)
	}
	platform := v1.Platform{OS: "linux", Architecture: goArch(src.Arch)}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image, mutate.Addendum{
		Layer:   layer,
		History: v1.History{Created: v1.Time{Time: sourceDate}, CreatedBy: "mkbase " + src.Codename},
	})
	if err != nil {
		return fmt.Errorf("make image: %w", err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return fmt.Errorf("make image: %w", err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = platform.OS, platform.Architecture
	config.Created = v1.Time{Time: sourceDate}
	config.Config.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	config.Config.Cmd = []string{"bash"}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return fmt.Errorf("make image: %w", err)
	}
	index := mutate.Annotations(empty.Index, map[string]string{stampKey: stamp(src)}).(v1.ImageIndex)
	target, err := layout.Write(dir, index)
	if err != nil {
		return fmt.Errorf("write layout: %w", err)
	}
	err = target.AppendImage(image,
		layout.WithPlatform(platform),
		layout.WithAnnotations(map[string]string{ocispec.AnnotationRefName: "latest"}))
	if err != nil {
		return fmt.Errorf("write layout: %w", err)
	}
	return nil
}

// goArch translates the few of Debian's names that Go and OCI spell differently.
func goArch(debian string) string {
	switch debian {
	case "i386":
		return "386"
	case "armhf", "armel":
		return "arm"
	case "ppc64el":
		return "ppc64le"
	}
	return debian
}
