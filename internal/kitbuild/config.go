package kitbuild

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/moby/buildkit/util/system"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// scratchImage is what a build FROM scratch starts from. Compared with it, a recipe that says nothing
// states nothing: against an empty config the default PATH and working directory would look stated.
func scratchImage(p ocispec.Platform) ocispec.Image {
	image := ocispec.Image{Config: ocispec.ImageConfig{WorkingDir: "/"}}
	if p.OS != "windows" {
		image.Config.Env = []string{"PATH=" + system.DefaultPathEnv(p.OS)}
	}
	return image
}

// mixinConfig is the image config of a mixin: its platform and what its recipe states beyond the base.
// Creation time, author and what Docker alone knows (health check, shell, on-build) never belong to an
// overlay. Of the history it keeps the steps that made the overlay's layers: left to itself, the exporter
// names layers after whichever build put them into the cache, and equal sources would differ.
func mixinConfig(p ocispec.Platform, lower, built ocispec.Image, at time.Time) ([]byte, error) {
	image := ocispec.Image{Platform: p, Config: configDelta(lower.Config, built.Config)}
	for _, step := range built.History[min(len(lower.History), len(built.History)):] {
		if !step.EmptyLayer {
			image.History = append(image.History, step)
		}
	}
	image.History = append(image.History, stagingStep(at))
	data, err := json.Marshal(image)
	if err != nil {
		return nil, fmt.Errorf("encode image config: %w", err)
	}
	return data, nil
}

// workloadConfig is the recipe's own config with the one step that the build adds to it. Members that
// the OCI specification does not know stay.
func workloadConfig(config []byte, at time.Time) ([]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(config, &members); err != nil {
		return nil, fmt.Errorf("read image config: %w", err)
	}
	var history []ocispec.History
	if old := members["history"]; old != nil {
		if err := json.Unmarshal(old, &history); err != nil {
			return nil, fmt.Errorf("read history of image config: %w", err)
		}
	}
	data, err := json.Marshal(append(history, stagingStep(at)))
	if err != nil {
		return nil, fmt.Errorf("encode history of image config: %w", err)
	}
	members["history"] = data
	if data, err = json.Marshal(members); err != nil {
		return nil, fmt.Errorf("encode image config: %w", err)
	}
	return data, nil
}

// stagingStep stands in the history for the layer of the kit's sources.
func stagingStep(at time.Time) ocispec.History {
	return ocispec.History{Created: &at, CreatedBy: "stage kit sources", Comment: builderName}
}

// configDelta is what built states and lower does not.
func configDelta(lower, built ocispec.ImageConfig) ocispec.ImageConfig {
	var out ocispec.ImageConfig
	if !slices.Equal(lower.Entrypoint, built.Entrypoint) {
		out.Entrypoint = built.Entrypoint
	}
	if !slices.Equal(lower.Cmd, built.Cmd) {
		out.Cmd = built.Cmd
	}
	out.User = changed(lower.User, built.User)
	out.WorkingDir = changed(lower.WorkingDir, built.WorkingDir)
	out.StopSignal = changed(lower.StopSignal, built.StopSignal)
	out.Env = envDelta(lower.Env, built.Env)
	for key, value := range built.Labels {
		if old, had := lower.Labels[key]; !had || old != value {
			if out.Labels == nil {
				out.Labels = map[string]string{}
			}
			out.Labels[key] = value
		}
	}
	out.ExposedPorts = newKeys(lower.ExposedPorts, built.ExposedPorts)
	out.Volumes = newKeys(lower.Volumes, built.Volumes)
	return out
}

func changed(lower, built string) string {
	if lower == built {
		return ""
	}
	return built
}

func newKeys(lower, built map[string]struct{}) map[string]struct{} {
	out := maps.Clone(built)
	maps.DeleteFunc(out, func(key string, _ struct{}) bool { _, had := lower[key]; return had })
	if len(out) == 0 {
		return nil
	}
	return out
}

// envDelta keeps new and changed variables. Of PATH it keeps just the elements that the base lacks: a
// composition appends them to the PATH of whatever workload it finds.
func envDelta(lower, built []string) []string {
	base := map[string]string{}
	for _, entry := range lower {
		name, value, _ := strings.Cut(entry, "=")
		base[name] = value
	}
	var out []string
	for _, entry := range built {
		name, value, _ := strings.Cut(entry, "=")
		old, had := base[name]
		if name == "PATH" {
			if value = newElements(old, value); value != "" {
				out = append(out, "PATH="+value)
			}
			continue
		}
		if !had || old != value {
			out = append(out, entry)
		}
	}
	return out
}

func newElements(lower, built string) string {
	seen := map[string]bool{}
	for element := range strings.SplitSeq(lower, ":") {
		seen[element] = true
	}
	var out []string
	for element := range strings.SplitSeq(built, ":") {
		if element != "" && !seen[element] {
			seen[element] = true
			out = append(out, element)
		}
	}
	return strings.Join(out, ":")
}
