package project

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sbxkit/sbxkit/descriptor"
)

// Published is a kit whose build-phase args are settled and whose guidance is read: all that precedes
// its content.
type Published struct {
	Stem       string
	Document   *descriptor.Document // published form, valid; a build may still derive provides. Of a set: with its args filled in
	Recipe     *Recipe              // nil for a kit that only declares, and for a set
	RecipeArgs map[string]string    // what the recipe's own ARGs get, by the recipe's names
	Guidance   []StagedFile
	Findings   []descriptor.Finding // warnings and notes of all forms
}

// Publish settles the build-phase args, picks the recipe, reads the guidance from the build context and
// judges the published form. given holds the build arguments of the caller: those that the kit does not
// declare are the recipe's affair. Each fault is a *descriptor.InvalidError. A set is judged with its args
// filled in; whether a build takes the result, Published.Buildable tells.
func (p *Project) Publish(ctx context.Context, given map[string]string, buildContext Files) (*Published, error) {
	declared := p.Document.Descriptor().Args
	if err := checkRecipeNames(p.Document, given); err != nil {
		return nil, err
	}
	values, err := p.Document.ResolveBuildArgs(buildPhase(declared, given))
	if err != nil {
		return nil, err
	}
	doc, err := p.Document.ExpandBuild(values)
	if err != nil {
		return nil, err
	}
	out := &Published{Stem: p.Stem, RecipeArgs: recipeArgs(declared, values)}
	if out.Recipe, err = p.recipe(ctx, doc); err != nil {
		return nil, err
	}
	if isSet(doc.Descriptor()) {
		return p.publishSet(doc, given, out)
	}
	if doc, out.Guidance, err = stageGuidance(ctx, doc, p.Stem, buildContext); err != nil {
		return nil, err
	}
	findings, err := doc.Validate(descriptor.Published)
	if err != nil {
		return nil, err
	}
	if err := refuseDerivedProvides(doc); err != nil {
		return nil, err
	}
	out.Document = doc
	out.Findings = merge(p.Findings, createArgsGiven(p.Document, given), findings)
	if out.Recipe == nil {
		out.Findings = merge(out.Findings, p.noContent(ctx))
	}
	return out, nil
}

// publishSet judges a set as far as its own text goes: as an author's, once more with its args filled in.
// A set is never published as it is written; the published form is of what its kits are merged into.
func (p *Project) publishSet(expanded *descriptor.Document, given map[string]string, out *Published) (*Published, error) {
	findings, err := expanded.Validate(descriptor.Authored)
	if err != nil {
		return nil, err
	}
	out.Document = expanded
	out.Findings = merge(p.Findings, createArgsGiven(p.Document, given), findings)
	return out, nil
}

// ErrSetNotBuilt says that a kit is a set: nothing is wrong with it, and no build takes it yet.
var ErrSetNotBuilt = errors.New("sets are read and judged, but not built yet")

// Buildable tells a build whether it can take the kit; the error matches ErrSetNotBuilt.
func (p *Published) Buildable() error {
	if isSet(p.Document.Descriptor()) {
		return fmt.Errorf("build %s: %w", p.Document.Name(), ErrSetNotBuilt)
	}
	return nil
}

// buildPhase is what of the caller's build arguments answers an arg of the kit.
func buildPhase(declared map[string]descriptor.Arg, given map[string]string) map[string]string {
	own := map[string]string{}
	for name, value := range given {
		if declared[name].BuildArg != "" {
			own[name] = value
		}
	}
	return own
}

// checkRecipeNames refuses what would let a value past the checks of an arg, or leave to chance which of
// two args a recipe sees.
func checkRecipeNames(doc *descriptor.Document, given map[string]string) error {
	declared := doc.Descriptor().Args
	owner := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		inRecipe := declared[name].BuildArg
		if inRecipe == "" {
			continue
		}
		field := "args." + name + ".buildArg"
		if other, taken := owner[inRecipe]; taken {
			return doc.Errorf(CodeRecipeArgClash, field, "give each arg a name of its own in the recipe",
				"the args %s and %s both are %s in the recipe", other, name, inRecipe)
		}
		owner[inRecipe] = name
		if _, byRecipeName := given[inRecipe]; byRecipeName && declared[inRecipe].BuildArg == "" {
			return doc.Errorf(CodeRecipeArgGiven, field, "pass it as --build-arg "+name+"=VALUE",
				"a value was given for %s, which is the recipe's name of the arg %s", inRecipe, name)
		}
	}
	return nil
}

// createArgsGiven warns about build arguments that look like an answer but are none.
func createArgsGiven(doc *descriptor.Document, given map[string]string) []descriptor.Finding {
	var out []descriptor.Finding
	for _, name := range slices.Sorted(maps.Keys(given)) {
		arg, isArg := doc.Descriptor().Args[name]
		if !isArg || arg.BuildArg != "" {
			continue
		}
		e := doc.Errorf(CodeCreateArgGiven, "args."+name, "only an arg with buildArg is settled by a build",
			"the arg %s is settled when a sandbox is created: the build argument only reaches the recipe", name)
		f := e.Findings[0]
		f.Severity = descriptor.Warning
		out = append(out, f)
	}
	return out
}

// recipeArgs maps the values to the recipe's names. A name that steers the engine itself is never set
// from a descriptor.
func recipeArgs(declared map[string]descriptor.Arg, values map[string]string) map[string]string {
	out := map[string]string{}
	for name, value := range values {
		if inRecipe := declared[name].BuildArg; !ReservedBuildArg(inRecipe) {
			out[inRecipe] = value
		}
	}
	return out
}

// ReservedBuildArg tells whether a build argument of that name steers the engine or the final image, so
// that it must not reach the recipe's own build.
func ReservedBuildArg(name string) bool {
	return name == "BUILDKIT_SYNTAX" || name == "BUILDKIT_MULTI_PLATFORM" || strings.HasPrefix(name, "BUILDKIT_ATTEST_")
}

// refuseDerivedProvides refuses an author's claim about packages: only a build that saw their database
// may make it. The published form allows the entries, because it holds them after derivation.
func refuseDerivedProvides(doc *descriptor.Document) error {
	var refused *descriptor.InvalidError
	for i, entry := range doc.Descriptor().Provides {
		provide, err := descriptor.ParseProvide(entry)
		if err != nil || (provide.Namespace() != "deb" && provide.Namespace() != "apk") {
			continue
		}
		e := doc.Errorf(CodeDerivedProvide, fmt.Sprintf("provides[%d]", i), "remove it: the build adds what is installed",
			"names of %s are derived from the package database, never written", provide.Namespace())
		if refused == nil {
			refused = e
		} else {
			refused.Findings = append(refused.Findings, e.Findings...)
		}
	}
	if refused != nil {
		return refused
	}
	return nil
}

// merge joins findings, each once: the forms of one document repeat what they agree on.
func merge(lists ...[]descriptor.Finding) []descriptor.Finding {
	var out []descriptor.Finding
	for _, list := range lists {
		for _, f := range list {
			if !slices.Contains(out, f) {
				out = append(out, f)
			}
		}
	}
	return out
}
