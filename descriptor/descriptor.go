package descriptor

// SchemaVersion is the only value of the field schemaVersion that this package reads.
const SchemaVersion = "3"

// Kind says what a kit is.
type Kind string

// The kinds. A set exists only while authoring: what is published is a workload or a mixin.
const (
	Workload Kind = "workload"
	Mixin    Kind = "mixin"
	Set      Kind = "set"
)

// Descriptor is the decoded document. The order of its fields is the order of the published JSON.
// A zero field means absent.
type Descriptor struct {
	SchemaVersion string
	DisplayName   string
	Author        string
	Description   string
	SourceURL     string
	IconURL       string
	Version       string
	Licenses      []string
	Kind          Kind
	Provides      []string
	Requires      []string
	Integrates    []string
	Conflicts     []string
	Capabilities  []Capability
	Args          map[string]Arg
	Build         string // inline recipe
	Kits          []KitRef
	Dockerfile    string // path of the recipe, relative to the descriptor's folder
}

// Capability is one request of a kit to its host, or a group of them.
type Capability struct {
	Group       *Group
	Source      *Source
	Type        string
	Name        string
	Optional    bool
	Config      map[string]any // JSON values: string, bool, int64, uint64, float64, nil, []any, map[string]any
	Description string
}

// Group is a bundle of requests that a host takes or skips as a whole.
type Group struct {
	Name         string
	Description  string
	Optional     bool
	Capabilities []Capability
}

// Source says which kit a request came from, and where it stood there.
type Source struct {
	Kit  string
	Path string
}

// Arg declares a parameter of the kit.
type Arg struct {
	Default     *string // nil: none stated
	Required    bool
	Description string
	Enum        []string
	Pattern     string
	Env         string
	BuildArg    string // non-empty: resolved while building
}

// KitRef is one member of a set.
type KitRef struct {
	Ref    string
	Digest string
	Args   map[string]string
}
