package tck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/sbxkit/sbxkit/descriptor"
)

// check is one entry of the roster.
type check struct {
	Check
	applies func(*kit) bool // nil: to every kit
	// judge adds findings; none means passed. Its error ends the run without a verdict.
	judge func(context.Context, *kit, *recorder) error
}

// descriptorAnnotation is the only check of an artifact whose descriptor cannot be read: nothing
// else could be judged. Where it is readable, the check leaves no trace in the roster.
var descriptorAnnotation = Check{"descriptor-annotation", "SPEC-v3 §9.3"}

// roster lists the checks in the order in which they run.
func roster() []check {
	return []check{
		{Check{"agent-skill-content", "agent-skill@1/content-present"}, declaresSkill, agentSkillContent},
		{Check{"descriptor-valid", "SPEC-v3 §9.3"}, nil, descriptorValid},
		{Check{"schema-version-annotation", "SPEC-v3 §9.3"}, nil, schemaVersionAnnotation},
		{Check{"capabilities-annotation", "SPEC-v3 §9.3"}, nil, capabilitiesAnnotation},
		{Check{"built-by-annotation", "SPEC-v3 §9.3"}, nil, builtByAnnotation},
		{Check{"oci-annotations", "SPEC-v3 §9.3"}, nil, ociAnnotations},
		{Check{"at-least-one-layer", "SPEC-v3 §10"}, nil, atLeastOneLayer},
		{Check{"staged-sources", "SPEC-v3 §10"}, nil, stagedSources},
		{Check{"staged-recipe", "SPEC-v3 §10"}, nil, stagedRecipe},
		{Check{"agent-context-staged", "agent-context@1"}, nil, agentContextStaged},
		{Check{"image-config", "SPEC-v3 §10"}, nil, imageConfig},
		{Check{"overlay-home-ownership", "SPEC-v3 §10"}, nil, overlayHomeOwnership},
		{Check{"overlay-links-resolve", "SPEC-v3 §10"}, nil, overlayLinksResolve},
		{Check{"sbx-platform-floor", "sbx@1"}, nil, sbxPlatformFloor},
		{Check{"sbx-persistent-env", "sbx@1"}, nil, sbxPersistentEnv},
		{Check{"derived-provides", "SPEC-v3 §9.6"}, nil, derivedProvides},
		{Check{"merged-set", "SPEC-v3 §9.5"}, nil, mergedSet},
		{Check{"merged-set-declarations", "SPEC-v3 §9.5"}, nil, mergedSetDeclarations},
		{Check{"index-annotations", "SPEC-v3 §9.3"}, nil, indexAnnotations},
	}
}

// kit is one artifact being judged, with what all checks want to know of it.
type kit struct {
	src         Source
	annotations map[string]string
	doc         *descriptor.Document
	d           *descriptor.Descriptor
	canonical   []byte   // the descriptor's canonical JSON: two documents are the same if this is
	stems       []string // all staged roots
	own         string   // the stem of this kit's own root; empty when none was found

	config    *ocispec.Image
	configErr error
	asked     bool // config and configErr are known
}

// Run judges one artifact. The error is operational (could not judge), never a finding: the staged
// roots could not be listed, content did not match its digest, a registry did not answer, or ctx ended.
func Run(ctx context.Context, src Source) (*Report, error) {
	report := &Report{}
	k := &kit{src: src, annotations: src.Annotations()}
	if err := k.decode(); err != nil {
		report.Roster = []Check{descriptorAnnotation}
		(&recorder{report, descriptorAnnotation}).fail("%v", err)
		return report, nil
	}
	if err := k.findRoots(ctx); err != nil {
		return nil, err
	}
	for _, c := range roster() {
		if c.applies != nil && !c.applies(k) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		report.Roster = append(report.Roster, c.Check)
		if err := c.judge(ctx, k, &recorder{report, c.Check}); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	return report, nil
}

// decode reads the descriptor annotation; its error is the detail of a finding.
func (k *kit) decode() error {
	value := k.annotations[AnnotationDescriptor]
	if value == "" {
		return fmt.Errorf("the manifest has no annotation %s, so this image is not a kit: build it with a kit builder",
			AnnotationDescriptor)
	}
	doc, err := descriptor.Decode(AnnotationDescriptor, []byte(value))
	if err != nil {
		return err
	}
	canonical, err := doc.Descriptor().JSON()
	if err != nil {
		return fmt.Errorf("%s cannot be written as JSON: %w", AnnotationDescriptor, err)
	}
	k.doc, k.d, k.canonical = doc, doc.Descriptor(), canonical
	return nil
}

// findRoots lists the staged roots and picks this kit's own. A single one is taken as own whatever
// it holds, so that a wrong document is reported as a mismatch. Among several, which is what a kit
// built from a kit and a merged set have, the document tells.
func (k *kit) findRoots(ctx context.Context) error {
	stems, err := k.src.Stems(ctx, StagedRoot, StagedDescriptor)
	if err != nil {
		return fmt.Errorf("find staged sources: %w", err)
	}
	k.stems = stems
	if len(stems) == 1 {
		k.own = stems[0]
		return nil
	}
	for _, stem := range stems {
		canonical, err := k.stagedDocument(ctx, stem)
		if err != nil {
			return err
		}
		if canonical != nil && bytes.Equal(canonical, k.canonical) {
			k.own = stem
			return nil
		}
	}
	return nil
}

// stagedDocument gives the canonical form of one staged descriptor, nil when it cannot be read as one.
func (k *kit) stagedDocument(ctx context.Context, stem string) ([]byte, error) {
	name := path.Join(StagedRoot, stem, StagedDescriptor)
	src, err := k.src.ReadFile(ctx, name, MaxFile)
	if err != nil {
		if operational(err) {
			return nil, err
		}
		return nil, nil
	}
	doc, err := descriptor.Decode(name, src)
	if err != nil {
		return nil, nil
	}
	canonical, err := doc.Descriptor().JSON()
	if err != nil {
		return nil, nil
	}
	return canonical, nil
}

// ownFile is a path in this kit's own staged root.
func (k *kit) ownFile(name string) string { return path.Join(StagedRoot, k.own, name) }

// readConfig reads the image config once for all checks.
func (k *kit) readConfig(ctx context.Context) (*ocispec.Image, error) {
	if !k.asked {
		k.config, k.configErr = k.src.Config(ctx)
		if k.configErr == nil && k.config == nil {
			k.configErr = errors.New("the source has no image config")
		}
		k.asked = true
	}
	return k.config, k.configErr
}

// declares tells whether a type is declared anywhere, optional entries and members of groups included.
func (k *kit) declares(typ string) bool {
	for _, c := range k.d.Declared() {
		if c.Type == typ {
			return true
		}
	}
	return false
}
