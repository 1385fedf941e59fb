package buildkit

import (
	"errors"
	"sync"

	"github.com/containerd/platforms"
	"github.com/moby/buildkit/client"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
)

// Bounds of the cache. What was used least recently goes first, when an engine that has built something
// is closed, or earlier if it runs for long; a single build may exceed them while it lasts.
const (
	// MaxCacheBytes is the most that the cache keeps, in bytes.
	MaxCacheBytes = 10 << 30
	// MaxCachePercent is the most that it keeps of the file system that it lies on. The smaller bound counts.
	MaxCachePercent = 20
)

// Reasons why an engine cannot start or run something here; each wraps a text that says what to do.
var (
	// ErrUnsupportedSystem means that BuildKit cannot run in-process on this operating system.
	ErrUnsupportedSystem = errors.New("the embedded builder runs on Linux only")
	// ErrNotRoot means that the process may not mount file systems.
	ErrNotRoot = errors.New("the embedded builder must run as root")
	// ErrNoRuntime means that no usable OCI runtime was found for a RUN step. It reaches the caller of
	// a build as text only, because the error travels over the engine's API; see [Engine.Runtime].
	ErrNoRuntime = errors.New("a RUN step needs runc")
)

// Options of Start.
type Options struct {
	// Root is the state directory; it is created with mode 0700, as is what lies in it. Required.
	Root string
	// Logf receives talk for a person, one line each without a newline: what is waited for, what is
	// missing. It may be called from several goroutines, and is not called after Close. Nil discards.
	Logf func(format string, a ...any)
	// MaxCache is the most that the cache keeps, in bytes. Zero means the smaller of MaxCacheBytes and
	// MaxCachePercent of the file system.
	MaxCache int64
	// Verbose also sends the libraries' own logs to Logf.
	Verbose bool
}

// Engine is a running BuildKit. Its methods may be called from several goroutines.
type Engine struct {
	// Client speaks to the engine. Close closes it.
	Client *client.Client
	// Snapshotter names how layers are stacked: "overlayfs", or "native", which copies and is slow.
	Snapshotter string
	// Runtime is the path of the OCI runtime for RUN steps, or empty if there is none.
	Runtime string

	platforms func() []ocispecs.Platform
	closeOnce sync.Once
	closeErr  error
	stop      func() error
}

// Platforms lists what RUN steps can be run for, the machine's own platform first, then the emulated
// ones that are registered with the kernel (binfmt_misc).
func (e *Engine) Platforms() []ocispecs.Platform {
	return append([]ocispecs.Platform(nil), e.platforms()...)
}

// CanRun reports whether RUN steps for a platform can be executed, natively or emulated. A build
// without RUN works for every platform.
func (e *Engine) CanRun(p ocispecs.Platform) bool {
	for _, have := range e.platforms() {
		// Strictly, because emulation does not reach to an architecture's predecessors.
		if platforms.OnlyStrict(have).Match(p) {
			return true
		}
	}
	return false
}

// Close stops the engine: it cancels builds that still run, waits for their containers to end, trims
// the cache to its bounds and releases the state directory. Closing again returns the first result.
func (e *Engine) Close() error {
	e.closeOnce.Do(func() { e.closeErr = e.stop() })
	return e.closeErr
}
