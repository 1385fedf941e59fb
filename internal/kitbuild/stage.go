package kitbuild

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/moby/buildkit/client/llb"

	"github.com/sbxkit/sbxkit/internal/kitbuild/project"
)

const (
	stagedFileMode = 0o644
	stagedDirMode  = 0o755
)

// stagedFiles are the sources of a kit in the image: the published descriptor, the recipe as it was
// built, the guidance.
func stagedFiles(pub *project.Published, descriptorYAML []byte) []project.StagedFile {
	root := project.OwnRoot(pub.Stem)
	files := []project.StagedFile{{Path: path.Join(root, project.StagedDescriptor), Data: descriptorYAML}}
	if pub.Recipe != nil && len(pub.Recipe.Text) > 0 {
		files = append(files, project.StagedFile{Path: path.Join(root, project.StagedRecipe), Data: pub.Recipe.Text})
	}
	return append(files, pub.Guidance...)
}

// stageSources puts the files on top of content as one layer, owned by root and dated at. They are made
// in an empty tree, one for all platforms, and copied with one date for files and folders: writing a
// file into a folder dates the folder anew.
func stageSources(content llb.State, files []project.StagedFile, at time.Time, stepName string) llb.State {
	action := llb.Mkdir("/", stagedDirMode, llb.WithParents(true))
	for _, dir := range foldersOf(files) {
		action = action.Mkdir(dir, stagedDirMode, llb.WithParents(true))
	}
	for _, f := range files {
		action = action.Mkfile(f.Path, stagedFileMode, f.Data)
	}
	sources := llb.Scratch().File(action, llb.WithCustomName("[internal] collect kit sources"))
	return content.File(llb.Copy(sources, "/", "/", &llb.CopyInfo{
		CopyDirContentsOnly: true,
		CreatedTime:         &at,
	}), llb.WithCustomName(stepName))
}

// foldersOf lists each folder once, outer ones first.
func foldersOf(files []project.StagedFile) []string {
	var dirs []string
	for _, f := range files {
		if dir := path.Dir(f.Path); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	slices.SortStableFunc(dirs, func(a, b string) int { return strings.Count(a, "/") - strings.Count(b, "/") })
	return dirs
}
