package buildkit

import (
	"testing"

	"github.com/containerd/platforms"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
)

func TestCanRun(t *testing.T) {
	e := &Engine{platforms: func() []ocispecs.Platform {
		return []ocispecs.Platform{platforms.MustParse("linux/amd64"), platforms.MustParse("linux/arm64")}
	}}
	for name, want := range map[string]bool{
		"linux/amd64":    true,
		"linux/arm64":    true,
		"linux/arm64/v8": true,
		"linux/386":      false,
		"linux/arm/v7":   false,
		"linux/riscv64":  false,
		"windows/amd64":  false,
	} {
		if got := e.CanRun(platforms.MustParse(name)); got != want {
			t.Errorf("CanRun(%s) = %t, want %t", name, got, want)
		}
	}
	e.Platforms()[0].OS = "changed"
	if e.Platforms()[0].OS != "linux" {
		t.Error("the list that Platforms returned is the engine's own")
	}
}
