package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"

	"github.com/sbxkit/sbxkit/internal/cli"
)

func writeText(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

// TestToFile: the file is replaced whole or not at all, also behind a link, and nothing is left beside it.
func TestToFile(t *testing.T) {
	dir := t.TempDir()
	j := &buildJob{}
	at := filepath.Join(dir, "kit.tar")
	for _, text := range []string{"first", "second"} {
		if err := j.toFile(at, writeText(text)); err != nil || content(t, at) != text {
			t.Fatalf("got %q, %v", content(t, at), err)
		}
	}
	link := filepath.Join(dir, "link.tar")
	if err := os.Symlink("kit.tar", link); err != nil {
		t.Fatal(err)
	}
	if err := j.toFile(link, writeText("third")); err != nil || content(t, at) != "third" {
		t.Errorf("through a link: %q, %v", content(t, at), err)
	}
	broken := errors.New("broken")
	err := j.toFile(at, func(w io.Writer) error {
		_, _ = io.WriteString(w, "half")
		return broken
	})
	if !errors.Is(err, broken) || content(t, at) != "third" {
		t.Errorf("after a failure: %q, %v", content(t, at), err)
	}
	if got := names(t, dir); got != "kit.tar link.tar" {
		t.Errorf("the folder holds %s", got)
	}
	long := filepath.Join(dir, strings.Repeat("x", 255))
	if err := j.toFile(long, writeText("long")); err != nil {
		t.Errorf("the longest name: %v", err)
	}
}

// TestToFileStreams: a device or a pipe is written to, never replaced. As root a file would take the place of
// /dev/null for the whole machine.
func TestToFileStreams(t *testing.T) {
	dir := t.TempDir()
	j := &buildJob{}
	pipe := filepath.Join(dir, "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := j.toFile(pipe, writeText("x")); !errors.Is(err, unix.ENXIO) {
		t.Errorf("nobody reads the pipe: %v", err)
	}
	r, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := j.toFile(pipe, writeText("piped")); err != nil {
		t.Error(err)
	}
	got := make([]byte, 5)
	if _, err := io.ReadFull(r, got); err != nil || string(got) != "piped" {
		t.Errorf("the pipe gave %q, %v", got, err)
	}
	if info, err := os.Lstat(pipe); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("the pipe is now %v, %v", info, err)
	}
	null := filepath.Join(dir, "null") // by a link, so that a fault costs nobody the real one
	if err := os.Symlink("/dev/null", null); err != nil {
		t.Fatal(err)
	}
	if err := j.toFile(null, writeText("gone")); err != nil {
		t.Error(err)
	}
	if place, err := placeOf("/dev/null"); err != nil || !place.stream {
		t.Errorf("/dev/null: %+v, %v", place, err)
	}
}

// TestPlaceOf refuses before a build what cannot hold its result.
func TestPlaceOf(t *testing.T) {
	dir := t.TempDir()
	for name, target := range map[string]string{"dangling": "nowhere/x", "loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var usage *cli.UsageError
	if _, err := placeOf(dir); !errors.As(err, &usage) {
		t.Errorf("a directory: %v", err)
	}
	for name, want := range map[string]string{
		"absent/x.tar": "the folder of ", "file/x.tar": "not a directory", "dangling": "leads to nothing", "loop": "too many levels",
	} {
		if _, err := placeOf(filepath.Join(dir, name)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
}

// TestScratchOfTheDead: what a killed process left goes with the next archive, what a living one writes stays.
func TestScratchOfTheDead(t *testing.T) {
	dir := t.TempDir()
	left := strings.Replace(scratchPattern, "*", "dead", 1)
	live := strings.Replace(scratchPattern, "*", "live", 1)
	for _, name := range []string{left, live} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	alive := flock.New(filepath.Join(dir, live))
	if locked, err := alive.TryLock(); !locked || err != nil {
		t.Fatal(err)
	}
	defer alive.Unlock()
	if err := (&buildJob{}).toFile(filepath.Join(dir, "kit.tar"), writeText("x")); err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir); got != live+" kit.tar" {
		t.Errorf("the folder holds %s", got)
	}
}

// TestExportsOfTheDead: the same for the folders of images on their way.
func TestExportsOfTheDead(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, exportPrefix+"dead", "blobs"), 0o700); err != nil {
		t.Fatal(err)
	}
	done, err := joinExports(t.Context(), dir)
	if err != nil || names(t, dir) != "lock" {
		t.Fatalf("the folder holds %s, %v", names(t, dir), err)
	}
	if err := os.Mkdir(filepath.Join(dir, exportPrefix+"live"), 0o700); err != nil {
		t.Fatal(err)
	}
	again, err := joinExports(t.Context(), dir) // beside the first
	if err != nil || names(t, dir) != exportPrefix+"live lock" {
		t.Errorf("the folder holds %s, %v", names(t, dir), err)
	}
	if err := errors.Join(done(), again()); err != nil {
		t.Fatal(err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	writer := flock.New(filepath.Join(dir, "lock"))
	if locked, err := writer.TryLock(); !locked || err != nil {
		t.Fatal(err)
	}
	defer writer.Unlock()
	if _, err := joinExports(stopped, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("while another process cleans: %v", err)
	}
}

func TestShorten(t *testing.T) {
	long := strings.Repeat("é", maxExcerptLine+1)
	if got := shorten("a\n" + long + "\nb"); got != "a\n"+long[:2*maxExcerptLine]+"…\nb" {
		t.Errorf("got %d bytes", len(got))
	}
}
