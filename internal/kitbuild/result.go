package kitbuild

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/moby/buildkit/exporter/containerimage/exptypes"
	commonexptypes "github.com/moby/buildkit/exporter/exptypes"
	"github.com/moby/buildkit/frontend/attestations"
	gwclient "github.com/moby/buildkit/frontend/gateway/client"
)

// result hands the platforms to the exporter. Annotations of manifests name no platform, which means
// every one; those of the index are stated only when there will be one, because an export of a bare
// manifest fails on them.
func (b *build) result(contents []*platformContent, refs []gwclient.Reference, annotations map[string]string) (*gwclient.Result, error) {
	res := gwclient.NewResult()
	multi := b.ui.MultiPlatformRequested
	var list exptypes.Platforms
	for i, t := range b.targets {
		suffix := ""
		if multi {
			suffix = "/" + t.id
			res.AddRef(t.id, refs[i])
		} else {
			res.SetRef(refs[i])
		}
		res.AddMeta(exptypes.ExporterImageConfigKey+suffix, contents[i].config)
		if base := contents[i].base; base != nil {
			res.AddMeta(exptypes.ExporterImageBaseConfigKey+suffix, base)
		}
		if epoch := contents[i].epoch; epoch != nil {
			res.AddMeta(commonexptypes.ExporterEpochKey+suffix, epoch)
		}
		list.Platforms = append(list.Platforms, exptypes.Platform{ID: t.id, Platform: t.platform})
	}
	if multi {
		data, err := json.Marshal(list)
		if err != nil {
			return nil, fmt.Errorf("encode platform list: %w", err)
		}
		res.AddMeta(exptypes.ExporterPlatformsKey, data)
	}
	attested, err := willAttest(b.opts)
	if err != nil {
		return nil, err
	}
	for key, value := range annotations {
		res.AddMeta(exptypes.AnnotationManifestKey(nil, key), []byte(value))
		if multi || attested {
			res.AddMeta(exptypes.AnnotationIndexKey(key), []byte(value))
		}
	}
	return res, nil
}

// willAttest tells whether the engine will put an attestation beside the image, and so an index around
// both. One that is switched off, or goes into the image itself only, needs no index.
func willAttest(opts map[string]string) (bool, error) {
	asked, err := attestations.Parse(attestations.Filter(opts))
	if err != nil {
		return false, fmt.Errorf("read attestation options: %w", err)
	}
	for _, attrs := range asked {
		disabled, inline := false, false
		for key, value := range attrs {
			on, err := strconv.ParseBool(value)
			if err != nil {
				continue
			}
			disabled = disabled || key == "disabled" && on
			inline = inline || key == "inline-only" && on
		}
		if !disabled && !inline {
			return true, nil
		}
	}
	return false, nil
}
