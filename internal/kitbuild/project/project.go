// Package project finds a kit's sources, reads them and carries the descriptor to its published form:
// everything of a build that needs no build engine.
//
// Start with [Load] for a kit on disk, or with [Open] over any other [Files]; then [Project.Publish].
// The build function and the command line both go this way, so what one of them accepts no other refuses.
//
// The package writes nothing, reads no environment and no clock, and does not link BuildKit. A fault of
// the kit is always a *descriptor.InvalidError at the place in the bytes as they were written; where no
// descriptor could be found or read, the error says so and matches [ErrNoDescriptor],
// [*AmbiguousError] or fs.ErrNotExist. Values of arguments are never part of a message.
//
// Each read is bounded: [MaxDescriptorSize], [MaxRecipeSize], [MaxGuidanceSize].
package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sbxkit/sbxkit/descriptor"
)

// Limits on what is read, in bytes. The grammar has a tighter one of its own for descriptors; this one
// only keeps a huge file out of memory.
const (
	MaxDescriptorSize = 4 << 20
	MaxRecipeSize     = 2 << 20
	// MaxGuidanceSize keeps a staged file within one message to the engine (16 MiB), with room to spare.
	MaxGuidanceSize = 4 << 20
)

// StagedRoot is the folder of an image below which each kit keeps its sources.
const StagedRoot = "/usr/share/sandbox/kit"

// Names of the files that a build stages by itself.
const (
	StagedDescriptor = "kit.yaml"
	StagedRecipe     = "kit.dockerfile"
)

// Project is one kit as its author wrote it.
type Project struct {
	Name     string               // path of the descriptor in its Files, with slashes
	Stem     string               // names the kit's own root in an image
	Document *descriptor.Document // authored form, valid
	Findings []descriptor.Finding // warnings and notes about the authored form

	files     Files
	companion *Recipe // the file that the convention names, if there is one
	around    *Recipe // the file itself, when the descriptor stands in a comment of its recipe
}

// Open reads the descriptor called name, which may stand in a comment of its recipe, and its
// conventional companion, decodes and judges it as authored. display is what findings call the document. The recipe is judged too, as far as the text
// says which it is: an argument may still decide.
func Open(ctx context.Context, files Files, name, display string) (*Project, error) {
	name = path.Clean(name)
	src, err := files.ReadFile(ctx, name, MaxDescriptorSize)
	if err != nil {
		return nil, fmt.Errorf("read descriptor %s: %w", display, err)
	}
	p := &Project{Name: name, Stem: Stem(name), files: files}
	if p.companion, err = readCompanion(ctx, files, name, p.Stem); err != nil {
		return nil, err
	}
	var around []byte
	if p.Document, around, err = descriptor.DecodeFile(display, src); err != nil {
		return nil, err
	}
	if around != nil {
		p.around = &Recipe{Name: name, Text: around, Inline: true}
	}
	if !stageable(p.Stem) {
		return nil, p.Document.Errorf(CodeStem, "", "rename the file",
			"a kit's sources are staged in a folder called like the file without its extension, and %q cannot be one", p.Stem)
	}
	if p.Findings, err = p.Document.Validate(descriptor.Authored); err != nil {
		return nil, err
	}
	if recipeIsLiteral(p.Document.Descriptor()) {
		if _, err := p.recipe(ctx, p.Document); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Stem is the base name of a descriptor without its last extension.
func Stem(name string) string {
	base := path.Base(name)
	if cut := strings.TrimSuffix(base, path.Ext(base)); cut != "" {
		return cut
	}
	return base
}

// whiteoutPrefix begins the names that delete something when an image is unpacked.
const whiteoutPrefix = ".wh."

// stageable tells whether a name can be one step of a path in an image: it leads nowhere else, is a file when
// it is unpacked, and passes through the engine's messages and a terminal unharmed.
func stageable(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.HasPrefix(name, whiteoutPrefix) && utf8.ValidString(name) &&
		!strings.ContainsFunc(name, func(r rune) bool { return r == '/' || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) })
}

// OwnRoot is the folder of an image that holds the sources of the kit with that stem.
func OwnRoot(stem string) string { return StagedRoot + "/" + stem }

// readCompanion reads the recipe that the convention names. Only its absence means that there is none:
// a companion that cannot be read must not turn a kit into one without content.
func readCompanion(ctx context.Context, files Files, name, stem string) (*Recipe, error) {
	at := CompanionPath(name)
	if at == name {
		return nil, nil
	}
	text, err := files.ReadFile(ctx, at, MaxRecipeSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read recipe %s: %w", at, err)
	}
	return &Recipe{Name: at, Text: text}, nil
}

// CompanionPath is where the convention looks for the recipe of the descriptor called name.
func CompanionPath(name string) string {
	return path.Join(path.Dir(name), Stem(name)+".dockerfile")
}
