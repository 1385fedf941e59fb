package kitbuild

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/containerd/platforms"
	"github.com/distribution/reference"
	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/buildkit/frontend/dockerfile/shell"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

const emptyImage = "scratch"

// baseKind says what a stage of a recipe starts from.
type baseKind int

const (
	baseScratch  baseKind = iota // nothing
	baseStage                    // an earlier stage of the recipe
	baseContext                  // a named build context in the place of an image
	baseImage                    // an image
	baseReplaced                 // nothing is built: a named build context replaced the whole stage
)

// base is the lower side of a mixin: what its own layers lie on.
type base struct {
	kind     baseKind
	name     string            // stage, or normalised reference
	platform *ocispec.Platform // of the base; nil for a stage or scratch
	stage    int               // index of a stage, which is lower than that of the stage that starts from it
}

// stageQuery is what decides about a base besides the recipe's text.
type stageQuery struct {
	target        string            // stage to build; empty for the last one
	args          map[string]string // build arguments as the recipe sees them
	buildPlatform ocispec.Platform
	platform      ocispec.Platform // target
	// hasContext asks for a named build context. It is the Dockerfile frontend's own lookup.
	hasContext func(name string, p *ocispec.Platform) (bool, error)
}

// findBase finds what the built stage starts from, with arguments expanded the way the Dockerfile
// frontend does. Errors carry their place in the recipe.
func findBase(recipe []byte, q stageQuery) (base, error) { return seekBase(recipe, q, false) }

// findOrigin looks through earlier stages of the recipe for what the first of them starts from.
func findOrigin(recipe []byte, q stageQuery) (base, error) { return seekBase(recipe, q, true) }

func seekBase(recipe []byte, q stageQuery, throughStages bool) (base, error) {
	file, err := parser.Parse(bytes.NewReader(recipe))
	if err != nil {
		return base{}, err
	}
	stages, globals, err := instructions.Parse(file.AST, nil)
	if err != nil {
		return base{}, err
	}
	if len(stages) == 0 {
		return base{}, errors.New("no stage to build")
	}
	at, err := builtStage(stages, q.target)
	if err != nil {
		return base{}, err
	}
	lex := shell.NewLex(file.EscapeToken)
	env, err := globalArgs(lex, globals, q, stages)
	if err != nil {
		return base{}, err
	}
	for {
		b, err := resolveBase(lex, env, stages[:at], stages[at], q)
		if err != nil {
			return base{}, parser.WithLocation(err, stages[at].Location)
		}
		if !throughStages || b.kind != baseStage {
			return b, nil
		}
		at = b.stage
	}
}

// builtStage gives the index of the target. Of two stages with one name the last is meant.
func builtStage(stages []instructions.Stage, target string) (int, error) {
	if target == "" {
		return len(stages) - 1, nil
	}
	for i := len(stages) - 1; i >= 0; i-- {
		if stages[i].Name != "" && strings.EqualFold(stages[i].Name, target) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("the recipe has no stage %q", target)
}

func resolveBase(lex *shell.Lex, env *llb.EnvList, earlier []instructions.Stage, stage instructions.Stage, q stageQuery) (base, error) {
	name, _, err := lex.ProcessWord(stage.BaseName, env)
	if err != nil {
		return base{}, err
	}
	if name == "" {
		return base{}, fmt.Errorf("the base name %s is empty", stage.BaseName)
	}
	platform := q.platform
	if stage.Platform != "" {
		text, _, err := lex.ProcessWord(stage.Platform, env)
		if err != nil {
			return base{}, err
		}
		if text == "" {
			return base{}, fmt.Errorf("the platform %s is empty", stage.Platform)
		}
		if platform, err = platforms.Parse(text); err != nil {
			// The parser's own words would show the value of an argument.
			return base{}, fmt.Errorf("%s names no platform", stage.Platform)
		}
	}
	if stage.Name != "" && stage.Name != emptyImage && stage.Name != "context" {
		replaced, err := q.hasContext(stage.Name, &platform)
		if err != nil {
			return base{}, err
		}
		if replaced {
			return base{kind: baseReplaced, name: stage.Name, platform: &platform}, nil
		}
	}
	if name == emptyImage {
		return base{kind: baseScratch}, nil
	}
	for i := len(earlier) - 1; i >= 0; i-- {
		if earlier[i].Name != "" && strings.EqualFold(earlier[i].Name, name) {
			return base{kind: baseStage, name: earlier[i].Name, stage: i}, nil
		}
	}
	ref, err := reference.ParseNormalizedNamed(name)
	if err != nil {
		return base{}, fmt.Errorf("parse base name %s: %w", stage.BaseName, err)
	}
	b := base{kind: baseImage, name: reference.TagNameOnly(ref).String(), platform: &platform}
	named, err := q.hasContext(b.name, &platform)
	if err != nil {
		return base{}, err
	}
	if named {
		b.kind = baseContext
	}
	return b, nil
}

// globalArgs are the values that a FROM can refer to: the automatic ones, then the ARGs before the first
// FROM in order, the caller's value before the default.
func globalArgs(lex *shell.Lex, commands []instructions.ArgCommand, q stageQuery, stages []instructions.Stage) (*llb.EnvList, error) {
	target := q.target
	if target == "" {
		target = stages[len(stages)-1].Name
	}
	if target == "" {
		target = "default"
	}
	env := &llb.EnvList{}
	for _, kv := range [][2]string{
		{"BUILDPLATFORM", platforms.Format(q.buildPlatform)},
		{"BUILDOS", q.buildPlatform.OS},
		{"BUILDOSVERSION", q.buildPlatform.OSVersion},
		{"BUILDARCH", q.buildPlatform.Architecture},
		{"BUILDVARIANT", q.buildPlatform.Variant},
		{"TARGETPLATFORM", platforms.FormatAll(q.platform)},
		{"TARGETOS", q.platform.OS},
		{"TARGETOSVERSION", q.platform.OSVersion},
		{"TARGETARCH", q.platform.Architecture},
		{"TARGETVARIANT", q.platform.Variant},
		{"TARGETSTAGE", target},
	} {
		value := kv[1]
		if given, ok := q.args[kv[0]]; ok {
			value = given
		}
		env = env.AddOrReplace(kv[0], value)
	}
	for _, command := range commands {
		for _, arg := range command.Args {
			value, given := q.args[arg.Key]
			switch {
			case given:
			case arg.Value == nil:
				continue
			default:
				var err error
				if value, _, err = lex.ProcessWord(*arg.Value, env); err != nil {
					return nil, parser.WithLocation(err, command.Location())
				}
			}
			env = env.AddOrReplace(arg.Key, value)
		}
	}
	return env, nil
}

// declaredInRecipe lists the names that any ARG of the recipe declares. A recipe that is no Dockerfile
// gives ok false.
func declaredInRecipe(recipe []byte) (names map[string]bool, ok bool) {
	file, err := parser.Parse(bytes.NewReader(recipe))
	if err != nil {
		return nil, false
	}
	stages, globals, err := instructions.Parse(file.AST, nil)
	if err != nil {
		return nil, false
	}
	names = map[string]bool{}
	for _, command := range globals {
		for _, arg := range command.Args {
			names[arg.Key] = true
		}
	}
	for _, stage := range stages {
		for _, command := range stage.Commands {
			if c, isArg := command.(*instructions.ArgCommand); isArg {
				for _, arg := range c.Args {
					names[arg.Key] = true
				}
			}
		}
	}
	return names, true
}
