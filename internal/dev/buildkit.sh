#!/bin/sh
# Makes buildkitd and buildctl in .cache/buildkit-VERSION, of the version that the module builds with. Tests and
# benchmarks compare against them. They are built as their own module, with its own go.sum, because they need
# much that this module does not.
set -eu

cd "$(dirname "$0")/../.."
module=github.com/moby/buildkit
go mod download "$module"
version=$(go list -m -f '{{.Version}}' "$module")
source=$(go list -m -f '{{.Dir}}' "$module")
out=.cache/buildkit-$version
[ ! -d "$out" ] || exit 0

echo "buildkit: building buildkitd and buildctl $version" >&2
mkdir -p .cache
work=$(mktemp -d "$PWD/.cache/buildkit-work-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
GOFLAGS='' GOWORK=off CGO_ENABLED=0 go build -C "$source" -trimpath -o "$work/bin/" ./cmd/buildkitd ./cmd/buildctl
# Whole or not at all; whoever comes second finds the first one's.
mv -T "$work/bin" "$out" 2>/dev/null || [ -x "$out/buildkitd" ]
