package layerfs

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	unpacker "github.com/containerd/containerd/v2/pkg/archive"
	"golang.org/x/sys/unix"

	"github.com/sbxkit/sbxkit/internal/testenv"
)

// stacks is how many random stacks are unpacked. The seeds count up from 0, so that a failure can be had again.
var stacks = flag.Uint64("stacks", 200, "`number` of random stacks that TestAgainstRealExtraction unpacks")

// TestAgainstRealExtraction compares the model with an unpacker in real use, an overlay mount and the kernel's own lookup
// of links, for many small random stacks.
func TestAgainstRealExtraction(t *testing.T) {
	testenv.Root(t) // for an overlay mount, device nodes and owners
	dir := t.TempDir()
	failed := make(chan error)
	go func() {
		// Mounts are made in a namespace of this thread, which ends with the goroutine: it is never unlocked.
		runtime.LockOSThread()
		failed <- compareAll(t, dir)
	}()
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
}

func compareAll(t *testing.T, dir string) error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("unshare: %w", err)
	}
	// In a changed root, which is no mount point, the kernel refuses; then the mounts below are seen outside until
	// the thread ends.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("make mounts private: %w", err)
	}
	// A file system of its own: an overlay on an overlay could not hold whiteouts.
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, ""); err != nil {
		return fmt.Errorf("mount tmpfs: %w", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	compared := uint64(0)
	for seed := range *stacks {
		layers := randomStack(rand.New(rand.NewPCG(seed, 0)), seed%2 == 1)
		work := filepath.Join(dir, fmt.Sprint(seed))
		ok, err := compare(t, work, layers)
		if err != nil {
			return fmt.Errorf("stack %d: %w\n%s", seed, err, script(layers))
		}
		if ok {
			compared++
		}
		if err := os.RemoveAll(work); err != nil {
			return err
		}
	}
	t.Logf("%d of %d stacks compared", compared, *stacks)
	if *stacks == 0 || compared < *stacks/2 {
		return errors.New("too few stacks could be compared")
	}
	return nil
}

// script writes layers in the words of the cases.
func script(layers [][]member) string {
	var b strings.Builder
	for _, l := range layers {
		b.WriteString("layer\n")
		for _, m := range l {
			h := &m.header
			fmt.Fprintf(&b, "  %c %s %d:%d %04o -> %s\n", h.Typeflag, h.Name, h.Uid, h.Gid, h.Mode, h.Linkname)
		}
	}
	return b.String()
}

// randomStack makes a few small layers. In one half of them links are everywhere; in the other half nothing is unpacked below a
// link, and targets hold ".." anywhere: there the unpacker and the kernel disagree about what ".." after a link means.
func randomStack(r *rand.Rand, linksAreLeaves bool) [][]member {
	dirs, links := []string{"a", "b", "c"}, []string{"a", "b", "c"}
	targets := []string{"a", "b", "c"}
	if linksAreLeaves {
		links, targets = []string{"l", "m", "n"}, []string{"a", "b", "c", "l", "m", "n", "..", "."}
	}
	var layers [][]member
	for range 1 + r.IntN(4) {
		var l []member
		for range 1 + r.IntN(7) {
			l = append(l, randomMember(r, dirs, links, targets))
		}
		layers = append(layers, l)
	}
	return layers
}

// randomPath makes a path of up to three names, the last one out of a list of its own.
func randomPath(r *rand.Rand, names, last []string) string {
	var p []string
	for range r.IntN(3) {
		p = append(p, names[r.IntN(len(names))])
	}
	return strings.Join(append(p, last[r.IntN(len(last))]), "/")
}

func randomMember(r *rand.Rand, dirs, links, targets []string) member {
	h := tar.Header{Name: randomPath(r, dirs, dirs), Mode: int64(0o700 + r.IntN(0o100)), Uid: r.IntN(5), Gid: r.IntN(5)}
	kind := r.IntN(20)
	if kind >= 9 && kind < 13 {
		h.Name = randomPath(r, dirs, links)
	}
	switch r.IntN(8) {
	case 0:
		h.Name = "./" + h.Name
	case 1:
		h.Name = "c/../" + h.Name
	}
	dir, base := filepath.Split(h.Name)
	switch {
	case kind < 6:
		h.Typeflag = tar.TypeDir
		h.Name += "/"
	case kind < 9:
		h.Typeflag = tar.TypeReg
	case kind < 13:
		h.Typeflag = tar.TypeSymlink
		h.Linkname = strings.Repeat("../", r.IntN(3)) + randomPath(r, targets, targets) + []string{"", "", "", "/", "/."}[r.IntN(5)]
		if r.IntN(3) == 0 {
			h.Linkname = "/" + h.Linkname
		}
	case kind < 15:
		h.Typeflag, h.Linkname = tar.TypeLink, randomPath(r, dirs, dirs)
	case kind < 17:
		h.Typeflag, h.Name = tar.TypeReg, dir+whiteoutPrefix+base
	case kind < 18:
		h.Typeflag, h.Name = tar.TypeReg, dir+opaqueMarker
	case kind < 19:
		h.Typeflag = tar.TypeChar
	default:
		h.Typeflag, h.PAXRecords = tar.TypeXGlobalHeader, map[string]string{"comment": "c"}
	}
	return member{header: h}
}

// compare unpacks the layers, mounts them and compares with the model. It answers false where the unpacker gives up on what the
// model takes: the way to a directory that it looks up in a lower layer leads through a file there.
func compare(t *testing.T, work string, layers [][]member) (bool, error) {
	var dirs []string // nearest first
	for i, l := range layers {
		dir, ok, err := unpackLayer(t, filepath.Join(work, fmt.Sprint(i)), l, dirs)
		if !ok || err != nil {
			return false, err
		}
		dirs = append([]string{dir}, dirs...)
	}
	base, merged := filepath.Join(work, "base"), filepath.Join(work, "merged")
	for _, d := range []string{base, merged} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return false, err
		}
	}
	if err := unix.Mount("overlay", merged, "overlay", unix.MS_RDONLY, "lowerdir="+strings.Join(append(dirs, base), ":")); err != nil {
		return false, fmt.Errorf("mount overlay: %w", err)
	}
	defer unix.Unmount(merged, unix.MNT_DETACH)
	o, err := stackOf(t, layers, "plain").Overlay(context.Background())
	if err != nil {
		return false, err
	}
	return true, same(o, merged)
}

// unpackLayer unpacks a layer up to the first entry that is refused. Each entry is an archive of its own: at the end of one, the
// unpacker visits all its directories again and stumbles over those that are gone by then.
func unpackLayer(t *testing.T, dir string, l []member, lower []string) (string, bool, error) {
	for n := len(l); ; {
		at := fmt.Sprintf("%s-%d", dir, n)
		if err := os.MkdirAll(at, 0o755); err != nil {
			return "", false, err
		}
		refused := -1
		for i := range l[:n] {
			_, err := unpacker.Apply(context.Background(), at, bytes.NewReader(archive(t, l[i:i+1])),
				unpacker.WithParents(lower), unpacker.WithConvertWhiteout(convertWhiteout))
			var pe *fs.PathError
			if errors.As(err, &pe) && errors.Is(err, syscall.ENOTDIR) && !strings.HasPrefix(pe.Path, at+"/") {
				return "", false, nil
			}
			if err != nil {
				refused = i
				break
			}
		}
		if refused < 0 {
			return at, true, nil
		}
		n = refused // once more without it: it may have left something behind
	}
}

// convertWhiteout places a deletion only where the layer has nothing, as the model does; the unpacker's own function gives up.
func convertWhiteout(h *tar.Header, p string) (bool, error) {
	if name, ok := strings.CutPrefix(filepath.Base(p), whiteoutPrefix); ok && filepath.Base(p) != opaqueMarker {
		if _, err := os.Lstat(filepath.Join(filepath.Dir(p), name)); err == nil {
			return false, nil
		}
	}
	return unpacker.OverlayConvertWhiteout(h, p)
}

// kernelResolves looks up a path below a directory that is its root.
func kernelResolves(root int, p string) (bool, error) {
	for range 1000 {
		fd, err := unix.Openat2(root, p, &unix.OpenHow{Flags: unix.O_PATH, Resolve: unix.RESOLVE_IN_ROOT})
		switch err {
		case nil:
			return true, unix.Close(fd)
		case unix.ENOENT, unix.ENOTDIR, unix.ELOOP:
			return false, nil
		case unix.EAGAIN: // something was renamed or mounted meanwhile, anywhere: the kernel cannot vouch for ".."
		default:
			return false, err
		}
	}
	return false, fmt.Errorf("look up %s: still disturbed", p)
}

// same compares the model with what a mount shows.
func same(o *Overlay, mount string) error {
	real := make(map[string]string)
	dangling := make(map[string]bool)
	root, err := unix.Open(mount, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(root)
	err = filepath.WalkDir(mount, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == mount {
			return err
		}
		name := strings.TrimPrefix(p, mount)
		switch {
		case d.IsDir():
			info, err := d.Info()
			if err != nil {
				return err
			}
			st := info.Sys().(*syscall.Stat_t)
			real[name] = fmt.Sprintf("dir %d:%d %04o", st.Uid, st.Gid, info.Mode().Perm())
		case d.Type() == fs.ModeSymlink:
			target, err := os.Readlink(p)
			if err != nil {
				return err
			}
			real[name] = "link " + target
			ok, err := kernelResolves(root, name[1:])
			dangling[name] = !ok
			return err
		default:
			// A directory of one layer only is listed with its whiteouts, which then are not there.
			if _, err := os.Lstat(p); err == nil {
				real[name] = "file"
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	var differ []string
	modelled := make(map[string]bool)
	var visit func(n *node, at string)
	visit = func(n *node, at string) {
		for name, c := range n.children {
			p := at + "/" + name
			got := o.describe(p)
			switch c.kind {
			case nodeWhiteout:
				continue
			case nodeDir:
				got = real[p] // any owner will do where the base decides
				if !strings.HasPrefix(got, "dir ") {
					got = "dir"
				}
				if owner, ok := o.Directory(p); ok {
					got = fmt.Sprintf("dir %d:%d %04o", owner.UID, owner.GID, owner.Mode)
				}
				visit(c, p)
			}
			modelled[p] = true
			if got != real[p] {
				differ = append(differ, fmt.Sprintf("%s: the model has %s, the mount %q", p, got, real[p]))
			}
		}
	}
	visit(o.root, "")
	for p := range real {
		if !modelled[p] {
			differ = append(differ, fmt.Sprintf("%s: the model has nothing, the mount %s", p, real[p]))
		}
	}
	for _, l := range o.UnresolvedLinks() {
		if !dangling[l.Path] {
			differ = append(differ, fmt.Sprintf("%s -> %s: the kernel resolves it", l.Path, l.Target))
		}
		delete(dangling, l.Path)
	}
	for p, is := range dangling {
		if is {
			differ = append(differ, fmt.Sprintf("%s: the kernel does not resolve it", p))
		}
	}
	if len(differ) > 0 {
		return errors.New(strings.Join(differ, "\n"))
	}
	return nil
}
