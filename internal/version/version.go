// Package version says which build of the project is running.
package version

import (
	"regexp"
	"runtime/debug"
)

// Stamped by a release build with -ldflags -X. Left empty, the facts that the Go toolchain recorded
// are used.
var (
	release  string
	revision string
)

// Development is the version of a build that no release stamped.
const Development = "dev"

// pseudo matches versions that the Go toolchain makes up for an unreleased revision.
var pseudo = regexp.MustCompile(`[-.][0-9]{14}-[0-9a-f]{12}$|\+`)

// Read gives the version without its leading v, Development for an unreleased build, and the
// revision of the source, empty when unknown, with the suffix -dirty for an edited tree.
func Read() (name, source string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return read(release, revision, info)
}

func read(release, revision string, info *debug.BuildInfo) (name, source string) {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	name, source = release, revision
	if name == "" {
		name = info.Main.Version
	}
	if name == "" || name == "(devel)" || pseudo.MatchString(name) {
		name = Development
	}
	if source == "" {
		source = settings["vcs.revision"]
		if source != "" && settings["vcs.modified"] == "true" {
			source += "-dirty"
		}
	}
	if name[0] == 'v' {
		name = name[1:]
	}
	return name, source
}

// Specification is the kit specification that this build speaks, with the month of the newest revision
// that its rules were taken from.
const Specification = "v3 (revision of November 2026)"
