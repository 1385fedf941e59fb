package ociimage

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// The test program runs again as one of these to be a process of its own, which can be killed or starved.
var roles = map[string]func(args []string) error{
	"write": writeRole,
}

const roleVariable = "OCIIMAGE_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		if err := roles[role](os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func process(t testing.TB, role string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(must(os.Executable())(t), args...)
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	cmd.Stderr = &bytes.Buffer{}
	return cmd
}

// buildInto writes a small image into a layout and tags it, as a build does.
func buildInto(l *Layout, tag string, layerSize int) error {
	part := func(mediaType string, data []byte) (ocispec.Descriptor, error) {
		desc := descOf(data)
		desc.MediaType = mediaType
		return desc, putDesc(l, desc, data)
	}
	config, err := part(ocispec.MediaTypeImageConfig, []byte(`{"os":"linux","architecture":"amd64"}`))
	if err != nil {
		return err
	}
	shared, err := part(ocispec.MediaTypeImageLayer, bytes.Repeat([]byte("shared "), layerSize/7))
	if err != nil {
		return err
	}
	own, err := part(ocispec.MediaTypeImageLayer, bytes.Repeat([]byte(tag+" "), layerSize/(len(tag)+1)))
	if err != nil {
		return err
	}
	raw, err := json.Marshal(manifestOf(config, shared, own))
	if err != nil {
		return err
	}
	target, err := part(ocispec.MediaTypeImageManifest, raw)
	if err != nil {
		return err
	}
	return l.Tag(context.Background(), target, []string{"me/kit:" + tag})
}

// writeRole writes images one after the other and says so after each.
func writeRole(args []string) error {
	dir, prefix := args[0], args[1]
	var count, size int
	if _, err := fmt.Sscan(args[2], &count); err != nil {
		return err
	}
	if _, err := fmt.Sscan(args[3], &size); err != nil {
		return err
	}
	fmt.Println("started")
	for n := range count {
		l, err := CreateLayout(dir)
		if err != nil {
			return err
		}
		if err := buildInto(l, fmt.Sprintf("%s%d", prefix, n), size); err != nil {
			return err
		}
		fmt.Printf("%s%d\n", prefix, n)
	}
	return nil
}

// wholeLayout demands that a layout can be read in full under every tag that it lists, and lists those given.
func wholeLayout(t testing.TB, dir string, want []string) {
	t.Helper()
	if _, err := os.Lstat(filepath.Join(dir, "index.json")); errors.Is(err, fs.ErrNotExist) && len(want) == 0 {
		return // nobody got as far as to a tag
	}
	listed := map[string]bool{}
	for _, e := range indexEntries(t, dir) {
		tag := e.Annotations[ocispec.AnnotationRefName]
		listed[tag] = true
		if err := readLayout(dir, tag); err != nil {
			t.Error(err)
		}
	}
	for _, tag := range want {
		if !listed[tag] {
			t.Errorf("tag %s is gone", tag)
		}
	}
}

// A writer is killed again and again, at whatever it was doing. Each time the layout is whole and still has all
// that any of them reported as done.
func TestKilledWriter(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "layout")
	var done []string
	for round := range 12 {
		cmd := process(t, "write", dir, fmt.Sprintf("r%d-", round), "1000000", "200000")
		out := must(cmd.StdoutPipe())(t)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		said := make(chan []string)
		begun := make(chan struct{})
		// Half of the rounds begin before the writer has done anything, the others after its first tag.
		var once sync.Once
		go func() {
			var lines []string
			for s := bufio.NewScanner(out); s.Scan(); {
				if s.Text() != "started" {
					lines = append(lines, s.Text())
				}
				if round%2 == 0 || len(lines) > 0 {
					once.Do(func() { close(begun) })
				}
			}
			once.Do(func() { close(begun) }) // it failed, which is seen below
			said <- lines
		}()
		<-begun
		time.Sleep(time.Duration(rand.IntN(40_000)) * time.Microsecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		done = append(done, <-said...)
		_ = cmd.Wait()
		if stderr := cmd.Stderr.(*bytes.Buffer).String(); stderr != "" {
			t.Fatalf("round %d: %s", round, stderr)
		}
		createLayout(t, dir)
		onlyContent(t, dir)
		wholeLayout(t, dir, done)
	}
}

// Two processes write into one layout at once, the same blobs among others. Nothing gets lost.
func TestTwoProcesses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "layout")
	const count = 8
	var want []string
	var cmds []*exec.Cmd
	for _, prefix := range []string{"a", "b"} {
		cmd := process(t, "write", dir, prefix, fmt.Sprint(count), "600000")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, cmd)
		for n := range count {
			want = append(want, fmt.Sprintf("%s%d", prefix, n))
		}
	}
	for _, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v: %s", err, cmd.Stderr)
		}
	}
	wholeLayout(t, dir, want)
	onlyContent(t, dir)
}

// A writer that holds the lock is waited for, and named by its file when the wait is given up.
func TestLockIsWaitedFor(t *testing.T) {
	l, target := sample(t)
	unlock, err := l.lock(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	err = createLayoutless(l.Dir).Tag(ctx, target, []string{"kit:2"})
	if err == nil || !strings.Contains(err.Error(), "another process holds it") || !strings.Contains(err.Error(), lockName) {
		t.Errorf("locked out: %v", err)
	}
	unlock()
	if err := createLayoutless(l.Dir).Tag(context.Background(), target, []string{"kit:2"}); err != nil {
		t.Error(err)
	}
	onlyContent(t, l.Dir)
}

// createLayoutless is a second writer's view, without the lock that opening takes.
func createLayoutless(dir string) *Layout { return &Layout{Dir: dir} }
