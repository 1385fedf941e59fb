package descriptor

import (
	"strings"
)

// content judges where a kit's content comes from: one of build, dockerfile and kits (SPEC-v3 §3).
func (c *checker) content(root *node, d *Descriptor) {
	kits := root.get("kits").orNil()
	if d.Build != "" && d.Dockerfile != "" {
		c.fail(codeRecipes, root.get("dockerfile"), "content comes from build already; a descriptor has one recipe")
	}
	if kits != nil && d.Build != "" {
		c.fail(codeNotForSets, root.get("build"), "content comes from kits already; a set has no recipe")
	}
	if kits != nil && d.Dockerfile != "" {
		c.fail(codeNotForSets, root.get("dockerfile"), "content comes from kits already; a set has no recipe")
	}
	switch {
	case kits == nil && d.Kind == Set:
		c.failAt(codeKitsEmpty, root, "kits", "a set lists one kit or more, but kits is missing")
	case kits != nil && kits.kind == list && len(kits.items) == 0:
		c.fail(codeKitsEmpty, kits, "kits lists no kit").Hint = "leave kits out, or list one"
	}
	if kits == nil {
		return
	}
	first := map[string]*node{}
	for _, k := range kits.items {
		if k.kind == object {
			c.kitRules(k, d.Args, first)
		}
	}
}

func (c *checker) kitRules(k *node, args map[string]Arg, first map[string]*node) {
	ref, digest := k.get("ref").orNil(), k.get("digest").orNil()
	pin := ""
	switch {
	case ref == nil || ref.kind == scalar && strings.Trim(ref.text, blanks) == "":
		c.failAt(codeKitRef, k, "ref", "a kit needs the reference of its image")
	case ref.kind != scalar: // reported by decoding
	case hasArgRef(ref.text):
		for _, r := range argRefs(ref.text) {
			if a, ok := args[r.name]; ok && a.BuildArg == "" {
				c.fail(codeKitPhase, ref, "the argument %q is resolved after the build, but kits are resolved by it", r.name).
					Hint = "give the argument a buildArg"
			}
		}
	default:
		pin = c.kitRef(ref)
	}
	if ref != nil && ref.kind == scalar && ref.text != "" {
		if other := first[ref.text]; other != nil {
			c.fail(codeKitTwice, ref, "the kit %s is listed already", ref.quote()).Hint = "first at " + c.place(other)
		} else {
			first[ref.text] = ref
		}
	}
	if digest != nil && digest.kind == scalar && digest.text != "" {
		switch {
		case !isDigest(digest.text):
			c.fail(codeKitDigest, digest, "the digest is not sha256: and 64 lower-case hexadecimal digits")
		case pin != "" && pin != digest.text:
			c.fail(codeKitDigest, digest, "the digest contradicts the one in ref")
		}
	}
	if a := k.get("args").orNil(); a != nil && a.kind == object {
		for _, f := range a.fields {
			if !isIdent(f.name) {
				c.fail(codeKitArg, f.key, "an argument's name is made of letters, digits and underscores and does not begin with a digit")
			}
			if _, whole := wholeRef(f.val.text); hasArgRef(f.val.text) && !whole {
				c.lint(codeKitArg, f.val, "a reference inside of longer text is refused when the set is merged").
					Hint = "give a literal, or exactly one reference"
			}
		}
	}
}

// kitRef judges a literal reference and gives the digest in it.
func (c *checker) kitRef(ref *node) (pin string) {
	s := ref.text
	switch {
	case strings.ContainsAny(s, " \t\n\r\f\v"):
		c.fail(codeKitRef, ref, "the reference holds blanks")
	case strings.HasPrefix(s, "git+"):
		c.fail(codeKitRef, ref, "a kit is named by an image reference, not by a git source")
	case strings.HasPrefix(s, ".") || strings.HasPrefix(s, "/"):
		c.fail(codeKitRef, ref, "a kit is named by an image reference, not by a path")
	default:
		digest, fault := checkImageRef(s)
		if fault != "" {
			c.fail(codeKitRef, ref, "%s is not an image reference: %s", ref.quote(), fault)
		}
		return digest
	}
	return ""
}
