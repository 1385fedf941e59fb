package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/distribution/reference"
	"github.com/docker/cli/cli/config"
	"github.com/moby/buildkit/session/secrets/secretsprovider"
	"github.com/moby/buildkit/session/sshforward/sshprovider"
	"github.com/moby/buildkit/util/progress/progressui"
	"github.com/spf13/cobra"
	"github.com/tonistiigi/go-csvvalue"
	"golang.org/x/term"

	"github.com/sbxkit/sbxkit/internal/cli"
	"github.com/sbxkit/sbxkit/internal/kitbuild"
)

// buildFlags is the command line of `sbxkit build` as it was typed.
type buildFlags struct {
	file      string
	tags      []string
	platforms []string
	outputs   []string
	args      []string
	contexts  []string
	labels    []string
	secrets   []string
	ssh       []string
	target    string
	progress  string
	metadata  string
	push      bool
	plainHTTP bool
	noCache   bool
	pull      bool
	quiet     bool
	verbose   bool
}

func newBuild() *cobra.Command {
	var f buildFlags
	cmd := &cobra.Command{
		Use:   "build [DIR|FILE]",
		Short: "Build a kit: judge its descriptor, build its content, write or push the image",
		Long: `Build the kit whose descriptor is in DIR (the working directory if omitted).

The recipe of NAME.yaml is NAME.dockerfile beside it, or what the descriptor names with
dockerfile or holds in build. A mixin without a recipe only declares.

The descriptor is judged before any content is built. The build runs in this process: no
daemon, no account. It needs root, and runc for recipes with RUN steps. The image's digest
is printed to standard output; equal sources give equal digests. Files are dated by the
environment's SOURCE_DATE_EPOCH, or else with 1980-01-02.

Without --output and --push the kit is built and checked, and nothing is kept but cache.

Exit status: 0 built, 1 the kit is invalid, does not conform or a step of its recipe fails,
2 usage, 3 the build could not be done.`,
		Example: `  # check that it builds, keep nothing
  sbxkit build kits/deepagents --output type=cacheonly

  # both platforms into an OCI layout directory, then judge it
  sbxkit build kits/deepagents -t deepagents:0.7.21 --platform linux/amd64,linux/arm64 \
      --output type=oci,dest=out/deepagents,tar=false
  kit-tck validate --layout out/deepagents 0.7.21

  # straight into a Docker Engine
  sbxkit build kits/shell -t shell:1.0.0 --output type=docker,dest=- | docker load

  # publish under two tags
  sbxkit build kits/deepagents --platform linux/amd64,linux/arm64 --push \
      -t registry.example/kits/deepagents:0.7.21 -t registry.example/kits/deepagents:latest`,
		Args:              cli.Operands(0, 1),
		ValidArgsFunction: completeKits,
		Annotations: cli.FlagAdvice(map[string]string{
			"load":            "write --output type=docker,dest=- and pipe it into docker load",
			"builder":         "the build runs in this process",
			"cache-from":      "the cache is kept on this machine",
			"cache-to":        "the cache is kept on this machine",
			"provenance":      "kits are built without attestations; sign the digest",
			"sbom":            "kits are built without attestations; sign the digest",
			"attest":          "kits are built without attestations; sign the digest",
			"iidfile":         "the digest is printed to standard output",
			"no-cache-filter": "use --no-cache",
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				if dir = args[0]; dir == "" {
					return cli.Usagef("the operand is empty")
				}
			}
			if info, err := os.Stat(dir); err == nil && info.Mode().IsRegular() && f.file == "" {
				dir, f.file = filepath.Dir(dir), dir // as validate takes it
			}
			job, err := f.job(dir, cmd.OutOrStdout(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return job.run(cmd.Context())
		},
	}
	f.register(cmd)
	return cmd
}

func (f *buildFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVarP(&f.file, "file", "f", "", "read the descriptor `FILE`, relative to the working directory (default: the one descriptor in DIR)")
	fs.StringArrayVarP(&f.tags, "tag", "t", nil, "call the image `NAME`, such as deepagents:0.7.21; repeatable")
	fs.StringSliceVar(&f.platforms, "platform", nil, "build for each `PLATFORM`, such as linux/amd64,linux/arm64 (default: this machine's)")
	fs.StringArrayVarP(&f.outputs, "output", "o", nil, "where the image goes: type=oci,dest=`DEST`[,tar=false], type=docker,dest=DEST or type=cacheonly; repeatable")
	fs.StringArrayVar(&f.args, "build-arg", nil, "give a build-phase arg of the kit, or of its recipe, as `NAME=VALUE`; NAME alone takes the value from the environment; repeatable")
	fs.StringArrayVar(&f.contexts, "build-context", nil, "replace an image or stage: `NAME=VALUE`, where VALUE is a folder, docker-image://REF or oci-layout://DIR[:TAG|@DIGEST]; repeatable")
	fs.StringArrayVar(&f.labels, "label", nil, "put a label into the image config: `NAME=VALUE`; repeatable")
	fs.StringArrayVar(&f.secrets, "secret", nil, "secret for RUN --mount=type=secret: `id=ID,src=FILE` or id=ID,env=NAME; repeatable")
	fs.StringArrayVar(&f.ssh, "ssh", nil, "SSH agent for RUN --mount=type=ssh: `ID[=SOCKET|KEY]`; repeatable")
	fs.StringVar(&f.target, "target", "", "build the `STAGE` of the recipe (default: the last)")
	fs.StringVar(&f.progress, "progress", "auto", "show progress as `FORM`: auto, tty, plain, quiet or rawjson")
	fs.StringVar(&f.metadata, "metadata-file", "", "write digest, names and platforms of what is kept as JSON to `FILE`")
	fs.BoolVar(&f.push, "push", false, "push the image under every --tag")
	fs.BoolVar(&f.plainHTTP, "plain-http", false, "speak HTTP without TLS to the registries of --push (loopback always does)")
	fs.BoolVar(&f.noCache, "no-cache", false, "run every step anew")
	fs.BoolVar(&f.pull, "pull", false, "ask registries for the newest image behind each tag")
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress: print the digest, and warnings and errors if there are any")
	fs.BoolVar(&f.verbose, "verbose", false, "also print what the builder logs")

	fixed := func(words ...string) cobra.CompletionFunc {
		return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	}
	for flag, complete := range map[string]cobra.CompletionFunc{
		"platform": fixed("linux/amd64", "linux/arm64", "linux/amd64,linux/arm64"),
		"progress": fixed("auto", "tty", "plain", "quiet", "rawjson"),
		"output":   cobra.FixedCompletions([]string{"type=oci,dest=", "type=oci,tar=false,dest=", "type=docker,dest=", "type=cacheonly"}, cobra.ShellCompDirectiveNoSpace),
	} {
		if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
			panic(err) // the flag is registered above
		}
	}
}

// job turns the flags into a buildJob, or says what is wrong with them.
func (f *buildFlags) job(dir string, stdout, stderr io.Writer) (*buildJob, error) {
	job := &buildJob{
		push: f.push, plainHTTP: f.plainHTTP, metadata: f.metadata, verbose: f.verbose,
		stdout: stdout, stderr: stderr,
		req: kitbuild.Request{
			ContextDir: dir, DescriptorPath: f.file, Platforms: f.platforms, Target: f.target,
			NoCache: f.noCache, Pull: f.pull,
			DockerConfig: config.LoadDefaultConfigFile(stderr),
		},
	}
	var err error
	if job.progress, err = f.progressMode(); err != nil {
		return nil, err
	}
	if job.outputs, err = parseOutputs(f.outputs); err != nil {
		return nil, err
	}
	if err := kitbuild.CheckPlatforms(strings.Join(f.platforms, ",")); len(f.platforms) > 0 && err != nil {
		return nil, &cli.UsageError{Err: err}
	}
	if err := f.checkDestinations(job.outputs, stdout); err != nil {
		return nil, err
	}
	if f.metadata != "" && !job.keeps() {
		return nil, &cli.UsageError{Err: errors.New("--metadata-file has nothing to tell: no image is kept"), Hint: "give --output or --push too"}
	}
	if job.names, err = parseNames(f.tags); err != nil {
		return nil, err
	}
	if f.push && len(job.names) == 0 {
		return nil, &cli.UsageError{Err: errors.New("--push needs a name to push to"), Hint: "give one with -t REGISTRY/REPOSITORY:TAG"}
	}
	if job.req.BuildArgs, err = pairs("build-arg", f.args, os.LookupEnv); err != nil {
		return nil, err
	}
	// The convention of reproducible builds is an environment variable; a build argument comes first.
	if epoch, ok := os.LookupEnv("SOURCE_DATE_EPOCH"); ok && epoch != "" {
		if _, given := job.req.BuildArgs["SOURCE_DATE_EPOCH"]; !given {
			if _, err := strconv.ParseInt(epoch, 10, 64); err != nil {
				return nil, cli.Usagef("the environment's SOURCE_DATE_EPOCH is no number of seconds")
			}
			job.req.BuildArgs["SOURCE_DATE_EPOCH"] = epoch
		}
	}
	if job.req.BuildContexts, err = pairs("build-context", f.contexts, nil); err != nil {
		return nil, err
	}
	if job.req.Labels, err = pairs("label", f.labels, nil); err != nil {
		return nil, err
	}
	if job.req.Secrets, err = parseSecrets(f.secrets); err != nil {
		return nil, err
	}
	job.req.SSH = parseSSH(f.ssh)
	return job, nil
}

func (f *buildFlags) progressMode() (progressui.DisplayMode, error) {
	if f.quiet {
		return progressui.QuietMode, nil
	}
	modes := []progressui.DisplayMode{progressui.AutoMode, progressui.TtyMode, progressui.PlainMode, progressui.QuietMode, progressui.RawJSONMode}
	if mode := progressui.DisplayMode(f.progress); slices.Contains(modes, mode) {
		return mode, nil
	}
	return "", cli.Usagef("--progress %q: want auto, tty, plain, quiet or rawjson", f.progress)
}

// checkDestinations refuses, before anything is built, what could only fail after it.
func (f *buildFlags) checkDestinations(outputs []output, stdout io.Writer) error {
	folders, streams := 0, 0
	for _, o := range outputs {
		switch {
		case o.kind == outputCacheOnly:
			continue
		case o.kind == outputDocker && len(f.platforms) > 1:
			return &cli.UsageError{Err: errors.New("--output type=docker: an archive for docker load holds one platform"),
				Hint: "name one with --platform, or write type=oci"}
		case o.kind == outputOCI && !o.tar:
			folders++
			continue
		case o.dest == "-":
			streams++
			continue
		}
		if err := os.MkdirAll(filepath.Dir(o.dest), 0o755); err != nil {
			return fmt.Errorf("make room for the archive: %w", err)
		}
		if _, err := placeOf(o.dest); err != nil {
			return fmt.Errorf("find the place of the archive: %w", err)
		}
	}
	if folders > 1 {
		return cli.Usagef("--output: one layout directory at a time; copy it for a second one")
	}
	if file, ok := stdout.(*os.File); ok && streams > 0 && term.IsTerminal(int(file.Fd())) {
		return cli.Usagef("--output: will not write an archive to a terminal: redirect it, or give dest=FILE")
	}
	return nil
}

// parseNames checks the names early, so that a slip costs no build, and writes them in full.
func parseNames(tags []string) ([]string, error) {
	var names []string
	for _, tag := range tags {
		named, err := reference.ParseNormalizedNamed(tag)
		if err != nil {
			return nil, cli.Usagef("--tag %q: %v", tag, err)
		}
		if _, pinned := named.(reference.Digested); pinned {
			return nil, cli.Usagef("--tag %q: a build cannot choose its digest: leave out what follows the @", tag)
		}
		if full := reference.TagNameOnly(named).String(); !slices.Contains(names, full) {
			names = append(names, full)
		}
	}
	return names, nil
}

// pairs reads NAME=VALUE flags. lookup, where there is one, answers for a NAME alone; a name that it
// does not know is left out, as docker does.
func pairs(flag string, texts []string, lookup func(string) (string, bool)) (map[string]string, error) {
	out := map[string]string{}
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if name == "" || (!ok && lookup == nil) {
			return nil, cli.Usagef("--%s: want NAME=VALUE", flag) // the text may hold a secret
		}
		if !ok {
			if value, ok = lookup(name); !ok {
				continue
			}
		}
		out[name] = value
	}
	return out, nil
}

// parseSecrets reads id=ID,src=FILE and id=ID,env=NAME.
func parseSecrets(texts []string) ([]secretsprovider.Source, error) {
	var list []secretsprovider.Source
	for _, text := range texts {
		fields, err := csvvalue.Fields(text, nil)
		if err != nil { // without the text, which may be the secret itself
			return nil, cli.Usagef("--secret: want id=ID,src=FILE or id=ID,env=NAME")
		}
		var s secretsprovider.Source
		for _, field := range fields {
			key, value, _ := strings.Cut(field, "=")
			switch strings.ToLower(key) {
			case "id":
				s.ID = value
			case "src", "source":
				s.FilePath = value
			case "env":
				s.Env = value
			case "type":
				if value != "file" && value != "env" {
					return nil, cli.Usagef("--secret: unknown type %q: want file or env", value)
				}
			default:
				return nil, cli.Usagef("--secret: unknown key: want id, src or env")
			}
		}
		switch _, known := os.LookupEnv(s.Env); {
		case s.ID == "":
			return nil, cli.Usagef("--secret: id is missing")
		case s.FilePath != "" && s.Env != "":
			return nil, cli.Usagef("--secret: %s has src and env: keep one of them", s.ID)
		case s.Env != "" && !known:
			return nil, cli.Usagef("--secret: %s: the environment has no variable %s", s.ID, s.Env)
		}
		list = append(list, s)
	}
	return list, nil
}

// parseSSH reads ID[=SOCKET|KEY[,KEY]].
func parseSSH(texts []string) []sshprovider.AgentConfig {
	var list []sshprovider.AgentConfig
	for _, text := range texts {
		id, paths, ok := strings.Cut(text, "=")
		agent := sshprovider.AgentConfig{ID: id}
		if ok {
			agent.Paths = strings.Split(paths, ",")
		}
		list = append(list, agent)
	}
	return list
}
