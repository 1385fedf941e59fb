package project

import (
	"context"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/sbxkit/sbxkit/descriptor"
)

// recipeNames are the usual names of a recipe, and what the convention of another descriptor would find.
var recipeNames = []string{"Dockerfile", "Containerfile", "*.dockerfile", "*.Dockerfile"}

// noContent warns where a kit without a recipe seems to be meant to have one: such a kit builds, and is
// empty. Without a recipe nothing can go wrong by being told too little, so what cannot be looked at is
// passed over.
func (p *Project) noContent(ctx context.Context) []descriptor.Finding {
	out := p.unusedArgs()
	if name := p.overlookedRecipe(ctx); name != "" {
		want := path.Base(CompanionPath(p.Name))
		out = append(out, descriptor.Finding{
			Severity: descriptor.Warning, Code: CodeRecipeOverlooked,
			Message: fmt.Sprintf("no recipe: %s is not there, so the kit carries no content; there is a %s here", want, name),
			Hint:    fmt.Sprintf("write dockerfile: %s, or rename it to %s", name, want),
		})
	}
	return out
}

// overlookedRecipe finds a file beside the descriptor that looks like a recipe and belongs to no other
// descriptor there.
func (p *Project) overlookedRecipe(ctx context.Context) string {
	files, ok := p.files.(Lister)
	if !ok {
		return ""
	}
	dir := path.Dir(p.Name)
	names, err := files.List(ctx, dir, recipeNames...)
	if err != nil {
		return ""
	}
	var companions, descriptors []string
	for _, name := range names {
		switch {
		case name == path.Base(p.Name):
			continue
		case !strings.EqualFold(path.Ext(name), ".dockerfile") || Stem(name) == p.Stem:
			return name // by its name it belongs to no other kit
		}
		companions = append(companions, name)
		descriptors = append(descriptors, Stem(name)+".yaml", Stem(name)+".yml")
	}
	if len(companions) == 0 {
		return ""
	}
	// Not as patterns, since a name may hold their special characters.
	there, err := files.List(ctx, dir, "*.yaml", "*.yml")
	if err != nil {
		return ""
	}
	for i, name := range companions {
		if !slices.Contains(there, descriptors[2*i]) && !slices.Contains(there, descriptors[2*i+1]) {
			return name
		}
	}
	return ""
}

// unusedArgs warns about args of a kit without a recipe that its own text does not use either.
func (p *Project) unusedArgs() []descriptor.Finding {
	var out []descriptor.Finding
	args := p.Document.Descriptor().Args
	for _, name := range slices.Sorted(maps.Keys(args)) {
		used := regexp.MustCompile(`\bkit\.args\.` + regexp.QuoteMeta(name) + `\b`)
		if args[name].BuildArg == "" || used.Match(p.Document.Source()) {
			continue
		}
		f := p.Document.Errorf(CodeArgUnused, "args."+name+".buildArg", "add a recipe, or refer to it as ${{ kit.args."+name+" }}",
			"nothing uses the arg %s: there is no recipe, and no value refers to it", name).Findings[0]
		f.Severity = descriptor.Warning
		out = append(out, f)
	}
	return out
}
