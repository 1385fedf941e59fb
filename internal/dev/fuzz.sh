#!/bin/sh
# Runs every fuzz target of the module for the given time each:
#
#   internal/dev/fuzz.sh 30s
set -eu

cd "$(dirname "$0")/../.."
found=0
for package in $(go list ./...); do
	for target in $(go test -run '^$' -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
		found=$((found + 1))
		echo "== $package $target" >&2
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$1" "$package"
	done
done
[ "$found" -gt 0 ] || {
	echo "fuzz: there is no fuzz target" >&2
	exit 1
}
echo "$found fuzz targets ran for $1 each"
