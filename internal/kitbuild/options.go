package kitbuild

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/containerd/platforms"
	gwclient "github.com/moby/buildkit/frontend/gateway/client"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/sbxkit/sbxkit/descriptor"
	"github.com/sbxkit/sbxkit/internal/kitbuild/project"
	"github.com/sbxkit/sbxkit/internal/suggest"
)

// Options of a frontend, as the engine spells them.
const (
	optFilename      = "filename"
	optPlatform      = "platform"
	optTarget        = "target"
	optNoCache       = "no-cache"
	optMultiPlatform = "multi-platform"
	optResolveMode   = "image-resolve-mode"
	optSource        = "source"
	optDockerfileKey = "dockerfilekey"
	prefixBuildArg   = "build-arg:"
	prefixAttest     = "attest:"
	argEpoch         = "SOURCE_DATE_EPOCH"
)

// DefaultEpoch dates what a build makes when nobody names a time, so that equal sources give equal
// digests. It is the first whole day that a zip archive can state in every time zone: tools that honour
// SOURCE_DATE_EPOCH refuse earlier ones.
var DefaultEpoch = time.Date(1980, 1, 2, 0, 0, 0, 0, time.UTC)

// notForwarded are the options that a recipe's own build must not see: left from the dispatch of this
// frontend (cmdline would switch off the recipe's syntax line), asking for something other than an image
// (requestid), or about the final result.
var notForwarded = []string{"cmdline", optSource, "frontend.caps", "requestid", optMultiPlatform}

// cleanClient answers for its client with options that belong to this build alone: the libraries that
// read them also write into them.
type cleanClient struct {
	gwclient.Client
	opts gwclient.BuildOpts
}

// clean copies the options and writes the platforms in one spelling, each once. dockerui, which parses
// them again, keeps duplicates and refuses blanks.
func clean(c gwclient.Client) (*cleanClient, error) {
	opts := c.BuildOpts()
	opts.Opts = maps.Clone(opts.Opts)
	if opts.Opts == nil {
		opts.Opts = map[string]string{}
	}
	if list := strings.TrimSpace(opts.Opts[optPlatform]); list != "" {
		parsed, err := parsePlatforms(list)
		if err != nil {
			return nil, err
		}
		var names []string
		for _, p := range parsed {
			names = append(names, platforms.FormatAll(p))
		}
		opts.Opts[optPlatform] = strings.Join(names, ",")
	} else {
		delete(opts.Opts, optPlatform)
	}
	return &cleanClient{Client: c, opts: opts}, nil
}

// BuildOpts implements gwclient.Client.
func (c *cleanClient) BuildOpts() gwclient.BuildOpts { return c.opts }

// ErrOption says that an option of the build, not the kit, is wrong.
var ErrOption = errors.New("wrong build option")

// maxEpoch is the last second that a date of an image can state.
var maxEpoch = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC).Unix()

// checkEpoch judges a number of seconds. What is no number may be the name of a source, for the Dockerfile
// frontend to look up.
func checkEpoch(text string) error {
	seconds, err := strconv.ParseInt(text, 10, 64)
	if errors.Is(err, strconv.ErrRange) || err == nil && (seconds < 0 || seconds > maxEpoch) {
		return fmt.Errorf("%w: %s is no time: want seconds since 1970, at most %d", ErrOption, argEpoch, maxEpoch)
	}
	return nil
}

// unknownPlatform stands for no platform at all: readers of images pass over what is listed under it.
const unknownPlatform = "unknown"

// parsePlatforms reads a comma list; two spellings of one platform count once.
func parsePlatforms(list string) ([]ocispec.Platform, error) {
	var out []ocispec.Platform
	seen := map[string]bool{}
	for item := range strings.SplitSeq(list, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			return nil, fmt.Errorf("%w: the list of platforms has an empty item", ErrOption)
		}
		p, err := platforms.Parse(item)
		if err != nil || p.OS == unknownPlatform || p.Architecture == unknownPlatform {
			return nil, fmt.Errorf("%w: parse platform %q: want OS/ARCH or OS/ARCH/VARIANT, such as linux/amd64", ErrOption, item)
		}
		p = platforms.Normalize(p)
		if err := known(p); err != nil {
			return nil, fmt.Errorf("%w: platform %q: %w", ErrOption, item, err)
		}
		if id := platforms.FormatAll(p); !seen[id] {
			seen[id] = true
			out = append(out, p)
		}
	}
	return out, nil
}

// CheckPlatforms tells whether a comma list names platforms that a kit can be built for.
func CheckPlatforms(list string) error {
	_, err := parsePlatforms(list)
	return err
}

// architectures are those that Linux images are made for. A slip such as amd46 would otherwise become the
// platform of an image that no machine ever picks.
var architectures = []string{"386", "amd64", "arm", "arm64", "loong64", "mips", "mips64", "mips64le", "mipsle", "ppc64", "ppc64le", "riscv64", "s390x"}

func known(p ocispec.Platform) error {
	if p.OS != "linux" {
		return errors.New("kits are Linux images: want linux/ARCHITECTURE")
	}
	if slices.Contains(architectures, p.Architecture) {
		return nil
	}
	if near, ok := suggest.Nearest(p.Architecture, architectures); ok {
		return fmt.Errorf("unknown architecture: did you mean linux/%s?", near)
	}
	return fmt.Errorf("unknown architecture: known are %s", strings.Join(architectures, ", "))
}

// recipeBuild is what decides about the options of a build of the recipe.
type recipeBuild struct {
	name   string // of the recipe
	inline bool
	args   map[string]descriptor.Arg
	values map[string]string // settled build-phase args, by the recipe's names
}

func recipeBuildOf(pub *project.Published) recipeBuild {
	return recipeBuild{
		name:   pub.Recipe.Name,
		inline: pub.Recipe.Inline,
		args:   pub.Document.Descriptor().Args,
		values: pub.RecipeArgs,
	}
}

// options turns the options of the kit's build into those of one build of its recipe, for a comma list of
// platforms. An empty list means the engine's default one.
func (r recipeBuild) options(opts map[string]string, platformList string) map[string]string {
	out := map[string]string{}
	for key, value := range opts {
		arg, isArg := strings.CutPrefix(key, prefixBuildArg)
		if slices.Contains(notForwarded, key) || strings.HasPrefix(key, prefixAttest) || isArg && project.ReservedBuildArg(arg) {
			continue
		}
		out[key] = value
	}
	if r.inline {
		delete(out, optDockerfileKey) // it would hide the text that is handed over
	}
	for _, arg := range r.args {
		if arg.BuildArg == "" || project.ReservedBuildArg(arg.BuildArg) {
			continue
		}
		if value, settled := r.values[arg.BuildArg]; settled {
			out[prefixBuildArg+arg.BuildArg] = value
		} else {
			// What the caller gave under this name answers another arg and passed no check of this one.
			delete(out, prefixBuildArg+arg.BuildArg)
		}
	}
	out[optFilename] = r.name
	delete(out, optPlatform)
	if platformList != "" {
		out[optPlatform] = platformList
	}
	return out
}

// lowerOptions changes the options of a recipe's build into those of the stage that it starts from. A
// stage that runs again without cache could give other bytes, and the base would leak into the overlay.
func lowerOptions(opts map[string]string, stage string) map[string]string {
	out := maps.Clone(opts)
	delete(out, optNoCache)
	out[optTarget] = stage
	return out
}

// buildArgs are the build arguments among the options.
func buildArgs(opts map[string]string) map[string]string {
	out := map[string]string{}
	for key, value := range opts {
		if name, ok := strings.CutPrefix(key, prefixBuildArg); ok {
			out[name] = value
		}
	}
	return out
}

// epoch is the time of the files that the build itself writes.
func epoch(opts map[string]string) time.Time {
	seconds, err := strconv.ParseInt(opts[prefixBuildArg+argEpoch], 10, 64)
	if err != nil {
		return DefaultEpoch // absent, or a source's name that only the Dockerfile frontend can resolve
	}
	return time.Unix(seconds, 0).UTC()
}

// predefinedArgs reach every recipe without an ARG.
var predefinedArgs = []string{
	argEpoch, "HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "NO_PROXY", "ALL_PROXY",
	"BUILDPLATFORM", "BUILDOS", "BUILDOSVERSION", "BUILDARCH", "BUILDVARIANT",
	"TARGETPLATFORM", "TARGETOS", "TARGETOSVERSION", "TARGETARCH", "TARGETVARIANT", "TARGETSTAGE",
}

// undeclaredArgs lists, sorted, the build arguments that neither the kit nor its recipe declares.
func undeclaredArgs(given map[string]string, args map[string]descriptor.Arg, inRecipe map[string]bool) []string {
	var out []string
	for name := range given {
		_, ofKit := args[name]
		if ofKit || inRecipe[name] || strings.HasPrefix(name, "BUILDKIT_") || slices.Contains(predefinedArgs, strings.ToUpper(name)) {
			continue
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
