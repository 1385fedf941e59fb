package kitbuild

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"

	"github.com/sbxkit/sbxkit/descriptor"
	"github.com/sbxkit/sbxkit/internal/kitbuild/project"
)

// CheckRecipe parses a recipe, so that a slip in it is told before an engine starts. The error is a
// *descriptor.InvalidError about the recipe's own text; doc tells in which folder it lies. A recipe that names a frontend of its own is that
// frontend's matter: it is not looked at.
func CheckRecipe(doc *descriptor.Document, recipe *project.Recipe) error {
	if recipe == nil {
		return nil
	}
	if _, _, _, foreign := parser.DetectSyntax(recipe.Text); foreign {
		return nil
	}
	file, err := parser.Parse(bytes.NewReader(recipe.Text))
	if err == nil {
		_, _, err = instructions.Parse(file.AST, nil)
	}
	if err == nil {
		return nil
	}
	finding := descriptor.Finding{Code: project.CodeRecipeSyntax, Message: recipeMessage(err), Start: descriptor.Position{Line: 1, Column: 1}}
	var located *parser.LocationError
	if errors.As(err, &located) && len(located.Locations) > 0 && len(located.Locations[0]) > 0 {
		at := located.Locations[0][0]
		finding.Start = descriptor.Position{Line: at.Start.Line, Column: at.Start.Character + 1}
	}
	name := filepath.Join(filepath.Dir(doc.Name()), filepath.FromSlash(recipe.Name))
	return &descriptor.InvalidError{Name: name, Source: recipe.Text, Findings: []descriptor.Finding{finding}}
}

// recipeMessage drops the place from the parser's text: the finding states it.
func recipeMessage(err error) string {
	text := err.Error()
	if rest, ok := strings.CutPrefix(text, "dockerfile parse error on line "); ok {
		if _, after, ok := strings.Cut(rest, ": "); ok {
			return after
		}
	}
	return text
}
