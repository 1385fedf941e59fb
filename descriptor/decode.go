package descriptor

import "strings"

// The keys of each mapping, in the order in which the published form writes them.
var (
	descriptorKeys = []string{"schemaVersion", "displayName", "author", "description", "sourceUrl", "iconUrl",
		"version", "licenses", "kind", "provides", "requires", "integrates", "conflicts", "capabilities", "args",
		"build", "kits", "dockerfile"}
	capabilityKeys = []string{"group", "source", "type", "name", "optional", "config", "description"}
	memberKeys     = []string{"source", "type", "name", "optional", "config", "description"}
	groupKeys      = []string{"name", "description", "optional", "capabilities"}
	sourceKeys     = []string{"kit", "path"}
	argKeys        = []string{"default", "required", "description", "enum", "pattern", "env", "buildArg"}
	kitKeys        = []string{"ref", "digest", "args"}
)

// descriptor decodes the whole document.
func (c *checker) descriptor(root *node) (d Descriptor) {
	if root.isNull() {
		c.fail(codeNotMapping, root, "the document is empty")
		return d
	}
	if root.kind != object {
		c.fail(codeNotMapping, root, "a descriptor is a mapping, not %s", root.describe())
		return d
	}
	if c.oldSpec(root) {
		return d
	}
	c.object(root, descriptorKeys)
	d.SchemaVersion = c.coerced(root.get("schemaVersion"))
	switch n := root.get("schemaVersion"); {
	case n == nil:
		c.failAt(codeSchemaVersion, root, "schemaVersion", "schemaVersion is missing").Hint = `write schemaVersion: "3"`
	case n.kind == scalar && d.SchemaVersion != SchemaVersion:
		c.fail(codeSchemaVersion, n, "schemaVersion is %s; this program reads version %q", n.quote(), SchemaVersion)
	}
	d.DisplayName = c.coerced(root.get("displayName"))
	d.Author = c.coerced(root.get("author"))
	d.Description = c.coerced(root.get("description"))
	d.SourceURL = c.coerced(root.get("sourceUrl"))
	d.IconURL = c.coerced(root.get("iconUrl"))
	d.Version = c.coerced(root.get("version"))
	d.Licenses = c.strings(root.get("licenses"))
	d.Kind = Kind(c.coerced(root.get("kind")))
	d.Provides = c.strings(root.get("provides"))
	d.Requires = c.strings(root.get("requires"))
	d.Integrates = c.strings(root.get("integrates"))
	d.Conflicts = c.strings(root.get("conflicts"))
	d.Capabilities = c.capabilityList(root.get("capabilities"), capabilityKeys)
	d.Args = c.args(root.get("args"))
	d.Build = c.coerced(root.get("build"))
	d.Kits = c.kits(root.get("kits"))
	d.Dockerfile = c.coerced(root.get("dockerfile"))
	return d
}

// coerced reads text the way the format's top level does: numbers, booleans and dates count as the
// text that was written, null as empty.
func (c *checker) coerced(n *node) string {
	switch {
	case n == nil:
		return ""
	case n.kind != scalar:
		c.fail(codeKind, n, "want text, got %s", n.describe())
		return ""
	case n.isNull():
		return ""
	case n.tag == tagBinary:
		v, ok := n.value()
		text, isText := v.(string)
		if !ok || !isText {
			c.fail(codeKind, n, "the binary data cannot be read")
		}
		return text
	}
	return n.text
}

// label reads text that must be written as text.
func (c *checker) label(n *node) string {
	if n == nil {
		return ""
	}
	if !n.isString() {
		c.fail(codeKind, n, "want text, got %s", n.describe()).Hint = quoteHint(n)
		return ""
	}
	return n.text
}

// quoteHint says how to make text of a scalar that YAML reads as something else.
func quoteHint(n *node) string {
	if n.kind == scalar && !n.isNull() && n.authored == "" && len(n.text) <= maxQuoted {
		return `put it in quotes: "` + n.text + `"`
	}
	return ""
}

// boolean reads true and false; the older spellings of YAML only where the format takes them.
func (c *checker) boolean(n *node, older bool) bool {
	switch {
	case n == nil || n.isNull():
		return false
	case n.kind == scalar && n.tag == tagBool:
		v, _ := n.value()
		b, _ := v.(bool)
		return b
	case older && n.kind == scalar && n.plain && n.tag == tagString:
		switch n.text {
		case "y", "Y", "yes", "on":
			return true
		case "n", "N", "no", "off":
			return false
		}
	}
	f := c.fail(codeKind, n, "want true or false, got %s", n.describe())
	if n.kind == scalar && n.isString() {
		if s := strings.ToLower(n.text); s == "true" || s == "false" {
			f.Hint = "leave out the quotes"
		}
	}
	return false
}

// present gives the items of a list without its nulls, which mean nothing. The tree loses them too,
// so that paths count what the values hold.
func (c *checker) present(n *node) []*node {
	all := c.items(n.orNil())
	kept := all[:0]
	for _, item := range all {
		if item.isNull() {
			c.warn(codeNullItem, item, "an empty item of a list is dropped")
			continue
		}
		item.index = len(kept)
		kept = append(kept, item)
	}
	if len(kept) < len(all) {
		n.items = kept
	}
	return kept
}

// orNil makes nil of null: for most fields that is the same as absent.
func (n *node) orNil() *node {
	if n.isNull() {
		return nil
	}
	return n
}

func (c *checker) strings(n *node) []string {
	var out []string
	for _, item := range c.present(n) {
		out = append(out, c.coerced(item))
	}
	return out
}

func (c *checker) capabilityList(n *node, keys []string) []Capability {
	var out []Capability
	for _, item := range c.present(n) {
		out = append(out, c.capability(item, keys))
	}
	return out
}

func (c *checker) capability(n *node, keys []string) (e Capability) {
	if n.kind == object && len(keys) == len(memberKeys) && n.has("group") {
		// Said once, by the rules on groups, in better words than "unknown key".
		keys = capabilityKeys
	}
	if !c.object(n, keys) {
		return e
	}
	e.Type = c.coerced(n.get("type"))
	e.Name = c.label(n.get("name"))
	e.Description = c.coerced(n.get("description"))
	e.Optional = c.boolean(n.get("optional"), true)
	if s := n.get("source"); s != nil && c.object(s, sourceKeys) {
		e.Source = &Source{Kit: c.label(s.get("kit")), Path: c.label(s.get("path"))}
	}
	if g := n.get("group"); g != nil && len(keys) == len(capabilityKeys) {
		e.Group = c.group(g)
	}
	e.Config = c.config(n.get("config").orNil())
	return e
}

func (c *checker) group(n *node) *Group {
	g := &Group{}
	if !c.object(n, groupKeys) {
		return g
	}
	g.Name = c.label(n.get("name"))
	g.Description = c.label(n.get("description"))
	g.Optional = c.boolean(n.get("optional"), false)
	g.Capabilities = c.capabilityList(n.get("capabilities"), memberKeys)
	return g
}

// config reads the values of a config; what they mean is judged by type later.
func (c *checker) config(n *node) map[string]any {
	if n == nil {
		return nil
	}
	if n.kind != object {
		c.fail(codeKind, n, "want a mapping, got %s", n.describe())
		return nil
	}
	ok := true
	n.walk(func(v *node, key bool) {
		switch {
		case key && v.parent != n && !v.isString():
			c.fail(codeKey, v, "a key must be text, not %s", v.describe()).Hint = quoteHint(v)
		case !key && v.kind == scalar:
			if _, fine := v.value(); !fine {
				ok = false
				c.fail(codeKind, v, "%s is a value that JSON cannot hold", v.quote())
			} else if v.tag == tagTime {
				c.warn(codeDate, v, "YAML takes %s for a date and rewrites it", v.quote()).Hint = quoteHint(v)
			}
		}
	})
	if !ok {
		return nil
	}
	v, _ := n.value()
	m, _ := v.(map[string]any)
	return m
}

func (c *checker) args(n *node) map[string]Arg {
	if n = n.orNil(); n == nil {
		return nil
	}
	if n.kind != object {
		c.fail(codeKind, n, "want a mapping of argument names, got %s", n.describe())
		return nil
	}
	out := make(map[string]Arg, len(n.fields))
	for _, f := range n.fields {
		out[f.name] = c.arg(f.val)
	}
	return out
}

func (c *checker) arg(n *node) (a Arg) {
	if n.isNull() || !c.object(n, argKeys) {
		return a
	}
	if v := n.get("default").orNil(); v != nil {
		text := c.coerced(v)
		a.Default = &text
	}
	a.Required = c.boolean(n.get("required"), true)
	a.Description = c.coerced(n.get("description"))
	a.Enum = c.strings(n.get("enum"))
	a.Pattern = c.coerced(n.get("pattern"))
	a.Env = c.coerced(n.get("env"))
	a.BuildArg = c.coerced(n.get("buildArg"))
	return a
}

func (c *checker) kits(n *node) []KitRef {
	var out []KitRef
	for _, item := range c.present(n) {
		out = append(out, c.kit(item))
	}
	return out
}

func (c *checker) kit(n *node) (k KitRef) {
	if !c.object(n, kitKeys) {
		return k
	}
	k.Ref = c.coerced(n.get("ref"))
	k.Digest = c.coerced(n.get("digest"))
	if a := n.get("args").orNil(); a != nil {
		if a.kind != object {
			c.fail(codeKind, a, "want a mapping of argument names, got %s", a.describe())
			return k
		}
		k.Args = make(map[string]string, len(a.fields))
		for _, f := range a.fields {
			k.Args[f.name] = c.coerced(f.val)
		}
	}
	return k
}

// oldSpec recognises a spec.yaml of the formats before this one and says so, instead of listing its
// keys as unknown one by one.
func (c *checker) oldSpec(root *node) bool {
	v := root.get("schemaVersion")
	stated := ""
	if v != nil && v.kind == scalar {
		stated = v.text
	}
	if stated == SchemaVersion {
		return false
	}
	at, marks := v, 0
	for _, f := range root.fields {
		if oldKeys[f.name] {
			marks++
			if at == nil {
				at = f.key
			}
		}
	}
	switch {
	case stated == "1" || stated == "2":
		c.fail(codeOldSpec, at, "this is a spec.yaml of kit format %s, not a kit descriptor of format %s", stated, SchemaVersion).
			Hint = oldSpecHint
	case stated == "" && marks >= 2:
		c.fail(codeOldSpec, at, "this looks like a spec.yaml of kit format 1 or 2, not a kit descriptor of format %s", SchemaVersion).
			Hint = oldSpecHint
	default:
		return false
	}
	return true
}

const oldSpecHint = `format 3 has kind workload in place of sandbox, a recipe in place of sandbox.image, and capabilities in place of permissions, credentials and setup; it must be written anew`

// oldKeys are top-level keys of formats 1 and 2 that format 3 has not.
var oldKeys = map[string]bool{
	"name": true, "sandbox": true, "agent": true, "permissions": true, "credentials": true, "network": true,
	"environment": true, "setup": true, "commands": true, "volumes": true, "ports": true, "publishedPorts": true,
	"oauth": true, "agentInstructions": true, "agentContext": true, "mixins": true, "extends": true, "locked": true,
	"sourceURL": true,
}
