package buildkit

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/containerd/containerd/v2/core/diff/apply"
	ctdmetadata "github.com/containerd/containerd/v2/core/metadata"
	ctdsnapshot "github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/containerd/v2/plugins/content/local"
	"github.com/containerd/containerd/v2/plugins/diff/walking"
	"github.com/moby/buildkit/cache"
	"github.com/moby/buildkit/cache/contenthash"
	"github.com/moby/buildkit/cache/metadata"
	"github.com/moby/buildkit/client"
	"github.com/moby/buildkit/executor/oci"
	"github.com/moby/buildkit/executor/resources"
	"github.com/moby/buildkit/executor/runcexecutor"
	"github.com/moby/buildkit/frontend"
	"github.com/moby/buildkit/session"
	containerdsnapshot "github.com/moby/buildkit/snapshot/containerd"
	"github.com/moby/buildkit/solver"
	"github.com/moby/buildkit/solver/pb"
	"github.com/moby/buildkit/util/archutil"
	"github.com/moby/buildkit/util/db/boltutil"
	"github.com/moby/buildkit/util/disk"
	"github.com/moby/buildkit/util/leaseutil"
	"github.com/moby/buildkit/util/network"
	"github.com/moby/buildkit/util/resolver"
	"github.com/moby/buildkit/version"
	"github.com/moby/buildkit/worker"
	"github.com/moby/buildkit/worker/base"
	"github.com/moby/buildkit/worker/label"
	bolt "go.etcd.io/bbolt"
)

// localWorker is BuildKit's worker with a garbage collection that can be ended: BuildKit's timers would
// otherwise visit databases that Close has closed.
type localWorker struct {
	*base.Worker
	containers *containers
	layers     io.Closer
	policy     atomic.Pointer[[]client.PruneInfo] // nil once closed
	used       atomic.Bool                        // something was built
	closeOnce  sync.Once
	closeErr   error
}

// Close closes the stores. BuildKit's own Close panics when it is called again.
func (b *localWorker) Close() error {
	b.closeOnce.Do(func() {
		b.policy.Store(nil)
		b.forgetHashes()
		b.closeErr = errors.Join(b.Worker.Close(), b.layers.Close())
	})
	return b.closeErr
}

// namespace is the name that BuildKit's objects have in the containerd stores.
const namespace = "buildkit"

// newLocalWorker opens the worker's stores below root. It does what BuildKit's own constructor does for
// an OCI worker, less what costs time here and is never used: among it the proxy network, which makes an
// RSA key at each start.
func newLocalWorker(ctx context.Context, root, snapshotter, runtime string, noRuntime error) (_ *localWorker, err error) {
	var undo cleanup
	defer func() {
		if err != nil {
			err = errors.Join(err, undo.run())
		}
	}()
	root = filepath.Join(root, "runc-"+snapshotter)
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, err
	}
	if err := removeStale(ctx, root, runtime); err != nil {
		return nil, err
	}
	id, err := base.ID(root)
	if err != nil {
		return nil, err
	}
	monitor, err := resources.NewMonitor()
	if err != nil {
		return nil, err
	}
	networks := map[pb.NetMode]network.Provider{
		pb.NetMode_UNSET: network.NewHostProvider(),
		pb.NetMode_HOST:  network.NewHostProvider(),
		pb.NetMode_NONE:  network.NewNoneProvider(),
	}
	runs := &containers{runtime: runtime, missing: noRuntime}
	if noRuntime == nil {
		runs.Executor, err = runcexecutor.New(runcexecutor.Opt{
			Root:              filepath.Join(root, "executor"),
			CommandCandidates: []string{runtime},
			ProcessMode:       oci.ProcessSandbox,
			ResourceMonitor:   monitor,
		}, networks)
		if err != nil {
			return nil, err
		}
	}

	layers, err := snapshotters[snapshotter](filepath.Join(root, "snapshots"))
	if err != nil {
		return nil, err
	}
	undo.add(layers.Close)
	blobs, err := local.NewStore(filepath.Join(root, "content"))
	if err != nil {
		return nil, err
	}
	index, err := boltutil.Open(filepath.Join(root, "containerdmeta.db"), 0o600, &bolt.Options{
		FreelistType: bolt.FreelistMapType, NoFreelistSync: true,
		NoSync: true, // see markRunning; the last change before Close is synced
	})
	if err != nil {
		return nil, err
	}
	undo.add(index.Close)
	objects := ctdmetadata.NewDB(index, blobs, map[string]ctdsnapshot.Snapshotter{snapshotter: layers})
	if err := objects.Init(ctx); err != nil {
		return nil, err
	}
	records, err := metadata.NewStore(filepath.Join(root, "metadata_v2.db"))
	if err != nil {
		return nil, err
	}
	undo.add(records.Close)

	content := containerdsnapshot.NewContentStore(objects.ContentStore(), namespace)
	w, err := base.NewWorker(ctx, base.WorkerOpt{
		ID:   id,
		Root: root,
		Labels: map[string]string{
			label.Executor:       "oci",
			label.Snapshotter:    snapshotter,
			label.Network:        "host",
			label.OCIProcessMode: oci.ProcessSandbox.String(),
		},
		Platforms:        archutil.SupportedPlatforms(false),
		BuildkitVersion:  client.BuildkitVersion{Package: version.Package, Version: version.Version, Revision: version.Revision},
		NetworkProviders: networks,
		Executor:         runs,
		Snapshotter:      containerdsnapshot.NewSnapshotter(snapshotter, objects.Snapshotter(snapshotter), namespace, nil),
		ContentStore:     content,
		Applier:          apply.NewFileSystemApplier(content),
		Differ:           walking.NewWalkingDiff(content),
		RegistryHosts:    resolver.NewRegistryConfig(nil),
		LeaseManager:     leaseutil.WithNamespace(ctdmetadata.NewLeaseManager(objects), namespace),
		GarbageCollect:   objects.GarbageCollect,
		MetadataStore:    records,
		ContentMetadata:  index,
		MountPoolRoot:    filepath.Join(root, "cachemounts"),
		ResourceMonitor:  monitor,
	})
	if err != nil {
		return nil, err
	}
	return &localWorker{Worker: w, containers: runs, layers: layers}, nil
}

// GCPolicy is what BuildKit's own timers collect by: nothing once the engine is closed.
func (b *localWorker) GCPolicy() []client.PruneInfo {
	if p := b.policy.Load(); p != nil {
		return *p
	}
	return nil
}

// forgetHashes drops this worker's entries from BuildKit's table of file hashes. That table is global
// and keyed by names that the next engine on the same directory uses, too: it would find closed databases.
func (b *localWorker) forgetHashes() {
	if !b.used.Load() {
		return
	}
	items, err := b.MetadataStore.All()
	if err != nil {
		return // the store is unusable, and so will be the next engine
	}
	for _, item := range items {
		contenthash.ClearCacheContext(recordName{name: item.ID()})
	}
}

// recordName is a cache record of which only the name is asked.
type recordName struct {
	cache.RefMetadata
	name string
}

// ID implements cache.RefMetadata.
func (r recordName) ID() string { return r.name }

// ResolveOp implements worker.Worker. Every build step passes here.
func (b *localWorker) ResolveOp(v solver.Vertex, br frontend.FrontendLLBBridge, sm *session.Manager, p worker.ProxyOpt) (solver.Op, error) {
	b.used.Store(true)
	return b.Worker.ResolveOp(v, br, sm, p)
}

// trim brings the cache below its bounds if anything was built. BuildKit itself does so by a timer that
// a short build never sees. keys is the index of what can be reused.
func (b *localWorker) trim(ctx context.Context, keys solver.CacheManager) error {
	if !b.used.Load() {
		return nil
	}
	gone := make(chan client.UsageInfo)
	counted := make(chan int)
	go func() {
		n := 0
		for range gone {
			n++
		}
		counted <- n
	}()
	err := b.Prune(ctx, gone, b.GCPolicy()...)
	close(gone)
	if n := <-counted; n > 0 && err == nil {
		err = keys.ReleaseUnreferenced(ctx)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return nil // enough for now
	}
	return err
}

// limit sets how many bytes the cache may keep. What is easiest to make again goes first: copies of the
// client's files and cache mounts get a tenth once they are two days old. Zero means the usual bounds.
func (b *localWorker) limit(bytes int64) error {
	if bytes == 0 {
		st, err := disk.GetDiskStat(b.Root)
		if err != nil {
			return err
		}
		bytes = min(MaxCacheBytes, st.Total/100*MaxCachePercent)
	}
	b.policy.Store(&[]client.PruneInfo{
		{
			Filter:       []string{"type==source.local", "type==exec.cachemount", "type==source.git.checkout"},
			KeepDuration: 48 * time.Hour,
			MaxUsedSpace: max(1, bytes/10), // zero would mean no bound
		},
		{MaxUsedSpace: bytes},
		{All: true, MaxUsedSpace: bytes},
	})
	return nil
}
