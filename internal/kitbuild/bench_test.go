package kitbuild_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/moby/buildkit/client"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/tonistiigi/fsutil"

	"github.com/sbxkit/sbxkit/internal/buildkit"
	"github.com/sbxkit/sbxkit/internal/kitbuild"
	"github.com/sbxkit/sbxkit/internal/ociimage"
)

// BenchmarkWarm compares a warm build of a mixin for two platforms with the same of its recipe alone.
func BenchmarkWarm(b *testing.B) {
	e, err := buildkit.Start(b.Context(), buildkit.Options{Root: b.TempDir(), Logf: b.Logf})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	dir := b.TempDir()
	if err := writeProject(dir, txtar.Parse([]byte(twoPlatformMixin))); err != nil {
		b.Fatal(err)
	}
	b.Run("kit", func(b *testing.B) {
		defer cpu(b)()
		for b.Loop() {
			layout, err := ociimage.CreateLayout(filepath.Join(b.TempDir(), "out"))
			if err != nil {
				b.Fatal(err)
			}
			req := kitbuild.Request{ContextDir: dir, Platforms: []string{"linux/amd64", "linux/arm64"}, Layout: layout}
			if _, err := kitbuild.Run(b.Context(), e.Client, req); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("recipe", func(b *testing.B) {
		defer cpu(b)()
		fs, err := fsutil.NewFS(dir)
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			layout, err := ociimage.CreateLayout(filepath.Join(b.TempDir(), "out"))
			if err != nil {
				b.Fatal(err)
			}
			store, err := layout.Store()
			if err != nil {
				b.Fatal(err)
			}
			if _, err := e.Client.Solve(b.Context(), nil, client.SolveOpt{
				Frontend:      "dockerfile.v0",
				FrontendAttrs: map[string]string{"filename": "lamp.dockerfile", "platform": "linux/amd64,linux/arm64", "build-arg:SOURCE_DATE_EPOCH": "0"},
				LocalMounts:   map[string]fsutil.FS{"context": fs, "dockerfile": fs},
				Exports:       []client.ExportEntry{{Type: client.ExporterOCI, OutputStore: store, Attrs: map[string]string{"tar": "false", "rewrite-timestamp": "true"}}},
			}, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// cpu reports the processor time of an operation, which other work on the machine does not change.
func cpu(b *testing.B) func() {
	used := func() (total int64) {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return u.Utime.Nano() + u.Stime.Nano()
	}
	before := used()
	return func() { b.ReportMetric(float64(used()-before)/float64(b.N)/1e6, "cpu-ms/op") }
}
