package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sbxkit/sbxkit/internal/testenv"
)

// How often things are run before they count, and how often they count.
const (
	warmRounds   = 3
	quickRounds  = 40 // for what takes hundredths of a second
	buildRounds  = 20 // for whole builds
	solvesRounds = 40 // for solves alone
)

// The targets.
const (
	validateLimit = 20 * time.Millisecond
	buildLimit    = 500 * time.Millisecond
	slipLimit     = 200 * time.Millisecond
	solveRatio    = 1.3
)

// What is built.
const (
	kitName   = "deepagents"
	recipe    = kitName + ".dockerfile"
	tag       = "bench"
	platforms = "linux/amd64,linux/arm64"
)

var figuresFile = flag.String("figures", "", "also write all samples as JSON to `FILE`")

// report is what BenchmarkTable found.
var report *Report

// TestMain prints the table behind what the testing package prints by itself.
func TestMain(m *testing.M) {
	status := m.Run()
	if report != nil {
		fmt.Println()
		if err := report.Write(os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
	}
	os.Exit(status)
}

// BenchmarkTable measures everything once, whatever b.N is: it counts runs by itself, because rows that are
// compared take turns.
func BenchmarkTable(b *testing.B) {
	b.ReportMetric(0, "ns/op") // says nothing here
	testenv.Root(b)
	p := newPlace(b)
	daemon := testenv.Buildkitd(b)
	r := &Report{Machine: Describe()}
	r.Groups = []Group{p.validate(b), p.builds(b, daemon), p.solves(b, daemon), p.slip(b), p.judge(b)}
	r.Machine.LoadAfter = Load()
	if *figuresFile != "" {
		data, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(*figuresFile, append(data, '\n'), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	report = r
}

// place is where things are run: programs built for it, caches of its own, no settings of the user.
type place struct {
	bin, dir, root string
	env            []string
	count          int // of layouts written so far
}

func newPlace(b *testing.B) *place {
	b.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		b.Fatal(err)
	}
	p := &place{bin: filepath.Join(b.TempDir(), "bin"), dir: b.TempDir(), root: root}
	p.env = append(os.Environ(), "SBXKIT_HOME="+p.dir+"/home", "DOCKER_CONFIG="+p.dir+"/docker")
	cmd := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", p.bin+"/",
		"./cmd/sbxkit", "./cmd/kit-tck", "./internal/bench/once", "./internal/bench/solves")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("build the programs: %v\n%s", err, out)
	}
	return p
}

// command prepares a program, one of ours by its name or any other by its path, to run in the module's folder.
func (p *place) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	if !strings.ContainsRune(name, '/') {
		name = filepath.Join(p.bin, name)
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = p.root, p.env
	return cmd
}

// timed runs a program that has to end with status and to say want, on one stream or the other.
func (p *place) timed(ctx context.Context, status int, want string, name string, args ...string) (s Sample, err error) {
	what := p.command(ctx, name, args...)
	cmd := p.command(ctx, "once", what.Args...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	out, in, err := os.Pipe()
	if err != nil {
		return s, err
	}
	defer out.Close()
	cmd.ExtraFiles = []*os.File{in}
	err = cmd.Start()
	in.Close()
	if err != nil {
		return s, err
	}
	told := json.NewDecoder(out).Decode(&s)
	err = cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return s, fmt.Errorf("run %s: %w", what, err)
	}
	if got := cmd.ProcessState.ExitCode(); told != nil || got != status || !strings.Contains(said.String(), want) {
		return s, fmt.Errorf("run %s: exit status %d, want %d and %q in:\n%s", what, got, status, want, said.String())
	}
	return s, nil
}

// newLayout names a folder that does not exist yet.
func (p *place) newLayout() string {
	p.count++
	return filepath.Join(p.dir, fmt.Sprintf("layout%d", p.count))
}

// measure interleaves runs and puts the samples into the rows.
func measure(b *testing.B, rounds int, rows []Row, runs ...func() (Sample, error)) []Row {
	b.Helper()
	samples, err := Interleave(warmRounds, rounds, runs...)
	if err != nil {
		b.Fatal(err)
	}
	for i := range rows {
		rows[i].Samples = samples[i]
	}
	return rows
}

func (p *place) validate(b *testing.B) Group {
	file := "kits/" + kitName + "/" + kitName + ".yaml"
	rows := []Row{
		{Name: "sbxkit validate", Command: "sbxkit validate " + file, Limit: validateLimit},
		{Name: "sbxkit version", Command: "sbxkit version"},
	}
	return Group{
		Title: "Judge a descriptor (whole processes)",
		Rows: measure(b, quickRounds, rows,
			func() (Sample, error) { return p.timed(b.Context(), 0, "", "sbxkit", "validate", file) },
			func() (Sample, error) { return p.timed(b.Context(), 0, "", "sbxkit", "version") }),
		Notes: []string{"The second row does nothing: it is the start of the program."},
	}
}

// buildArgs is a build of the kit in dir to the layout out.
func buildArgs(dir, out string) []string {
	return []string{"build", dir, "-t", kitName + ":" + tag, "--platform", platforms, "--output", "type=oci,dest=" + out + ",tar=false"}
}

func (p *place) build(ctx context.Context, out string) (Sample, error) {
	return p.timed(ctx, 0, "sha256:", "sbxkit", buildArgs("kits/"+kitName, out)...)
}

func (p *place) builds(b *testing.B, daemon *testenv.Buildkit) Group {
	buildctl := func(out string) []string {
		dir := "kits/" + kitName
		return []string{"--addr", daemon.Addr, "build", "--frontend", "dockerfile.v0", "--local", "context=" + dir, "--local", "dockerfile=" + dir,
			"--opt", "filename=" + recipe, "--opt", "platform=" + platforms, "--output", "type=oci,dest=" + out + ",tar=false"}
	}
	rows := []Row{
		{Name: "buildctl build, recipe alone, daemon running", Command: "buildctl " + strings.Join(buildctl("OUT")[2:], " ")},
		{Name: "sbxkit build, with the start of the engine",
			Command: "sbxkit " + strings.Join(buildArgs("kits/"+kitName, "OUT"), " "), Limit: buildLimit},
	}
	// Each writes into a new folder, which is removed when the time has been taken.
	afresh := func(run func(out string) (Sample, error)) func() (Sample, error) {
		return func() (Sample, error) {
			out := p.newLayout()
			s, err := run(out)
			return s, errors.Join(err, os.RemoveAll(out))
		}
	}
	return Group{
		Title: "Build for two platforms into a new layout folder, warm (whole processes)",
		Rows: measure(b, buildRounds, rows,
			afresh(func(out string) (Sample, error) {
				return p.timed(b.Context(), 0, "exporting to", daemon.Buildctl, buildctl(out)...)
			}),
			afresh(func(out string) (Sample, error) { return p.build(b.Context(), out) })),
		Notes: []string{
			"sbxkit starts its engine, builds and stops it; buildctl's time, CPU and memory are without the daemon's.",
		},
	}
}

func (p *place) solves(b *testing.B, daemon *testenv.Buildkit) Group {
	b.Helper()
	dir := filepath.Join(p.dir, "solves")
	cmd := p.command(b.Context(), "solves", "-kit", "kits/"+kitName, "-recipe", recipe, "-platform", platforms,
		"-tag", kitName+":"+tag, "-daemon", daemon.Addr, "-dir", dir,
		"-warm", fmt.Sprint(warmRounds), "-rounds", fmt.Sprint(solvesRounds))
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		b.Fatalf("%s: %v\n%s", cmd, err, complaints.String())
	}
	var samples [][]Sample
	if err := json.Unmarshal(out, &samples); err != nil || len(samples) != 3 {
		b.Fatalf("%s: %v, %d rows", cmd, err, len(samples))
	}
	const call = "client.Build with frontend dockerfile.v0 and its own export, as buildctl calls it, "
	return Group{
		Title: "Solve and export alone, two platforms, warm (calls of one process through the Go client)",
		Rows: []Row{
			{Name: "recipe alone in the running buildkitd", Command: call + "over the daemon's socket", Samples: samples[2]},
			{Name: "recipe alone in the embedded engine", Command: call + "in memory", Samples: samples[1]},
			{Name: "the kit in the embedded engine, as sbxkit builds it",
				Command: "ociimage.CreateLayout, kitbuild.Run, Layout.Tag and Close, in memory", Samples: samples[0], MaxRatio: solveRatio},
		},
		Notes: []string{
			"The last row does more: it judges the descriptor (twice, before the solve and in it), stages the sources",
			"on each platform, runs the conformance checks on both, writes annotations, rewrites every timestamp, and",
			"writes a layout that survives a crash. buildkitd also keeps a record of each build.",
		},
	}
}

func (p *place) slip(b *testing.B) Group {
	b.Helper()
	dir := filepath.Join(p.dir, "slip")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(p.root, "kits", kitName))); err != nil {
		b.Fatal(err)
	}
	file := filepath.Join(dir, kitName+".yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	const key, slip = "\nprovides:", "\nprovidess:"
	if !bytes.Contains(text, []byte(key)) {
		b.Fatalf("%s: there is no key to misspell", file)
	}
	if err := os.WriteFile(file, bytes.Replace(text, []byte(key), []byte(slip), 1), 0o644); err != nil {
		b.Fatal(err)
	}
	return Group{
		Title: "One slip in the descriptor, until the build has said so (whole process)",
		Rows: measure(b, quickRounds, []Row{{Name: "sbxkit build, a key misspelt",
			Command: "sbxkit " + strings.Join(buildArgs("COPY", "OUT"), " "), Limit: slipLimit}},
			func() (Sample, error) {
				return p.timed(b.Context(), 1, "providess", "sbxkit", buildArgs(dir, p.newLayout())...)
			}),
	}
}

func (p *place) judge(b *testing.B) Group {
	b.Helper()
	out := p.newLayout()
	if _, err := p.build(b.Context(), out); err != nil {
		b.Fatal(err)
	}
	return Group{
		Title: "Judge the layout that was built, both platforms (whole process)",
		Rows: measure(b, quickRounds, []Row{{Name: "kit-tck validate", Command: "kit-tck validate --layout OUT " + tag}},
			func() (Sample, error) {
				return p.timed(b.Context(), 0, "18 passed", "kit-tck", "validate", "--layout", out, tag)
			}),
	}
}
