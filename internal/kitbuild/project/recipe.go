package project

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/sbxkit/sbxkit/descriptor"
)

// Recipe is the Dockerfile that makes a kit's content.
type Recipe struct {
	Name   string // what the Dockerfile frontend calls it: a path in the project, or a made-up name
	Text   []byte
	Inline bool // no file of the project is this text: it stands in the descriptor, or around it
}

// recipeIsLiteral tells whether the authored text alone says which recipe is meant.
func recipeIsLiteral(d *descriptor.Descriptor) bool {
	return !strings.Contains(d.Dockerfile, "${{") && !strings.Contains(d.Build, "${{")
}

// recipe picks the one home of the kit's content; nil for a kit that only declares.
func (p *Project) recipe(ctx context.Context, doc *descriptor.Document) (*Recipe, error) {
	r, err := p.pickRecipe(ctx, doc)
	if err != nil || r == nil {
		return nil, err
	}
	return r, checkText(doc, r)
}

// checkText refuses what no Dockerfile frontend takes for a recipe, with reasons that help its author.
func checkText(doc *descriptor.Document, r *Recipe) error {
	if len(bytes.TrimSpace(r.Text)) == 0 {
		return doc.Errorf(CodeRecipeText, recipeField(doc), "write a FROM line, or remove the file", "the recipe %s is empty", r.Name)
	}
	no := 0
	for line := range bytes.Lines(r.Text) {
		no++
		// Comments go nowhere. The rest becomes messages to the engine, which take UTF-8 only.
		if !utf8.Valid(line) && !bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte("#")) {
			return doc.Errorf(CodeRecipeText, recipeField(doc), "save the file as UTF-8", "line %d of the recipe %s is not UTF-8", no, r.Name)
		}
	}
	return nil
}

// recipeField is the field of the descriptor that leads to the recipe; none where the convention does.
func recipeField(doc *descriptor.Document) string {
	switch d := doc.Descriptor(); {
	case d.Build != "":
		return "build"
	case d.Dockerfile != "":
		return "dockerfile"
	}
	return ""
}

func (p *Project) pickRecipe(ctx context.Context, doc *descriptor.Document) (*Recipe, error) {
	if p.around != nil {
		return p.around, nil
	}
	d := doc.Descriptor()
	if isSet(d) {
		if d.Build != "" || d.Dockerfile != "" || p.companion != nil {
			return nil, doc.Errorf(CodeKitsAndRecipe, "kits", "a set has no content of its own: remove the recipe or the list",
				"kits and a recipe exclude each other%s", p.companionNote())
		}
		return nil, nil
	}
	switch {
	case d.Build != "" && d.Dockerfile != "":
		return nil, doc.Errorf(CodeTwoRecipes, "dockerfile", "keep one of the two",
			"the recipe has two homes: build and dockerfile")
	case d.Build != "" && p.companion != nil:
		return nil, doc.Errorf(CodeTwoRecipes, "build", "keep one of the two",
			"the recipe has two homes: build and the file %s", p.companion.Name)
	case d.Build != "":
		name := path.Join(path.Dir(p.Name), p.Stem+".build.dockerfile")
		return &Recipe{Name: name, Text: []byte(d.Build), Inline: true}, nil
	case d.Dockerfile != "":
		return p.namedRecipe(ctx, doc)
	case p.companion != nil:
		return p.companion, nil
	case d.Kind == descriptor.Workload:
		return nil, doc.Errorf(CodeNoRecipe, "kind", "add "+CompanionPath(p.Name)+", or name a recipe with dockerfile or build",
			"a workload needs a recipe and there is none")
	}
	return nil, nil
}

func (p *Project) namedRecipe(ctx context.Context, doc *descriptor.Document) (*Recipe, error) {
	at := path.Clean(doc.Descriptor().Dockerfile)
	if path.IsAbs(at) || at == ".." || strings.HasPrefix(at, "../") {
		return nil, doc.Errorf(CodeRecipeUnreadable, "dockerfile", "", "the recipe lies outside the kit's folder")
	}
	at = path.Join(path.Dir(p.Name), at)
	if p.companion != nil && p.companion.Name == at {
		return p.companion, nil
	}
	text, err := p.files.ReadFile(ctx, at, MaxRecipeSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, doc.Errorf(CodeRecipeUnreadable, "dockerfile", "", "there is no file %s", at)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, doc.Errorf(CodeRecipeUnreadable, "dockerfile", "", "read recipe %s: %v", at, err)
	}
	return &Recipe{Name: at, Text: text}, nil
}

func (p *Project) companionNote() string {
	if p.companion == nil {
		return ""
	}
	return " (the file " + p.companion.Name + ")"
}

func isSet(d *descriptor.Descriptor) bool {
	return d.Kind == descriptor.Set || len(d.Kits) > 0
}
