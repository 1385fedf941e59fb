package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sbxkit/sbxkit/internal/testenv"
)

// Two builds into one layout at once, from two caches so that no lock of the engine orders them: both
// images are there and whole.
func TestTwoBuildsIntoOneLayout(t *testing.T) {
	testenv.Root(t)
	out := filepath.Join(t.TempDir(), "out")
	const rounds = 3
	benches := []*bench{newBench(t), newBench(t)}
	var wait sync.WaitGroup
	results := make([]result, len(benches)*rounds)
	for i, b := range benches {
		wait.Go(func() {
			for round := range rounds {
				n := i*rounds + round
				results[n] = b.run("sbxkit", "build", kitDir, "-t", "deepagents:"+strconv.Itoa(n),
					"--platform", "linux/amd64,linux/arm64", "-o", "type=oci,dest="+out+",tar=false")
			}
		})
	}
	wait.Wait()
	for n, r := range results {
		if r.status != 0 {
			t.Errorf("build %d: %s", n, r.stderr)
			continue
		}
		if v := benches[0].run("kit-tck", "validate", "--layout", out, strconv.Itoa(n)); v.status != 0 {
			t.Errorf("verdict on %d: %s%s", n, v.stdout, v.stderr)
		}
	}
}

// A build that is killed, at whatever moment, leaves what the layout held; the next build works and nothing
// of the dead one stays mounted.
func TestKilledBuildLeavesTheLayout(t *testing.T) {
	testenv.Root(t)
	b := newBench(t)
	out := filepath.Join(t.TempDir(), "out")
	buildDeepagents(b, out)
	before := readFile(t, out+"/index.json")
	for delay := 10 * time.Millisecond; delay < 200*time.Millisecond; delay += 25 * time.Millisecond {
		cmd := exec.Command(filepath.Join(b.dir, "sbxkit"), "build", kitDir, "-t", "deepagents:next",
			"--platform", "linux/amd64,linux/arm64", "--no-cache", "-o", "type=oci,dest="+out+",tar=false")
		cmd.Env = append(os.Environ(), "SBXKIT_HOME="+b.home)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(delay)      // a moment in its life; which one does not matter
		_ = cmd.Process.Kill() // it may be over
		killed := cmd.Wait() != nil
		after := readFile(t, out+"/index.json")
		if killed && string(after) != string(before) && !strings.Contains(string(after), `"next"`) {
			t.Errorf("killed after %s: index.json is\n%s", delay, after)
		}
		if r := b.run("kit-tck", "validate", "--layout", out, kitTag); r.status != 0 {
			t.Errorf("killed after %s: %s%s", delay, r.stdout, r.stderr)
		}
	}
	mounts := string(readFile(t, "/proc/self/mountinfo"))
	if strings.Contains(mounts, b.home) {
		t.Errorf("something is mounted below %s:\n%s", b.home, mounts)
	}
	b.must("sbxkit", "build", kitDir, "-t", "deepagents:next", "--platform", "linux/amd64,linux/arm64", "-o", "type=oci,dest="+out+",tar=false")
	b.must("kit-tck", "validate", "--layout", out, "next")
	entries, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 3 { // blobs, index.json, oci-layout
		t.Errorf("%d entries in the layout: %v", len(entries), entries)
	}
}
