package version

import (
	"runtime/debug"
	"testing"
)

func TestRead(t *testing.T) {
	vcs := func(pairs ...string) *debug.BuildInfo {
		info := &debug.BuildInfo{}
		info.Main.Version = pairs[0]
		for i := 1; i < len(pairs); i += 2 {
			info.Settings = append(info.Settings, debug.BuildSetting{Key: pairs[i], Value: pairs[i+1]})
		}
		return info
	}
	for _, test := range []struct {
		name              string
		release, revision string
		info              *debug.BuildInfo
		want, wantSource  string
	}{
		{"nothing known", "", "", vcs(""), "dev", ""},
		{"built in a working tree", "", "", vcs("(devel)", "vcs.revision", "0123", "vcs.modified", "false"), "dev", "0123"},
		{"an edited tree", "", "", vcs("(devel)", "vcs.revision", "0123", "vcs.modified", "true"), "dev", "0123-dirty"},
		{"installed from a tag", "", "", vcs("v3.1.0"), "3.1.0", ""},
		{"a pseudo-version", "", "", vcs("v0.0.0-20261130021500-0123456789ab"), "dev", ""},
		{"a pseudo-version after a tag", "", "", vcs("v3.1.1-0.20261130021500-0123456789ab"), "dev", ""},
		{"build metadata", "", "", vcs("v3.1.0+dirty"), "dev", ""},
		{"stamped", "v3.2.0", "4567", vcs("(devel)", "vcs.revision", "0123"), "3.2.0", "4567"},
	} {
		got, source := read(test.release, test.revision, test.info)
		if got != test.want || source != test.wantSource {
			t.Errorf("%s: %q, %q; want %q, %q", test.name, got, source, test.want, test.wantSource)
		}
	}
}
