package tck

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/sbxkit/sbxkit/descriptor"
)

// imageConfig asks that the config can be read and that a workload can be launched. A mixin has
// nothing to launch.
func imageConfig(ctx context.Context, k *kit, r *recorder) error {
	config, err := k.readConfig(ctx)
	if err != nil {
		return r.unreadable(err)
	}
	if k.d.Kind != descriptor.Workload {
		return nil
	}
	launch := slices.Concat(config.Config.Entrypoint, config.Config.Cmd)
	switch {
	case len(launch) == 0:
		r.fail("the workload has neither entrypoint nor command, so it cannot be started; state ENTRYPOINT or CMD in the recipe")
	case launch[0] == "":
		r.fail("the first element of entrypoint and command is empty, so the workload cannot be started; name a program")
	}
	return nil
}

// sbxPersistentEnv asks for the file that each shell of an sbx workload reads first: without one,
// variables set at run time do not reach later commands.
func sbxPersistentEnv(ctx context.Context, k *kit, r *recorder) error {
	if k.d.Kind != descriptor.Workload || !k.declares(descriptor.TypeSbx) {
		return nil
	}
	config, err := k.readConfig(ctx)
	if err != nil {
		return r.unreadable(err)
	}
	file := ""
	for _, entry := range config.Config.Env {
		if value, ok := strings.CutPrefix(entry, "BASH_ENV="); ok {
			file = value // the last one counts
		}
	}
	switch {
	case file == "":
		r.warn("the image does not set BASH_ENV; set it to the absolute path of a file that the image ships")
		return nil
	case !path.IsAbs(file):
		r.warn("BASH_ENV is %s, which is not an absolute path, so what it names depends on the working directory", quote(file))
		return nil
	}
	found, err := k.src.Exists(ctx, file)
	if err != nil {
		return r.unreadable(fmt.Errorf("BASH_ENV: %w", err))
	}
	if !found {
		r.warn("BASH_ENV names %s, which the image does not carry; ship the file", file)
	}
	return nil
}
