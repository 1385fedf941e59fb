package kitbuild

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/moby/buildkit/client"
	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/exporter/containerimage/exptypes"
	"github.com/moby/buildkit/frontend/dockerui"
	gwclient "github.com/moby/buildkit/frontend/gateway/client"
	"github.com/moby/buildkit/session/auth/authprovider"
	"github.com/moby/buildkit/session/sshforward/sshprovider"
	"github.com/moby/buildkit/solver/pb"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/tonistiigi/fsutil"

	"github.com/sbxkit/sbxkit/descriptor"
)

// product names this client to the engine.
const product = "sbxkit"

// Result is what a build made.
type Result struct {
	// Target is the image's index or its one manifest, as a layout may name it. It is zero when the
	// build had no layout to write to.
	Target ocispec.Descriptor
	// Findings are the warnings and notes about the kit, those of Prepare among them.
	Findings []descriptor.Finding
}

// options turns the request into what the engine's client wants.
func (p *Prepared) options(ctx context.Context, name string) error {
	req := p.req
	opt := client.SolveOpt{
		FrontendAttrs: map[string]string{optFilename: name},
		LocalMounts:   map[string]fsutil.FS{},
		OCIStores:     map[string]content.Store{},
	}
	fs, err := openDir(req.ContextDir)
	if err != nil {
		return fmt.Errorf("open build context: %w", err)
	}
	opt.LocalMounts[dockerui.DefaultLocalNameContext] = fs
	for name, value := range req.BuildArgs {
		opt.FrontendAttrs[prefixBuildArg+name] = value
	}
	for name, value := range req.Labels {
		opt.FrontendAttrs["label:"+name] = value
	}
	if err := checkEpoch(req.BuildArgs[argEpoch]); err != nil {
		return err
	}
	switch _, given := req.BuildArgs[argEpoch]; {
	case req.Epoch != nil:
		opt.FrontendAttrs[prefixBuildArg+argEpoch] = strconv.FormatInt(req.Epoch.Unix(), 10)
	case !given:
		opt.FrontendAttrs[prefixBuildArg+argEpoch] = strconv.FormatInt(DefaultEpoch.Unix(), 10)
	}
	if len(p.platforms) > 0 {
		opt.FrontendAttrs[optPlatform] = strings.Join(p.platforms, ",")
	}
	if req.Target != "" {
		opt.FrontendAttrs[optTarget] = req.Target
	}
	if req.NoCache {
		opt.FrontendAttrs[optNoCache] = ""
	}
	if req.Pull {
		opt.FrontendAttrs[optResolveMode] = pb.AttrImageResolveModeForcePull
	}
	if err := addContexts(ctx, &opt, req.BuildContexts); err != nil {
		return err
	}
	if err := addSession(&opt, req); err != nil {
		return err
	}
	abs, err := filepath.Abs(req.ContextDir)
	if err != nil {
		return fmt.Errorf("find build context: %w", err)
	}
	// What was sent from one folder is the base of what is sent from it next time.
	sum := sha256.Sum256([]byte(abs))
	opt.SharedKey = product + ":" + hex.EncodeToString(sum[:8])
	if req.Layout != nil {
		store, err := req.Layout.Store()
		if err != nil {
			return fmt.Errorf("open layout: %w", err)
		}
		opt.Exports = []client.ExportEntry{{
			Type:        client.ExporterOCI,
			OutputStore: store,
			// Dates of files come from the build context's machine and from the run; rewritten, equal
			// sources give equal digests.
			Attrs: map[string]string{"tar": "false", string(exptypes.OptKeyRewriteTimestamp): "true"},
		}}
	}
	p.solve = opt
	return nil
}

func addSession(opt *client.SolveOpt, req Request) error {
	if req.DockerConfig != nil {
		opt.Session = append(opt.Session, authprovider.NewDockerAuthProvider(authprovider.DockerAuthProviderConfig{
			AuthConfigProvider: authprovider.LoadAuthConfig(req.DockerConfig),
		}))
	}
	if len(req.Secrets) > 0 {
		provider, err := openSecrets(req.Secrets)
		if err != nil {
			return err
		}
		opt.Session = append(opt.Session, provider)
	}
	if len(req.SSH) > 0 {
		agent, err := sshprovider.NewSSHAgentProvider(req.SSH)
		if err != nil {
			return fmt.Errorf("open SSH agent: %w", err)
		}
		opt.Session = append(opt.Session, agent)
	}
	return nil
}

// Run builds with an engine. It may be called once: it closes the request's Progress. A fault of the kit
// that only its content could show is a *descriptor.InvalidError too.
func (p *Prepared) Run(ctx context.Context, c *client.Client) (*Result, error) {
	out := &Result{}
	var own error
	res, err := c.Build(ctx, p.solve, product, func(ctx context.Context, gw gwclient.Client) (res *gwclient.Result, err error) {
		res, out.Findings, err = p.build(ctx, gw)
		own = err
		return res, withSource(err)
	}, p.req.Progress)
	if own != nil {
		return nil, own // what crossed the engine's API has lost its type
	}
	if err != nil {
		return nil, err
	}
	if p.req.Layout != nil {
		if out.Target, err = exported(res.ExporterResponse); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// build is the build function for a kit that this process has read: nothing of it needs to go through the
// gateway and come back.
func (p *Prepared) build(ctx context.Context, gw gwclient.Client) (*gwclient.Result, []descriptor.Finding, error) {
	b, err := newBuild(gw)
	if err != nil {
		return nil, nil, err
	}
	if p.recipe != nil {
		def, err := inputState(p.recipe, "recipe "+path.Base(p.Kit.Recipe.Name)).Marshal(ctx, llb.WithCaps(b.c.opts.LLBCaps))
		if err != nil {
			return nil, nil, fmt.Errorf("hand over recipe: %w", err)
		}
		b.inputs = map[string]*pb.Definition{dockerui.DefaultLocalNameDockerfile: def.ToPB()}
	}
	var findings []descriptor.Finding
	var mu sync.Mutex
	b.warn = func(_ context.Context, f descriptor.Finding) {
		mu.Lock()
		defer mu.Unlock()
		findings = append(findings, f)
	}
	res, err := b.run(ctx, p.Kit)
	return res, findings, err
}

// exported reads what the exporter says that it wrote. Its annotations are of the moment, such as the
// time of the export, and would make equal layouts differ.
func exported(response map[string]string) (ocispec.Descriptor, error) {
	data, err := base64.StdEncoding.DecodeString(response[exptypes.ExporterImageDescriptorKey])
	if err != nil {
		return ocispec.Descriptor{}, fmt.Errorf("read the exporter's answer: %w", err)
	}
	var target ocispec.Descriptor
	if err := json.Unmarshal(data, &target); err != nil {
		return ocispec.Descriptor{}, fmt.Errorf("read the exporter's answer: %w", err)
	}
	target.Annotations = nil
	return target, nil
}
