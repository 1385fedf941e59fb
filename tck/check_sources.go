package tck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/sbxkit/sbxkit/descriptor"
	"github.com/sbxkit/sbxkit/internal/layerfs"
)

func atLeastOneLayer(ctx context.Context, k *kit, r *recorder) error {
	n, err := k.src.Layers(ctx)
	switch {
	case errors.Is(err, ErrUnobservable):
		r.skip("the layers are not assembled yet")
	case err != nil:
		return r.unreadable(err)
	case n == 0:
		r.fail("the manifest lists no layer; a kit carries at least the one that stages its descriptor")
	}
	return nil
}

// stagedSources compares the descriptor inside the image with the annotation. They are compared as
// documents: key order, comments and YAML or JSON do not matter, any field does.
func stagedSources(ctx context.Context, k *kit, r *recorder) error {
	if k.own == "" {
		if len(k.stems) == 0 {
			r.fail("no %s is staged below %s, so the kit does not describe itself", StagedDescriptor, StagedRoot)
		} else {
			r.fail("none of the staged descriptors (%s) is the document of the annotation", strings.Join(k.stems, ", "))
		}
		return nil
	}
	name := k.ownFile(StagedDescriptor)
	src, err := k.src.ReadFile(ctx, name, MaxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.fail("%s is absent; stage the published descriptor there", name)
		return nil
	case errors.Is(err, layerfs.ErrTooLarge):
		r.fail("%s is over %d MiB, more than any descriptor has; stage the published descriptor there", name, MaxFile>>20)
		return nil
	case err != nil:
		return r.unreadable(err)
	}
	doc, err := descriptor.Decode(name, src)
	if err != nil {
		r.fail("%v", err)
		return nil
	}
	canonical, err := doc.Descriptor().JSON()
	if err != nil {
		r.fail("%s cannot be written as JSON: %v", name, err)
		return nil
	}
	if !bytes.Equal(canonical, k.canonical) {
		r.fail("%s and the annotation %s are different documents; stage what is published", name, AnnotationDescriptor)
	}
	return nil
}

// stagedRecipe can see a missing recipe only where the descriptor names one: a recipe that came
// from a companion file leaves no trace in it.
func stagedRecipe(ctx context.Context, k *kit, r *recorder) error {
	if k.own == "" {
		r.skip("the kit's own staged sources were not found")
		return nil
	}
	name := k.ownFile(StagedRecipe)
	found, err := k.src.Exists(ctx, name)
	if err != nil {
		return r.unreadable(err)
	}
	if !found && (k.d.Build != "" || k.d.Dockerfile != "") {
		r.fail("the descriptor has a recipe but %s is absent; stage the recipe's text there", name)
	}
	return nil
}

// agentContextStaged judges where guidance files were published. Authored paths are relative; in
// the image each must lie in the kit's own root, because another kit's root is another kit's to change.
func agentContextStaged(ctx context.Context, k *kit, r *recorder) error {
	for _, c := range k.d.Declared() {
		if c.Type != descriptor.TypeAgentContext {
			continue
		}
		config, err := descriptor.DecodeAgentContext(c)
		if err != nil {
			r.fail("%s: %v", c.Type, err)
			return nil
		}
		file := config.ContentFile
		if file == "" {
			continue
		}
		if k.own == "" {
			r.skip("the kit's own staged sources were not found")
			return nil
		}
		root := k.ownFile("") + "/"
		switch {
		case path.Clean(file) != file || !strings.HasPrefix(file, root):
			r.fail("contentFile %s is not a clean path below %s; stage the file there and publish that path", quote(file), root)
			return nil
		case file == root+StagedDescriptor || file == root+StagedRecipe:
			r.fail("contentFile %q is where the kit's own sources are staged; give the guidance another name", file)
			return nil
		}
		found, err := k.src.Exists(ctx, file)
		if err != nil {
			return r.unreadable(err)
		}
		if !found {
			r.fail("contentFile %s is absent; stage the file there", file)
			return nil
		}
	}
	return nil
}

func declaresSkill(k *kit) bool { return k.declares(descriptor.TypeAgentSkill) }

// agentSkillContent looks for the file that makes a folder a skill. An optional entry is not
// excused: its content is published whether or not a host selects it later.
func agentSkillContent(ctx context.Context, k *kit, r *recorder) error {
	for _, c := range k.d.Declared() {
		if c.Type != descriptor.TypeAgentSkill {
			continue
		}
		skill, err := descriptor.DecodeAgentSkill(c)
		if err != nil {
			r.fail("%s: %v", c.Type, err)
			return nil
		}
		file := path.Join("/", skill.Path, "SKILL.md")
		found, err := k.src.Exists(ctx, file)
		if err != nil {
			return r.unreadable(fmt.Errorf("skill %q: %w", skill.Name, err))
		}
		if !found {
			r.fail("skill %q: the kit's own layers hold no file %s; add it", skill.Name, file)
			return nil
		}
		info, err := k.src.Stat(ctx, file)
		switch {
		case errors.Is(err, ErrUnobservable):
		case err != nil:
			return r.unreadable(fmt.Errorf("skill %q: %w", skill.Name, err))
		case !info.Regular:
			r.fail("skill %q: %s is not a regular file; make it one", skill.Name, file)
			return nil
		}
	}
	return nil
}
