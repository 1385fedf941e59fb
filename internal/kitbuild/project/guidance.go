package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/sbxkit/sbxkit/descriptor"
)

// StagedFile is one file that a build puts into the image.
type StagedFile struct {
	Path string // absolute, in the image
	Data []byte
}

// stageGuidance reads the file that each agent-context entry names and points the entry at where the
// image will hold it. All of it happens before any content is built.
func stageGuidance(ctx context.Context, doc *descriptor.Document, stem string, files Files) (*descriptor.Document, []StagedFile, error) {
	d := doc.Descriptor()
	fields := EntryPaths(d)
	grouped := hasGroup(d)
	var staged []StagedFile
	for i, c := range d.Declared() {
		if c.Type != descriptor.TypeAgentContext {
			continue
		}
		entry, err := descriptor.DecodeAgentContext(c)
		if err != nil {
			return nil, nil, fmt.Errorf("read agent-context entry: %w", err)
		}
		if entry.ContentFile == "" {
			continue
		}
		field := fields[i] + ".config.contentFile"
		target := OwnRoot(stem)
		base := path.Base(entry.ContentFile)
		switch {
		case grouped:
			target = path.Join(target, fmt.Sprintf("context-%d", i))
		case base == StagedDescriptor || base == StagedRecipe:
			return nil, nil, doc.Errorf(CodeGuidanceReserved, field, "rename the file",
				"a file of the name %s would replace the kit's own staged one", base)
		}
		if base != "." && base != ".." && !stageable(base) { // those two are no file, which is said below
			return nil, nil, doc.Errorf(CodeGuidanceReserved, field, "rename the file", "no image can hold a file of the name %q", base)
		}
		data, err := readGuidance(ctx, doc, field, entry.ContentFile, files)
		if err != nil {
			return nil, nil, err
		}
		target = path.Join(target, base)
		staged = append(staged, StagedFile{Path: target, Data: data})
		if doc, err = doc.WithContentFile(i, target); err != nil {
			return nil, nil, err
		}
	}
	return doc, staged, nil
}

func readGuidance(ctx context.Context, doc *descriptor.Document, field, named string, files Files) ([]byte, error) {
	at := path.Clean(strings.TrimLeft(named, "/"))
	if at == "." || at == ".." || strings.HasPrefix(at, "../") {
		return nil, doc.Errorf(CodeGuidanceUnreadable, field, "", "%s is not a file of the build context", named)
	}
	data, err := files.ReadFile(ctx, at, MaxGuidanceSize)
	switch {
	case err == nil:
		return data, nil
	case ctx.Err() != nil:
		return nil, err
	case errors.Is(err, fs.ErrNotExist):
		return nil, doc.Errorf(CodeGuidanceUnreadable, field, "the path counts from the build context",
			"the build context has no file %s", named)
	}
	return nil, doc.Errorf(CodeGuidanceUnreadable, field, "", "read %s from the build context: %v", named, err)
}

// EntryPaths gives the dotted path of each declared entry, in the order of Declared.
func EntryPaths(d *descriptor.Descriptor) []string {
	var paths []string
	for i, c := range d.Capabilities {
		if c.Group == nil {
			paths = append(paths, fmt.Sprintf("capabilities[%d]", i))
			continue
		}
		for j := range c.Group.Capabilities {
			paths = append(paths, fmt.Sprintf("capabilities[%d].group.capabilities[%d]", i, j))
		}
	}
	return paths
}

func hasGroup(d *descriptor.Descriptor) bool {
	for _, c := range d.Capabilities {
		if c.Group != nil {
			return true
		}
	}
	return false
}
