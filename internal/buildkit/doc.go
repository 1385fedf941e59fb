// Package buildkit is the place where a build runs: a whole BuildKit inside this process.
//
// [Start] opens a state directory and returns an [Engine] whose Client speaks BuildKit's own API over
// memory: no daemon, no socket, no account. [Engine.Close] ends it. A program that builds calls
// [Isolate] first, so that even a build that is killed leaves neither mounts nor processes.
//
// # What it needs
//
// Linux and root. RUN steps also need runc; without it builds made of FROM, COPY and the like still
// work, and the first RUN says what to install. On other systems, and without root, Start refuses and
// says what is missing.
//
// # State
//
// The state directory belongs to one engine at a time, held by a file lock; a second one waits, and
// says so. It holds nothing but cache: it may be deleted whenever no engine runs. [MaxCacheBytes] and
// [MaxCachePercent] bound it.
//
// # What it does not do
//
// It keeps no build history, opens no port, sends no telemetry and writes nothing to standard error.
// The logs of the BuildKit and containerd libraries, which are global to a process, are taken over
// by the first Start and stay taken over.
//
// # Limits and stability
//
// Engines of one process share nothing but those logs. BuildKit keeps a few idle goroutines per engine
// after Close; none holds a file, the lock or a mount. The package is internal: it promises nothing
// beyond this module.
package buildkit
