// Package archtest holds the import directions of the module. It has no code, only the test: rules_test.go
// lists for each package what it may not link, each forbidden arrow with its reason, and arch_test.go
// compares this with what the Go toolchain says. A new package has to be entered here.
package archtest

// A rule speaks of the packages that match pkg: a path within the module, with "/..." at the end for
// everything below it as well. What a package links counts, not just what it imports itself; tests do not.
type rule struct {
	pkg string
	// not maps what may not be linked to the reason. A key without a dot in its first element is a
	// path within the module. Everything below a key is meant too.
	not map[string]string
	// only, where because gives the reason, lists all that may be linked besides the standard library.
	only    []string
	because string
}

// Forbidden to more than one package.
const (
	buildkit = "github.com/moby/buildkit"
	cobra    = "github.com/spf13/cobra"
)

var rules = []rule{
	{pkg: "...", not: map[string]string{
		"internal/testenv":  "it takes a testing.T: only tests may use it",
		"internal/kittest":  "it makes kits that are wrong: only tests may use it",
		"internal/bench":    "it measures the programs, which must not know it",
		"internal/dev":      "it serves those who work on the project, not those who use it",
		"internal/archtest": "there is nothing in it",
	}},

	{pkg: "descriptor", only: []string{"gopkg.in/yaml.v3", "golang.org/x/net/idna", "golang.org/x/text"},
		because: "a small program can read a kit without taking in a builder or a registry client"},

	{pkg: "tck", not: map[string]string{
		buildkit:            "a judge needs no builder, and the tool that only judges stays small",
		cobra:               "flags are the matter of commands",
		"internal/kitbuild": "the builder calls the checks, never the other way",
		"internal/buildkit": "checks read artifacts; where these were built must not matter",
		"internal/cli":      "a library neither prints nor exits",
	}},

	{pkg: "internal/layerfs", not: map[string]string{
		buildkit:            "layers are tar streams, whoever made them",
		cobra:               "flags are the matter of commands",
		"descriptor":        "a file system knows nothing of kits",
		"tck":               "the checks ask it, never the other way",
		"internal/ociimage": "it reads any stream; where a blob comes from is the caller's matter",
	}},

	{pkg: "internal/pkgdb", because: "package databases are plain text"},

	{pkg: "internal/ociimage", not: map[string]string{
		buildkit:            "an image can be read and written where nothing can be built",
		cobra:               "flags are the matter of commands",
		"descriptor":        "it reads images, whatever their annotations mean",
		"tck":               "the checks ask it, never the other way",
		"internal/kitbuild": "the builder hands over images, never the other way",
		"internal/buildkit": "the builder hands over images, never the other way",
	}},

	{pkg: "internal/kitbuild/...", not: map[string]string{
		"internal/buildkit": "the same build function runs inside an engine that is not ours",
		"internal/cli":      "a library neither prints nor exits",
		cobra:               "flags are the matter of commands",
	}},

	{pkg: "internal/buildkit", not: map[string]string{
		"descriptor":        "an engine builds whatever it is asked to; it knows nothing of kits",
		"tck":               "an engine builds whatever it is asked to; it knows nothing of kits",
		"internal/kitbuild": "the build function is handed to an engine by the command",
		"internal/ociimage": "what is done with a finished image is the command's matter",
		cobra:               "flags are the matter of commands",
	}},

	{pkg: "internal/version", because: "every binary states its version, the smallest included"},

	{pkg: "internal/cli", not: map[string]string{
		buildkit:            "manners are shared by all commands, also by those that build nothing",
		"internal/kitbuild": "manners are shared by all commands, also by those that build nothing",
		"internal/buildkit": "manners are shared by all commands, also by those that build nothing",
	}},

	{pkg: "internal/testenv", not: map[string]string{
		"descriptor":        "tests of every package use it, so it may use none of them",
		"tck":               "tests of every package use it, so it may use none of them",
		"internal/buildkit": "tests of every package use it, so it may use none of them",
		"internal/kitbuild": "tests of every package use it, so it may use none of them",
		"internal/layerfs":  "tests of every package use it, so it may use none of them",
		"internal/ociimage": "tests of every package use it, so it may use none of them",
	}},

	{pkg: "internal/kittest", not: map[string]string{
		"descriptor":        "it writes kits byte by byte, so as to share no fault with what it tests",
		"tck":               "it writes kits byte by byte, so as to share no fault with what it tests",
		"internal/kitbuild": "it writes kits byte by byte, so as to share no fault with what it tests",
		"internal/layerfs":  "it writes kits byte by byte, so as to share no fault with what it tests",
		"internal/ociimage": "it writes kits byte by byte, so as to share no fault with what it tests",
	}},

	{pkg: "internal/suggest", because: "it compares words"},

	{pkg: "cmd/kit-tck", not: map[string]string{
		buildkit:            "a machine that only judges kits should not carry a builder",
		"internal/kitbuild": "a machine that only judges kits should not carry a builder",
		"internal/buildkit": "a machine that only judges kits should not carry a builder",
	}},

	{pkg: "internal/bench", because: "it is linked into the program that measures memory, which has to be small"},
	{pkg: "internal/bench/once", only: []string{"github.com/sbxkit/sbxkit/internal/bench"},
		because: "its own memory is the least that it can measure"},
	{pkg: "internal/bench/solves"},

	{pkg: "cmd/sbxkit"},
	{pkg: "internal/archtest"},
	{pkg: "internal/dev/..."},
	{pkg: "kits"},
}
