package ociimage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func init() {
	roles["full disk"] = fullDiskRole
	roles["file limit"] = fileLimitRole
}

// starve writes a good image, then with too little room a larger one and a tag; the first has to survive.
func starve(dir string, starve func() error, errno error) error {
	l, err := CreateLayout(dir)
	if err != nil {
		return err
	}
	if err := buildInto(l, "good", 10_000); err != nil {
		return err
	}
	if err := starve(); err != nil {
		return err
	}
	for _, tag := range []string{"big", "small"} {
		size := map[string]int{"big": 4 << 20, "small": 20_000}[tag]
		if err := buildInto(l, tag, size); !errors.Is(err, errno) {
			return fmt.Errorf("build of the %s image: %v, want %v", tag, err, errno)
		}
	}
	if err := readLayout(dir, "good"); err != nil {
		return err
	}
	if err := l.Close(); err != nil {
		return err
	}
	for _, extra := range []string{lockName, ".index.json.tmp"} {
		if _, err := os.Lstat(filepath.Join(dir, extra)); err == nil {
			return fmt.Errorf("%s was left", extra)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, ingestPrefix+"*")); err != nil || len(left) > 0 {
		return fmt.Errorf("left: %v, %v", left, err)
	}
	return nil
}

// fullDiskRole runs in a mount namespace of its own, so that the small disk it fills is nobody else's.
func fullDiskRole(args []string) error {
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	disk := args[0]
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=256k"); err != nil {
		return fmt.Errorf("mount a small disk: %w", err)
	}
	dir := filepath.Join(disk, "layout")
	filler := filepath.Join(disk, "filler")
	if err := starve(dir, func() error {
		// All room is taken, so the new index.json has none either.
		err := os.WriteFile(filler, make([]byte, 1<<20), 0o644)
		if !errors.Is(err, unix.ENOSPC) {
			return fmt.Errorf("fill the disk: %v", err)
		}
		return nil
	}, unix.ENOSPC); err != nil {
		return err
	}
	before, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		return err
	}
	target, err := OpenLayout(context.Background(), dir, "good")
	if err != nil {
		return err
	}
	if err := (&Layout{Dir: dir}).Tag(context.Background(), target.Target, []string{"kit:2"}); !errors.Is(err, unix.ENOSPC) {
		return fmt.Errorf("tag without room: %v", err)
	}
	after, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil || !bytes.Equal(before, after) {
		return fmt.Errorf("index.json changed: %v", err)
	}
	// With room again, the next build goes on as if nothing had been.
	if err := os.Remove(filler); err != nil {
		return err
	}
	l, err := CreateLayout(dir)
	if err != nil {
		return err
	}
	return buildInto(l, "small", 20_000)
}

// fileLimitRole has files end at a limit instead, which needs no privilege.
func fileLimitRole(args []string) error {
	signal.Ignore(syscall.SIGXFSZ)
	return starve(args[0], func() error {
		limit := unix.Rlimit{Cur: 4096, Max: 4096}
		return unix.Setrlimit(unix.RLIMIT_FSIZE, &limit)
	}, unix.EFBIG)
}

func TestFullDisk(t *testing.T) {
	cmd := process(t, "full disk", t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, cmd.Stderr)
	}
}

func TestFileLimit(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "layout")
	cmd := process(t, "file limit", dir)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, cmd.Stderr)
	}
	wholeLayout(t, dir, []string{"good"})
	onlyContent(t, dir)
}

// A pipe in the place of a blob would block whoever opens it.
func TestPipeAsBlob(t *testing.T) {
	l, target := sample(t)
	file := filepath.Join(l.Dir, filepath.FromSlash(blobPath(target.Digest)))
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := readLayout(l.Dir, "1.0.0"); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Error(err)
	}
}
