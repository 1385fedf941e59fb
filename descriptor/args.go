package descriptor

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// argRules judges the declarations of arguments (SPEC-v3 §6).
func (c *checker) argRules(root *node) {
	args := root.get("args")
	if args == nil || args.kind != object {
		return
	}
	targets := map[string]*node{}
	for _, f := range args.fields {
		if !isIdent(f.name) {
			c.fail(codeArgName, f.key, "an argument's name is made of letters, digits and underscores and does not begin with a digit")
		}
		a := f.val
		if a.kind != object {
			continue
		}
		fallback, enum, pattern := a.get("default").orNil(), a.get("enum").orNil(), a.get("pattern").orNil()
		if fallback != nil && isTrue(a.get("required")) {
			c.fail(codeArgDefault, fallback, "a required argument has no default")
		}
		hasEnum := enum != nil && enum.kind == list && len(enum.items) > 0
		hasPattern := pattern != nil && pattern.kind == scalar && pattern.text != ""
		if hasEnum && hasPattern {
			later := enum
			if enum.at.before(pattern.at) {
				later = pattern
			}
			c.fail(codeArgChoice, later, "enum and pattern exclude each other")
		}
		if hasPattern {
			if _, err := regexp.Compile(pattern.text); err != nil {
				c.fail(codeArgPattern, pattern, "the pattern does not compile: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
			}
		}
		c.argTargets(a, targets)
		if fallback != nil && fallback.kind == scalar {
			if arg := argOf(a); checkArg(arg, fallback.text) != nil {
				c.lint(codeArgDefaults, fallback, "the default is none of the values that the argument takes")
			}
		}
	}
}

// argOf reads back what the rules on values need.
func argOf(n *node) (a Arg) {
	if p := n.get("pattern").orNil(); p != nil && p.kind == scalar {
		a.Pattern = p.text
	}
	for _, item := range texts(n.get("enum")) {
		a.Enum = append(a.Enum, item.text)
	}
	return a
}

func isTrue(n *node) bool {
	return n != nil && n.kind == scalar && (n.tag == tagBool && strings.EqualFold(n.text, "true") ||
		n.plain && slices.Contains([]string{"y", "Y", "yes", "on"}, n.text))
}

func (c *checker) argTargets(a *node, targets map[string]*node) {
	env, build := a.get("env").orNil(), a.get("buildArg").orNil()
	stated := func(n *node) bool { return n != nil && n.kind == scalar && n.text != "" }
	for _, n := range []*node{env, build} {
		if stated(n) && !isIdent(n.text) {
			c.fail(codeArgTarget, n, "%s is not a variable name: letters, digits and underscores, no digit first", n.quote())
		}
	}
	if stated(env) && stated(build) {
		later := build
		if build.at.before(env.at) {
			later = env
		}
		c.fail(codeArgTarget, later, "env and buildArg exclude each other: an argument is resolved in one phase")
	}
	if stated(build) {
		if first := targets[build.text]; first != nil {
			c.lint(codeArgShared, build, "two arguments feed the build argument %s; which one wins is not defined", build.quote()).
				Hint = "the other is at " + c.place(first)
		} else {
			targets[build.text] = build
		}
	}
}

// checkArg judges one value. The error says what was wanted, never what was given.
func checkArg(a Arg, value string) error {
	if !utf8.ValidString(value) {
		return fmt.Errorf("the value is not UTF-8")
	}
	if len(a.Enum) > 0 && !slices.Contains(a.Enum, value) {
		return fmt.Errorf("the value is none of %s", strings.Join(a.Enum, ", "))
	}
	if a.Pattern != "" {
		re, err := regexp.Compile("^(?:" + a.Pattern + ")$")
		if err != nil {
			return fmt.Errorf("the pattern does not compile")
		}
		if !re.MatchString(value) {
			return fmt.Errorf("the value does not match the pattern %s", quoted(a.Pattern))
		}
	}
	return nil
}

// ResolveBuildArgs gives the values of all build-phase args: the caller's (keyed by the kit's arg
// name), else the defaults; args with neither are absent. Other names in given are not looked at:
// what nobody declared goes to the recipe alone, and the caller knows best what to say about that.
//
// All faults are reported together: required args without value, values, the defaults included,
// against enum or pattern, and two args that would feed one build argument. No message holds a value.
func (d *Document) ResolveBuildArgs(given map[string]string) (map[string]string, error) {
	c := &checker{name: d.name}
	args := d.root.get("args")
	if args == nil {
		args = d.root
	}
	out := map[string]string{}
	feeds := map[string]string{}
	for _, name := range sortedKeys(d.d.Args) {
		a := d.d.Args[name]
		if a.BuildArg == "" {
			continue
		}
		at := args.get(name)
		value, ok := given[name]
		if !ok && a.Default != nil {
			value, ok = *a.Default, true
			at = at.get("default")
		}
		switch {
		case !ok && a.Required:
			c.fail(codeArgMissing, at, "the argument %q is required and has no value", name).Hint = "give one with --build-arg " + name + "=VALUE"
		case ok:
			if err := checkArg(a, value); err != nil {
				c.fail(codeArgValue, at, "argument %q: %s", name, err)
				continue
			}
			if other, taken := feeds[a.BuildArg]; taken {
				c.fail(codeArgShared, args.get(name), "the arguments %q and %q feed one build argument", other, name)
				continue
			}
			feeds[a.BuildArg] = name
			out[name] = value
		}
	}
	if len(c.findings) > 0 {
		return nil, d.invalid(c.findings)
	}
	return out, nil
}

// references reports each reference to an argument that is not declared: at the values and keys that
// hold it, and for the rest of the text, such as comments, at the place itself (SPEC-v3 §6).
func (c *checker) references(d *Document) {
	declared := map[string]bool{}
	if args := d.root.get("args"); args != nil {
		for _, f := range args.fields {
			declared[f.name] = true
		}
	}
	names := sortedKeys(declared)
	hint := func(f *finding, name string) {
		if meant := nearest(name, names); meant != "" {
			f.Hint = fmt.Sprintf("did you mean %q?", meant)
		}
	}
	d.root.walk(func(n *node, key bool) {
		if n.kind != scalar || c.full() {
			return
		}
		for _, r := range argRefs(n.text) {
			if !declared[r.name] {
				hint(c.fail(codeUndeclared, n, "the argument %q is not declared", r.name), r.name)
			}
		}
		if n.isString() && hasOpener(n.text, "args") && !hasArgRef(n.text) {
			c.lint(codeMalformed, n, "this looks like an argument reference but is ordinary text").
				Hint = "a reference is ${{ kit.args.NAME }}, NAME of letters, digits and underscores"
		}
	})
	if d.raw == nil || !strings.Contains(string(d.raw), "${{") {
		return
	}
	var spans []span
	cursor := newCursor(d.raw)
	for _, r := range argRefs(string(d.raw)) {
		if declared[r.name] {
			continue
		}
		if spans == nil {
			spans = d.scalarSpans()
		}
		start := d.moved(cursor.at(r.start))
		if within(spans, start) {
			continue
		}
		f := c.fail(codeUndeclared, nil, "the argument %q is not declared; references count in comments too", r.name)
		f.Start, f.End = start, d.moved(cursor.at(r.end))
		hint(f, r.name)
	}
}
