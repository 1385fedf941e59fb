package bench

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// Machine says where and of what figures were taken.
type Machine struct {
	Commit     string `json:"commit"` // "-dirty" at its end if files were changed since
	Go         string `json:"go"`
	BuildKit   string `json:"buildkit"` // the module's version, of the engine and of the daemon
	Kernel     string `json:"kernel"`
	CPU        string `json:"cpu"`
	Cores      int    `json:"cores"` // that this process may use
	Disk       string `json:"disk"`  // file system of caches and results, whose flushes are much of a build's time
	LoadBefore string `json:"loadBefore"`
	LoadAfter  string `json:"loadAfter"`
}

// Describe asks the system. What it does not tell is "unknown".
func Describe() Machine {
	return Machine{
		Commit:     said("git", "describe", "--always", "--abbrev=12", "--dirty", "--exclude", "*"),
		Go:         runtime.Version(),
		BuildKit:   said("go", "list", "-m", "-f", "{{.Version}}", "github.com/moby/buildkit"),
		Kernel:     first(read("/proc/sys/kernel/osrelease")),
		CPU:        field(read("/proc/cpuinfo"), "model name"),
		Cores:      runtime.GOMAXPROCS(0),
		Disk:       said("stat", "--file-system", "--format=%T", os.TempDir()),
		LoadBefore: Load(),
	}
}

// Load is the load average of the last 1, 5 and 15 minutes.
func Load() string {
	fields := strings.Fields(string(read("/proc/loadavg")))
	if len(fields) < 3 {
		return "unknown"
	}
	return strings.Join(fields[:3], " ")
}

func (m Machine) write(w io.Writer) {
	fmt.Fprintf(w, "sbxkit %s, BuildKit %s, %s\n", m.Commit, m.BuildKit, m.Go)
	fmt.Fprintf(w, "%s, %d cores, Linux %s, files on %s\n", m.CPU, m.Cores, m.Kernel, m.Disk)
	fmt.Fprintf(w, "load average %s before, %s after\n", m.LoadBefore, m.LoadAfter)
}

func said(name string, args ...string) string {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		return "unknown"
	}
	return first(out)
}

func read(file string) []byte {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	return data
}

func first(text []byte) string {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	if len(line) == 0 {
		return "unknown"
	}
	return string(line)
}

// field finds a line "key : value".
func field(text []byte, key string) string {
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}
