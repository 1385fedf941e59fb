package kitbuild

import (
	"maps"
	"testing"

	"github.com/sbxkit/sbxkit/internal/pkgdb"
)

func TestPublishedVersions(t *testing.T) {
	got := publishedVersions([]pkgdb.Package{
		{Name: "bash", Version: "5.2.37-2"},
		{Name: "libfoo", Version: "1.0-1"}, {Name: "libfoo", Version: "1.0-1"}, // two architectures
		{Name: "libbar", Version: "1.0-1"}, {Name: "libbar", Version: "1.1-1"},
		{Name: "rc", Version: "2.0~rc1-1"},
		{Name: "mixed", Version: "r123"}, {Name: "mixed", Version: "1.2-1"},
	})
	want := map[string]string{"bash": "5.2.37", "libfoo": "1.0", "libbar": "", "rc": "", "mixed": ""}
	if !maps.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}
