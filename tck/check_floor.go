package tck

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/sbxkit/sbxkit/descriptor"
	"github.com/sbxkit/sbxkit/internal/layerfs"
)

// The account files that a runtime resolves the image's user with.
const (
	passwdFile = "/etc/passwd"
	groupFile  = "/etc/group"
)

// identity is who the workload runs as: one user and one group, since supplementary groups are up
// to the runtime.
type identity struct{ uid, gid int64 }

// sbxPlatformFloor asks for what the sandbox platform launches an agent with: a declared user that
// the image knows, and two shells which that user may run.
func sbxPlatformFloor(ctx context.Context, k *kit, r *recorder) error {
	if !k.declares(descriptor.TypeSbx) {
		return nil
	}
	if k.d.Kind != descriptor.Workload {
		r.fail("%s is declared by a %s; only a workload brings the root file system that it promises: remove the entry",
			descriptor.TypeSbx, k.d.Kind)
		return nil
	}
	config, err := k.readConfig(ctx)
	if err != nil {
		return r.unreadable(err)
	}
	var who *identity // nil: a finding says why it is unknown
	if user := config.Config.User; strings.TrimSpace(user) == "" {
		r.fail("the image declares no user; state USER agent (or another account of %s) in the recipe", passwdFile)
	} else {
		who, err = resolveUser(ctx, k.src, user)
		var unresolved unresolvedError
		switch {
		case errors.As(err, &unresolved):
			r.fail("%v", err)
		case errors.Is(err, layerfs.ErrTooLarge):
			r.warn("the image's user %s was not looked up: %v (more than %d MiB)", quote(user), err, MaxFile>>20)
		case err != nil:
			return r.unreadable(err)
		}
	}
	for _, shell := range []string{"/bin/sh", "/bin/bash"} {
		if goOn, err := judgeShell(ctx, k.src, shell, who, r); err != nil || !goOn {
			return err
		}
	}
	return nil
}

// judgeShell asks that shell is there and that who, when known, may run it. goOn is false after an
// error of the source.
func judgeShell(ctx context.Context, files Files, shell string, who *identity, r *recorder) (goOn bool, err error) {
	found, err := files.Exists(ctx, shell)
	if err != nil {
		return false, r.unreadable(err)
	}
	if !found {
		r.fail("%s is absent; install the shell in the recipe", shell)
		return true, nil
	}
	if who == nil {
		return true, nil
	}
	info, err := files.Stat(ctx, shell)
	switch {
	case errors.Is(err, ErrUnobservable):
	case err != nil:
		return false, r.unreadable(err)
	case !info.Regular:
		r.fail("%s is not a regular file, so it cannot be run; install the shell in the recipe", shell)
	case !who.mayExecute(info):
		r.fail("%s (mode %04o, owner %d:%d) may not be run by the image's user (%d:%d); make it executable for that user",
			shell, info.Mode.Perm(), info.UID, info.GID, who.uid, who.gid)
	}
	return true, nil
}

// mayExecute applies the mode bits as the kernel does: the first class that matches decides alone.
func (i *identity) mayExecute(info layerfs.Info) bool {
	mode := info.Mode.Perm()
	switch {
	case i.uid == 0:
		return mode&0o111 != 0
	case i.uid == int64(info.UID):
		return mode&0o100 != 0
	case i.gid == int64(info.GID):
		return mode&0o010 != 0
	}
	return mode&0o001 != 0
}

// unresolvedError says why an image does not know the user that it declares.
type unresolvedError string

func (e unresolvedError) Error() string { return string(e) }

// resolveUser finds out who the User of an image config is: an unresolvedError when the image does
// not know, another error when its account files could not be read.
func resolveUser(ctx context.Context, files Files, user string) (*identity, error) {
	passwd, err := files.ReadFile(ctx, passwdFile, MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, unresolvedError(fmt.Sprintf("the image declares user %s but has no %s; ship one with that account", quote(user), passwdFile))
	}
	if err != nil {
		return nil, err
	}
	spec := parseUser(user)
	found, ok := findAccount(passwd, spec.user)
	if !ok {
		return nil, unresolvedError(fmt.Sprintf("the image's user %s has no usable record in %s; add the account in the recipe",
			quote(user), passwdFile))
	}
	who := &identity{found.uid, found.gid}
	switch {
	case spec.group == "":
		return who, nil
	case allDigits(spec.group):
		who.gid, ok = parseID(spec.group)
	default:
		var group []byte
		group, err = files.ReadFile(ctx, groupFile, MaxFile)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		who.gid, ok = findGroup(group, spec.group)
	}
	if !ok {
		return nil, unresolvedError(fmt.Sprintf("the group of the image's user %s is neither a usable id nor in %s; add the group in the recipe",
			quote(user), groupFile))
	}
	return who, nil
}
