package buildkit

import (
	"testing"

	"github.com/moby/buildkit/client"
)

// BenchmarkStart is a start and an end of an engine on a directory that was used before.
func BenchmarkStart(b *testing.B) {
	needRoot(b)
	root := b.TempDir()
	for b.Loop() {
		e, err := Start(b.Context(), Options{Root: root})
		if err != nil {
			b.Fatal(err)
		}
		if err := e.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBuild is a build of two platforms from nothing, of which all is known, in an engine that runs.
func BenchmarkBuild(b *testing.B) {
	needRoot(b)
	e := start(b, b.TempDir())
	for b.Loop() {
		if _, err := e.Client.Build(b.Context(), client.SolveOpt{Exports: toLayout(b.TempDir())}, "bench", scratchBuild, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkProcess compares whole processes that do nothing, alone and isolated, and that build two platforms
// from nothing, with all of it known, from the start of the process to its end.
func BenchmarkProcess(b *testing.B) {
	needRoot(b)
	for _, test := range []struct{ name, helper string }{
		{"nothing", "nothing"},
		{"isolated", "isolated-nothing"},
		{"build", "isolated-scratch"},
	} {
		b.Run(test.name, func(b *testing.B) {
			root := b.TempDir()
			for b.Loop() {
				cmd := helper(b, test.helper, root, b.TempDir())
				if out, err := cmd.CombinedOutput(); err != nil {
					b.Fatalf("%v: %s", err, out)
				}
			}
		})
	}
}
