package kitbuild

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/containerd/platforms"
	gwclient "github.com/moby/buildkit/frontend/gateway/client"

	"github.com/sbxkit/sbxkit/descriptor"
)

func TestParsePlatforms(t *testing.T) {
	for _, c := range []struct{ list, want, err string }{
		{"linux/amd64", "linux/amd64", ""},
		{" linux/amd64 , linux/arm64 ", "linux/amd64 linux/arm64", ""},
		{"linux/arm64,linux/arm64/v8", "linux/arm64", ""},
		{"linux/aarch64,linux/x86_64", "linux/arm64 linux/amd64", ""},
		{"linux/arm,linux/arm/v7,linux/arm/v6", "linux/arm/v7 linux/arm/v6", ""},
		{"linux/amd64,", "", `empty item`},
		{"linux/amd46", "", "did you mean linux/amd64?"},
		{"linux/vax", "", "unknown architecture: known are 386, amd64"},
		{"windows/amd64", "", "kits are Linux images"},
		{"linux/a/b/c", "", `parse platform "linux/a/b/c"`},
		{"all", "", `parse platform "all": want OS/ARCH`},
		{"unknown/unknown", "", `parse platform "unknown/unknown"`},
		{"linux/unknown", "", `parse platform "linux/unknown"`},
		{"linux/a\x1b[31m", "", `parse platform "linux/a\x1b[31m"`},
		{"LINUX/AMD64", "linux/amd64", ""},
	} {
		got, err := parsePlatforms(c.list)
		if c.err != "" {
			if !errors.Is(err, ErrOption) || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: got error %v, want %q", c.list, err, c.err)
			}
			continue
		}
		var ids []string
		for _, p := range got {
			ids = append(ids, platforms.FormatAll(p))
		}
		if s := strings.Join(ids, " "); err != nil || s != c.want {
			t.Errorf("%q: got %q (%v), want %q", c.list, s, err, c.want)
		}
	}
}

func TestCheckEpoch(t *testing.T) {
	for text, fine := range map[string]bool{
		"0": true, "315619200": true, "253402300799": true, "context": true, "": true,
		"-1": false, "253402300800": false, "99999999999999999999": false, "-99999999999999999999": false,
	} {
		if err := checkEpoch(text); (err == nil) != fine || err != nil && (!errors.Is(err, ErrOption) || strings.Contains(err.Error(), text)) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// optsClient is a gateway that only has options.
type optsClient struct {
	gwclient.Client
	opts map[string]string
}

func (c optsClient) BuildOpts() gwclient.BuildOpts { return gwclient.BuildOpts{Opts: c.opts} }

func TestCleanLeavesTheCallersOptions(t *testing.T) {
	given := map[string]string{"platform": "linux/arm64, linux/arm64/v8", "x": "y"}
	before := maps.Clone(given)
	c, err := clean(optsClient{opts: given})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.BuildOpts().Opts["platform"]; got != "linux/arm64" {
		t.Errorf("platform is %q", got)
	}
	c.BuildOpts().Opts["x"] = "z"
	if !maps.Equal(given, before) {
		t.Errorf("the caller's options became %v", given)
	}
	if c, err = clean(optsClient{opts: map[string]string{"platform": " "}}); err != nil {
		t.Fatal(err)
	}
	if _, set := c.BuildOpts().Opts["platform"]; set {
		t.Error("a blank list names a platform")
	}
	if _, err := clean(optsClient{opts: map[string]string{"platform": "linux/amd64,,"}}); err == nil {
		t.Error("an empty item is accepted")
	}
}

func TestForwardedOptions(t *testing.T) {
	given := map[string]string{
		"filename": "lamp.yaml", "platform": "linux/amd64,linux/arm64", "target": "out", "no-cache": "",
		"cache-imports": "[]", "image-resolve-mode": "pull", "force-network-mode": "none", "add-hosts": "a=1.2.3.4",
		"context:alpine": "docker-image://alpine:3.21", "label:a": "b", "dockerfilekey": "df",
		"build-arg:v": "1.4.0", "build-arg:EXTRA": "1", "build-arg:SOURCE_DATE_EPOCH": "0", "build-arg:BUILDKIT_INLINE_CACHE": "1",
		// what must not pass
		"build-arg:BUILDKIT_SYNTAX": "x", "multi-platform": "true", "build-arg:BUILDKIT_MULTI_PLATFORM": "1",
		"attest:sbom": "", "build-arg:BUILDKIT_ATTEST_SBOM": "", "cmdline": "c", "source": "s", "frontend.caps": "f", "requestid": "r",
	}
	before := maps.Clone(given)
	want := map[string]string{
		"filename": "lamp.dockerfile", "platform": "linux/arm64", "target": "out", "no-cache": "",
		"cache-imports": "[]", "image-resolve-mode": "pull", "force-network-mode": "none", "add-hosts": "a=1.2.3.4",
		"context:alpine": "docker-image://alpine:3.21", "label:a": "b", "dockerfilekey": "df",
		"build-arg:v": "1.4.0", "build-arg:EXTRA": "1", "build-arg:SOURCE_DATE_EPOCH": "0", "build-arg:BUILDKIT_INLINE_CACHE": "1",
	}
	r := recipeBuild{name: "lamp.dockerfile"}
	if got := r.options(given, "linux/arm64"); !maps.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	delete(want, "platform")
	if got := r.options(given, ""); !maps.Equal(got, want) {
		t.Errorf("default platform: got  %v\nwant %v", got, want)
	}
	delete(want, "dockerfilekey")
	r.inline = true
	if got := r.options(given, ""); !maps.Equal(got, want) {
		t.Errorf("inline: got  %v\nwant %v", got, want)
	}
	delete(want, "no-cache")
	want["target"] = "base"
	if got := lowerOptions(r.options(given, ""), "base"); !maps.Equal(got, want) {
		t.Errorf("lower side: got  %v\nwant %v", got, want)
	}
	if !maps.Equal(given, before) {
		t.Error("the caller's options were changed")
	}
}

func TestMappedArgs(t *testing.T) {
	args := map[string]descriptor.Arg{
		"v":    {BuildArg: "LAMP_VERSION"},
		"b":    {BuildArg: "v"},               // its recipe's name is another arg's own
		"s":    {BuildArg: "BUILDKIT_SYNTAX"}, // steers the engine
		"late": {},
	}
	given := map[string]string{"build-arg:v": "1.4.0", "build-arg:late": "x"}
	r := recipeBuild{name: "r", args: args, values: map[string]string{"LAMP_VERSION": "1.4.0"}}
	got := r.options(given, "")
	want := map[string]string{"filename": "r", "build-arg:LAMP_VERSION": "1.4.0", "build-arg:late": "x"}
	if !maps.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestUndeclaredArgs(t *testing.T) {
	given := map[string]string{"v": "", "EXTRA": "", "KNOWN": "", "http_proxy": "", "TARGETARCH": "", "SOURCE_DATE_EPOCH": "", "BUILDKIT_INLINE_CACHE": "", "AGAIN": ""}
	got := undeclaredArgs(given, map[string]descriptor.Arg{"v": {}}, map[string]bool{"KNOWN": true})
	if want := []string{"AGAIN", "EXTRA"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestEpoch(t *testing.T) {
	for value, want := range map[string]int64{"0": 0, "1700000000": 1700000000, "": DefaultEpoch.Unix(), "context": DefaultEpoch.Unix()} {
		if got := epoch(map[string]string{"build-arg:SOURCE_DATE_EPOCH": value}); got.Unix() != want {
			t.Errorf("%q: got %v", value, got)
		}
	}
	if got := epoch(nil); !got.Equal(DefaultEpoch) {
		t.Errorf("unset: got %v", got)
	}
}

func TestIndexGate(t *testing.T) {
	for _, c := range []struct {
		name string
		opts map[string]string
		want bool
	}{
		{"nothing", nil, false},
		{"provenance", map[string]string{"attest:provenance": "mode=max"}, true},
		{"inline only", map[string]string{"attest:provenance": "mode=min,inline-only=true"}, false},
		{"disabled", map[string]string{"attest:provenance": "disabled=true"}, false},
		{"not disabled", map[string]string{"attest:provenance": "disabled=false"}, true},
		{"sbom without options", map[string]string{"attest:sbom": ""}, true},
		{"sbom beside disabled provenance", map[string]string{"attest:sbom": "", "attest:provenance": "disabled=true"}, true},
		{"by build argument", map[string]string{"build-arg:BUILDKIT_ATTEST_SBOM": "true"}, true},
	} {
		if got, err := willAttest(c.opts); err != nil || got != c.want {
			t.Errorf("%s: got %v (%v), want %v", c.name, got, err, c.want)
		}
	}
	if _, err := willAttest(map[string]string{"attest:love": ""}); err == nil {
		t.Error("an unknown attestation is accepted")
	}
}
