package kitbuild

import (
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

func TestRunsOn(t *testing.T) {
	arm64 := ocispec.Platform{OS: "linux", Architecture: "arm64"}
	for _, c := range []struct {
		stated, target ocispec.Platform
		want           bool
	}{
		{arm64, arm64, true},
		{ocispec.Platform{OS: "linux", Architecture: "aarch64", Variant: "v8"}, arm64, true},
		{ocispec.Platform{OS: "linux", Architecture: "arm", Variant: "v6"}, ocispec.Platform{OS: "linux", Architecture: "arm", Variant: "v7"}, true},
		{ocispec.Platform{OS: "linux", Architecture: "x86_64"}, ocispec.Platform{OS: "linux", Architecture: "amd64"}, true},
		{ocispec.Platform{}, arm64, true},
		{ocispec.Platform{OS: "windows"}, arm64, true},
		{ocispec.Platform{Architecture: "arm64"}, ocispec.Platform{OS: "windows", Architecture: "arm64"}, true},
		{ocispec.Platform{Architecture: "amd64"}, arm64, false},
		{ocispec.Platform{OS: "linux", Architecture: "arm"}, arm64, false},
		{ocispec.Platform{OS: "windows", Architecture: "arm64"}, arm64, false},
	} {
		if got := runsOn(c.stated, c.target); got != c.want {
			t.Errorf("%+v for %+v: %v", c.stated, c.target, got)
		}
	}
}
