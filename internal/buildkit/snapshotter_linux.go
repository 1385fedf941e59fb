package buildkit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	ctdsnapshot "github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/containerd/v2/plugins/snapshots/native"
	"github.com/containerd/containerd/v2/plugins/snapshots/overlay"
	"github.com/containerd/continuity/fs"
	"golang.org/x/sys/unix"
)

// snapshotters are the ways to stack layers, by name.
var snapshotters = map[string]func(root string) (ctdsnapshot.Snapshotter, error){
	overlayName: func(root string) (ctdsnapshot.Snapshotter, error) {
		return overlay.NewSnapshotter(root, overlay.AsynchronousRemove)
	},
	nativeName: native.NewSnapshotter,
}

// Names of the snapshotters. The first is the one that is wanted.
const (
	overlayName = "overlayfs"
	nativeName  = "native"
)

// pickSnapshotter prefers overlayfs and tells why it cannot be had. Without the right to mount anything
// there is no snapshotter; the error wraps ErrNotRoot.
func pickSnapshotter(root string, logf func(string, ...any)) (_ string, err error) {
	dir, err := os.MkdirTemp(root, "probe-")
	if err != nil {
		return "", fmt.Errorf("probe mounts: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	err = probeOverlay(dir)
	if err == nil {
		return overlayName, nil
	}
	if bind := unix.Mount(dir, dir, "", unix.MS_BIND, ""); bind != nil {
		return "", fmt.Errorf("%w: this root may not mount file systems (%w): give it CAP_SYS_ADMIN (a container: --privileged)", ErrNotRoot, bind)
	}
	if err := unix.Unmount(dir, 0); err != nil {
		return "", fmt.Errorf("probe mounts: %w", err)
	}
	logf("layers are copied, which is slow: no overlayfs in %s: %v", root, err)
	return nativeName, nil
}

// probeOverlay mounts a writable overlay of two directories below dir for a moment. The mount is
// volatile where the kernel knows the word (5.10): otherwise its end would wait for the disk.
func probeOverlay(dir string) error {
	if ok, err := fs.SupportsDType(dir); err != nil {
		return err
	} else if !ok {
		return errors.New("the file system does not record file types in directories (xfs: ftype=1)")
	}
	for _, name := range []string{"low1", "low2", "up", "work", "on"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			return err
		}
	}
	on := filepath.Join(dir, "on")
	options := fmt.Sprintf("lowerdir=%[1]s/low2:%[1]s/low1,upperdir=%[1]s/up,workdir=%[1]s/work", dir)
	err := unix.Mount("overlay", on, "overlay", 0, options+",volatile")
	if errors.Is(err, unix.EINVAL) {
		err = unix.Mount("overlay", on, "overlay", 0, options)
	}
	if err != nil {
		return fmt.Errorf("mount overlay: %w", err)
	}
	return unix.Unmount(on, 0)
}
