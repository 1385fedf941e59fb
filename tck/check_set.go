package tck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sbxkit/sbxkit/descriptor"
	"github.com/sbxkit/sbxkit/internal/ociimage"
)

// mergedSet counts what a merged set must carry: the sources of each listed kit and its own.
func mergedSet(_ context.Context, k *kit, r *recorder) error {
	if len(k.d.Kits) == 0 {
		return nil
	}
	if k.d.Build != "" || k.d.Dockerfile != "" {
		r.fail("the descriptor has a recipe beside its list of kits; a set is built from its kits alone: remove the recipe")
	}
	if got, want := len(k.stems), len(k.d.Kits)+1; got < want {
		r.fail("the image stages the sources of %d kits, a set of %d carries %d: one for each listed kit and its own; "+
			"keep the layers of all listed kits", got, len(k.d.Kits), want)
	}
	return nil
}

// listed is one kit of a merged set's list.
type listed struct {
	label     string // for messages
	ref       descriptor.KitRef
	published *descriptor.Descriptor
	canonical []byte
	effective *descriptor.Descriptor // with the recorded args put in
	provides  []descriptor.Provide   // of the effective form, bare ones with the kit's version
}

// mergedSetDeclarations fetches the listed kits at their recorded digests and asks whether the
// merged descriptor says what merging them gives, as far as that can be seen from outside. The set's
// own authored declarations cannot, so a requirement that vanished and a union of policies are not judged.
func mergedSetDeclarations(ctx context.Context, k *kit, r *recorder) error {
	if len(k.d.Kits) == 0 {
		return nil
	}
	values, err := k.listedAnnotations(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		r.skip("%v", err)
		return nil
	}
	kits := make([]listed, len(k.d.Kits))
	for i, ref := range k.d.Kits {
		if kits[i], err = readListed(i, ref, values[i]); err != nil {
			r.fail("%v", err)
			return nil
		}
	}
	if err := k.judgeStagedKits(ctx, kits, r); err != nil {
		return err
	}
	k.judgeReexports(kits, r)
	k.judgeUnions(kits, r)
	k.judgeAnswered("requires", k.d.Requires, kits, r)
	k.judgeAnswered("integrates", k.d.Integrates, kits, r)
	return nil
}

// listedAnnotations reaches all listed kits; an error says which one is out of reach, and why.
func (k *kit) listedAnnotations(ctx context.Context) ([]string, error) {
	siblings, ok := k.src.(Siblings)
	if !ok {
		return nil, errors.New("the listed kits cannot be reached from here")
	}
	values := make([]string, len(k.d.Kits))
	for i, ref := range k.d.Kits {
		if ref.Digest == "" {
			return nil, fmt.Errorf("kits[%d] %s records no digest to fetch it by", i, ref.Ref)
		}
		annotations, err := siblings.Sibling(ctx, ref.Ref, ref.Digest)
		if errors.Is(err, ociimage.ErrNoSiblings) {
			return nil, errors.New("a layout holds one image: judge the set in its registry to compare it with the kits that it lists")
		}
		if err != nil {
			return nil, fmt.Errorf("kits[%d] %s at %s is out of reach: %w", i, ref.Ref, ref.Digest, err)
		}
		values[i] = annotations[AnnotationDescriptor]
	}
	return values, nil
}

// readListed decodes a listed kit and puts in the args that the set recorded for it.
func readListed(i int, ref descriptor.KitRef, value string) (listed, error) {
	l := listed{label: fmt.Sprintf("kits[%d] %s", i, ref.Ref), ref: ref}
	if value == "" {
		return l, fmt.Errorf("%s is not a kit: its manifest has no annotation %s", l.label, AnnotationDescriptor)
	}
	doc, err := descriptor.Decode(ref.Ref+" (published descriptor)", []byte(value))
	if err != nil {
		return l, err
	}
	if _, err := doc.Validate(descriptor.Published); err != nil {
		return l, err
	}
	l.published = doc.Descriptor()
	if l.canonical, err = l.published.JSON(); err != nil {
		return l, fmt.Errorf("%s: %w", l.label, err)
	}
	if l.effective, err = doc.ExpandCreate(ref.Args); err != nil {
		return l, fmt.Errorf("%s: the recorded args do not fit: %w", l.label, err)
	}
	version := l.published.Version
	if tagged, ok := descriptor.VersionOfTag(tagOf(ref.Ref)); ok {
		version = tagged
	}
	l.provides = versioned(l.effective.Provides, version)
	return l, nil
}

// tagOf gives the tag of a reference, empty without one. A colon before the last slash belongs to
// the registry's port.
func tagOf(ref string) string {
	name, _, _ := strings.Cut(ref, "@")
	name = name[strings.LastIndexByte(name, '/')+1:]
	_, tag, _ := strings.Cut(name, ":")
	return tag
}

// versioned parses provides and gives the bare ones a version. Entries that do not parse are
// descriptor-valid's business.
func versioned(entries []string, version string) []descriptor.Provide {
	var all []descriptor.Provide
	for _, entry := range entries {
		p, err := descriptor.ParseProvide(entry)
		if err != nil {
			continue
		}
		if p.Version == "" {
			p.Version = version
		}
		all = append(all, p)
	}
	return all
}

// judgeStagedKits asks for a staged root with each listed kit's document, one root for each.
func (k *kit) judgeStagedKits(ctx context.Context, kits []listed, r *recorder) error {
	var staged [][]byte
	for _, stem := range k.stems {
		canonical, err := k.stagedDocument(ctx, stem)
		if err != nil {
			return err
		}
		if canonical != nil {
			staged = append(staged, canonical)
		}
	}
	for _, l := range kits {
		at := slices.IndexFunc(staged, func(s []byte) bool { return bytes.Equal(s, l.canonical) })
		if at < 0 {
			r.fail("no root below %s holds the published descriptor of %s; keep that kit's layers", StagedRoot, l.label)
			continue
		}
		staged = slices.Delete(staged, at, at+1)
	}
	return nil
}

// judgeUnions asks that the merged descriptor states what the listed kits provide and their licenses.
func (k *kit) judgeUnions(kits []listed, r *recorder) {
	merged := versioned(k.d.Provides, k.d.Version)
	for _, l := range kits {
		for _, p := range l.provides {
			if !slices.Contains(merged, p) {
				r.fail("%s provides %s, which the merged descriptor does not state; add it", l.label, spelled(p))
			}
		}
	}
	for _, l := range kits {
		for _, license := range l.effective.Licenses {
			if !slices.Contains(k.d.Licenses, license) {
				r.fail("%s is licensed under %s, which the merged descriptor does not state; add it", l.label, license)
			}
		}
	}
}

// judgeAnswered finds relations that a listed kit brought and another listed kit answers: they are
// settled inside the set and would ask a composition for a second provider. A kit never answers itself.
func (k *kit) judgeAnswered(list string, entries []string, kits []listed, r *recorder) {
	for _, entry := range entries {
		relation, err := descriptor.ParseRelation(entry)
		if err != nil {
			continue
		}
		for i, asking := range kits {
			if !states(asking.effective, list, relation) {
				continue
			}
			if answer := answeredBy(relation, i, kits); answer != "" {
				r.fail("%s still states %q of %s, which %s answers inside the set; drop it", list, entry, asking.label, answer)
				break
			}
		}
	}
}

// states tells whether d has the relation in that list, however it is spelled.
func states(d *descriptor.Descriptor, list string, want descriptor.Relation) bool {
	entries := d.Requires
	if list == "integrates" {
		entries = d.Integrates
	}
	return slices.ContainsFunc(entries, func(entry string) bool {
		got, err := descriptor.ParseRelation(entry)
		return err == nil && got.String() == want.String()
	})
}

// answeredBy names a kit other than the asking one that provides what relation wants.
func answeredBy(relation descriptor.Relation, asking int, kits []listed) string {
	for i, l := range kits {
		if i == asking {
			continue
		}
		for _, p := range l.provides {
			if relation.SatisfiedBy(p.Name, p.Version) {
				return l.label
			}
		}
	}
	return ""
}
