package kitbuild

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

func TestConfigDelta(t *testing.T) {
	files, err := filepath.Glob("testdata/config/*.json")
	if err != nil || len(files) < 10 {
		t.Fatalf("found %d cases (%v), want all of testdata/config", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var c struct{ Lower, Built, Want ocispec.ImageConfig }
			dec := json.NewDecoder(bytes.NewReader(data))
			dec.DisallowUnknownFields()
			if err := dec.Decode(&c); err != nil {
				t.Fatal(err)
			}
			if got, want := asJSON(t, configDelta(c.Lower, c.Built)), asJSON(t, c.Want); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestMixinConfigOfNothing(t *testing.T) {
	p := ocispec.Platform{OS: "linux", Architecture: "arm64", Variant: "v8"}
	config, err := mixinConfig(p, scratchImage(p), scratchImage(p), DefaultEpoch)
	if err != nil {
		t.Fatal(err)
	}
	var image ocispec.Image
	if err := json.Unmarshal(config, &image); err != nil {
		t.Fatal(err)
	}
	if got := asJSON(t, image.Config); got != "{}" {
		t.Errorf("a recipe that states nothing gives the config %s", got)
	}
	if asJSON(t, image.Platform) != asJSON(t, p) || image.Created != nil || image.Author != "" || len(image.History) != 1 {
		t.Errorf("got %s, want the platform and the staging step", config)
	}
}

func TestHistory(t *testing.T) {
	p := ocispec.Platform{OS: "linux", Architecture: "arm64"}
	lower := ocispec.Image{History: []ocispec.History{{CreatedBy: "base"}, {CreatedBy: "CMD", EmptyLayer: true}}}
	built := ocispec.Image{Platform: p, History: append(slices.Clone(lower.History),
		ocispec.History{CreatedBy: "COPY"}, ocispec.History{CreatedBy: "ENV", EmptyLayer: true}, ocispec.History{CreatedBy: "RUN"})}
	steps := func(config []byte, err error) string {
		t.Helper()
		var image ocispec.Image
		if err == nil {
			err = json.Unmarshal(config, &image)
		}
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, h := range image.History {
			out = append(out, h.CreatedBy)
		}
		return strings.Join(out, ", ")
	}
	if got, want := steps(mixinConfig(p, lower, built, DefaultEpoch)), "COPY, RUN, stage kit sources"; got != want {
		t.Errorf("mixin: got %s, want %s", got, want)
	}
	if got, want := steps(workloadConfig([]byte(asJSON(t, built)), DefaultEpoch)), "base, CMD, COPY, ENV, RUN, stage kit sources"; got != want {
		t.Errorf("workload: got %s, want %s", got, want)
	}
	if got, want := steps(mixinConfig(p, built, lower, DefaultEpoch)), "stage kit sources"; got != want {
		t.Errorf("shorter than its base: got %s, want %s", got, want)
	}
	kept, err := workloadConfig([]byte(`{"os":"linux","config":{"Healthcheck":{"Test":["x"]}}}`), DefaultEpoch)
	if err != nil || !strings.Contains(string(kept), `"config":{"Healthcheck":{"Test":["x"]}}`) {
		t.Errorf("the config of a workload became %s (%v)", kept, err)
	}
}
