package buildkit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/containerd/containerd/v2/defaults"
	"github.com/moby/buildkit/cache/remotecache"
	inlinecache "github.com/moby/buildkit/cache/remotecache/inline"
	localcache "github.com/moby/buildkit/cache/remotecache/local"
	registrycache "github.com/moby/buildkit/cache/remotecache/registry"
	"github.com/moby/buildkit/client"
	"github.com/moby/buildkit/cmd/buildkitd/config"
	"github.com/moby/buildkit/control"
	"github.com/moby/buildkit/frontend"
	"github.com/moby/buildkit/frontend/dockerfile/builder"
	"github.com/moby/buildkit/frontend/gateway"
	"github.com/moby/buildkit/frontend/gateway/forwarder"
	"github.com/moby/buildkit/session"
	"github.com/moby/buildkit/solver"
	"github.com/moby/buildkit/solver/bboltcachestorage"
	"github.com/moby/buildkit/util/db/boltutil"
	"github.com/moby/buildkit/util/grpcerrors"
	_ "github.com/moby/buildkit/util/grpcutil/encoding/proto" // the fast codec of BuildKit's messages
	"github.com/moby/buildkit/worker"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
	bolt "go.etcd.io/bbolt"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"
)

// trimTimeout is how long Close may take to bring the cache below its bounds; the next Close goes on.
const trimTimeout = 30 * time.Second

// pipeBytes is the capacity of the connection between client and engine, in bytes.
const pipeBytes = 1 << 20

// Start starts the embedded engine. It waits for another engine that holds opt.Root, says so through
// opt.Logf, and gives up when ctx ends; ctx has no meaning after Start returned.
func Start(ctx context.Context, opt Options) (_ *Engine, err error) {
	logf := opt.Logf
	if logf == nil {
		logf = func(string, ...any) {}
	}
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("start builder: %w: run it with sudo", ErrNotRoot)
	}
	var undo cleanup
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("start builder: %w", err), undo.run())
		}
	}()
	undo.addFunc(captureLogs(logf, opt.Verbose))

	root, lock, err := openState(ctx, opt.Root, logf)
	if err != nil {
		return nil, err
	}
	undo.add(lock.Close)
	unmark, err := markRunning(root, logf)
	if err != nil {
		return nil, err
	}
	undo.add(unmark)

	background := context.WithoutCancel(ctx) // what follows is quick, and is used after Start returned
	runtime, noRuntime := findRuntime()
	snapshotter, err := pickSnapshotter(root, logf)
	if err != nil {
		return nil, err
	}
	b, err := newLocalWorker(background, root, snapshotter, runtime, noRuntime)
	if err != nil {
		return nil, cacheError(root, err)
	}
	undo.add(b.Close)
	if err := b.limit(opt.MaxCache); err != nil {
		return nil, err
	}
	ctl, err := newController(background, root, b, &undo)
	if err != nil {
		return nil, cacheError(root, err)
	}
	undo.addFunc(b.containers.wait)

	server := grpc.NewServer(
		grpc.ChainUnaryInterceptor(grpcerrors.UnaryServerInterceptor),
		grpc.ChainStreamInterceptor(grpcerrors.StreamServerInterceptor),
		grpc.MaxRecvMsgSize(defaults.DefaultMaxRecvMsgSize),
		grpc.MaxSendMsgSize(defaults.DefaultMaxSendMsgSize),
		grpc.WaitForHandlers(true), // Stop must not return before the builds have
	)
	ctl.Register(server)
	pipe := bufconn.Listen(pipeBytes)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(pipe) // ends when Stop closes the pipe
	}()
	undo.addFunc(func() { <-served })
	undo.addFunc(server.Stop)

	c, err := client.New(background, "passthrough:///embedded", client.WithContextDialer(
		func(ctx context.Context, _ string) (net.Conn, error) { return pipe.DialContext(ctx) }))
	if err != nil {
		return nil, err
	}
	undo.add(c.Close)
	return &Engine{
		Client: c, Snapshotter: snapshotter, Runtime: runtime,
		platforms: func() []ocispecs.Platform { return b.Platforms(false) },
		stop:      undo.run,
	}, nil
}

// cacheError tells the way out of a cache that cannot be opened.
func cacheError(root string, err error) error {
	return fmt.Errorf("open build cache: %w (if this stays, delete %s: it holds nothing but cache)", err, root)
}

// newController puts BuildKit's control service together around one worker.
func newController(ctx context.Context, root string, b *localWorker, undo *cleanup) (*control.Controller, error) {
	sessions, err := session.NewManager()
	if err != nil {
		return nil, err
	}
	workers := &worker.Controller{}
	if err := workers.Add(b); err != nil {
		return nil, err
	}
	gw, err := gateway.NewGatewayFrontend(workers.Infos(), nil)
	if err != nil {
		return nil, err
	}
	store, err := bboltcachestorage.NewStore(filepath.Join(root, "cache.db"))
	if err != nil {
		return nil, err
	}
	undo.add(store.Close)
	// No history is kept, but BuildKit looks into its database all the same.
	history, err := boltutil.SafeOpen(filepath.Join(root, "history.db"), 0o600, &bolt.Options{NoSync: true})
	if err != nil {
		return nil, err
	}
	undo.add(history.Close)
	ended := make(chan struct{})
	undo.addFunc(func() { close(ended) })
	keys := solver.NewCacheManager(ctx, "local", store, worker.NewCacheResultStorage(workers))
	ctl, err := control.NewController(control.Opt{
		SessionManager:   sessions,
		WorkerController: workers,
		Frontends: map[string]frontend.Frontend{
			"dockerfile.v0": forwarder.NewGatewayForwarder(workers.Infos(), builder.Build),
			"gateway.v0":    gw,
		},
		CacheManager: keys,
		ResolveCacheExporterFuncs: map[string]remotecache.ResolveCacheExporterFunc{
			"registry": registrycache.ResolveCacheExporterFunc(sessions, b.RegistryHosts),
			"local":    localcache.ResolveCacheExporterFunc(sessions),
			"inline":   inlinecache.ResolveCacheExporterFunc(),
		},
		ResolveCacheImporterFuncs: map[string]remotecache.ResolveCacheImporterFunc{
			"registry": registrycache.ResolveCacheImporterFunc(sessions, b.ContentStore(), b.RegistryHosts),
			"local":    localcache.ResolveCacheImporterFunc(sessions),
		},
		HistoryDB:      history,
		HistoryConfig:  &config.HistoryConfig{MaxEntries: new(int64)}, // zero turns it off
		CacheStore:     store,
		LeaseManager:   b.LeaseManager(),
		ContentStore:   b.ContentStore(),
		GarbageCollect: b.GarbageCollect,
		GracefulStop:   ended,
	})
	if err != nil {
		return nil, err
	}
	undo.add(ctl.Close)
	undo.add(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), trimTimeout)
		defer cancel()
		return b.trim(ctx, keys)
	})
	return ctl, nil
}

// cleanup is what has to be undone, in the order in which it was done.
type cleanup []func() error

func (c *cleanup) add(f func() error) { *c = append(*c, f) }

func (c *cleanup) addFunc(f func()) { c.add(func() error { f(); return nil }) }

// run undoes the last first and goes on after an error.
func (c *cleanup) run() error {
	var errs []error
	for i := len(*c) - 1; i >= 0; i-- {
		errs = append(errs, (*c)[i]())
	}
	*c = nil
	return errors.Join(errs...)
}
