package tck

import (
	"maps"
	"regexp"
	"slices"

	"github.com/sbxkit/sbxkit/descriptor"
)

// wholeReference is a value that is exactly one reference to an arg of the set.
var wholeReference = regexp.MustCompile(`^\$\{\{\s*kit\.args\.([A-Za-z_][A-Za-z0-9_]*)\s*\}\}$`)

// judgeReexports asks that an arg of a listed kit which the set hands on to its installer is
// declared there at least as strictly: the kit's own declaration is answered and gone, so the set's
// is the only one an installer can read.
func (k *kit) judgeReexports(kits []listed, r *recorder) {
	for _, l := range kits {
		for _, name := range slices.Sorted(maps.Keys(l.ref.Args)) {
			m := wholeReference.FindStringSubmatch(l.ref.Args[name])
			if m == nil {
				continue
			}
			ours, declared := k.d.Args[m[1]]
			if !declared {
				r.fail("%s: arg %s is re-exported as %s, which the set does not declare; declare it under args", l.label, name, m[1])
				continue
			}
			for _, fault := range looserThan(ours, l.published.Args[name]) {
				r.fail("%s: arg %s is re-exported as %s, %s", l.label, name, m[1], fault)
			}
		}
	}
}

// looserThan lists in what a set's declaration promises less than the kit's.
func looserThan(set, kit descriptor.Arg) []string {
	var faults []string
	answered := set.Required || set.Default != nil
	if kit.Required && !answered {
		faults = append(faults, "which may stay unanswered although the kit requires it; make it required or give it a default")
	}
	if kit.Default != nil && !answered {
		faults = append(faults, "which may stay unanswered although the kit has a default; give it a default or make it required")
	}
	if len(kit.Enum) > 0 {
		outside := slices.ContainsFunc(set.Enum, func(v string) bool { return !slices.Contains(kit.Enum, v) })
		if len(set.Enum) == 0 || outside {
			faults = append(faults, "whose enum is not a part of the kit's; restate or narrow the kit's enum")
		}
	}
	if kit.Pattern != "" && set.Pattern != kit.Pattern {
		faults = append(faults, "whose pattern is not the kit's; restate the kit's pattern")
	}
	return faults
}
