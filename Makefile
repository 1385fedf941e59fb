# `make` lists the targets. Each one does its own set-up: on Debian and Ubuntu, as root, missing programs are
# installed; elsewhere the first line of the error names them.

.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-print-directory

# What tests and benchmarks run beside Go. internal/testenv finds or starts these; gcc links the race detector.
PROGRAMS := runc skopeo umoci dockerd docker-registry mmdebstrap busybox python3 git gcc

FUZZTIME ?= 30s
PLATFORMS ?= linux/amd64,linux/arm64

# A release is a commit with a version tag; any other build has no version and calls itself "dev".
VERSION = $(shell git describe --tags --exact-match --match 'v[0-9]*' 2>/dev/null | sed 's/^v//')
REVISION = $(shell git describe --always --abbrev=40 --dirty --exclude '*' 2>/dev/null)
MODULE = $(shell go list -m)
LDFLAGS = -s -w \
	-X $(MODULE)/internal/version.release=$(VERSION) -X $(MODULE)/internal/version.revision=$(REVISION)

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' $(MAKEFILE_LIST) | while IFS=$$'\t' read -r name text; do printf '%-8s %s\n' "$$name" "$$text"; done

.PHONY: demo
demo: build ## build the deepagents kit for two platforms and judge it
	@internal/dev/setup.sh runc
	bin/sbxkit build kits/deepagents -f kits/deepagents/deepagents.yaml -t deepagents:0.7.21 \
		--platform $(PLATFORMS) --output type=oci,dest=out/deepagents,tar=false
	@echo "The OCI layout is in $(CURDIR)/out/deepagents"
	bin/kit-tck validate --layout out/deepagents 0.7.21

.PHONY: test
test: check ## all that CI runs

.PHONY: check
check: setup lint ## the static checks, and every test, under the race detector where BuildKit allows; prints the counts
	@# BuildKit has data races of its own (in its resolve cache and its layer records), which would fail our tests.
	go run ./internal/dev/testcount -race-except github.com/moby/buildkit/solver -count=1 -timeout=60m

.PHONY: lint
lint: ## the static checks alone: format, go.mod, vet, staticcheck, import rules
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { echo "not formatted (gofmt -w):" $$unformatted >&2; exit 1; }
	go mod tidy -diff
	go vet ./...
	go tool staticcheck ./...
	go test -count=1 ./internal/archtest

.PHONY: bench
bench: ## measure the speed beside buildkitd's; JSON=FILE keeps all samples; no test depends on a figure
	@internal/dev/setup.sh runc git
	@internal/dev/buildkit.sh
	go test -run='^$$' -bench='^BenchmarkTable$$' -benchtime=1x -timeout=60m ./internal/bench $(if $(JSON),-args -figures='$(abspath $(JSON))')

.PHONY: fuzz
fuzz: ## run each fuzz target for FUZZTIME (30s)
	internal/dev/fuzz.sh $(FUZZTIME)

.PHONY: build
build: ## make the static programs bin/sbxkit and bin/kit-tck
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/sbxkit ./cmd/kit-tck

.PHONY: setup
setup: base ## install and make what tests need
	@internal/dev/setup.sh $(PROGRAMS)
	@internal/dev/buildkit.sh

.PHONY: base
base: ## make a base image from distribution packages in .cache/base
	@internal/dev/setup.sh mmdebstrap
	@go run ./internal/dev/mkbase -o .cache/base

.PHONY: rename
rename: ## change the module path: make rename TO=example.com/you/sbxkit
	@[ -n "$(TO)" ] || { echo "rename: say make rename TO=example.com/you/sbxkit" >&2; exit 2; }
	from='$(MODULE)'; git grep -lzF "$$from" | xargs -0 sed -i "s|$$from|$(TO)|g"
	gofmt -w . # imports are sorted by path

.PHONY: clean
clean: ## delete everything that was made
	rm -rf bin out .cache
