package descriptor

import (
	"slices"
	"strings"
)

// lifecycle judges lifecycle@1: hooks, files and the launch tail of a terminal session.
func lifecycle(c *checker, e *entry) {
	m, ok := c.mapping(e.read, "install", "startup", "files", "interactive")
	if !ok {
		return
	}
	install, startup, files := m.list("install"), m.list("startup"), m.list("files")
	tail := m.texts("interactive", func(*node, string) {})
	if len(install)+len(startup)+len(files)+tail == 0 && wellFormed(m, "install", "startup", "files", "interactive") {
		c.fail(codeMissing, e.read, "a lifecycle has a hook, a file or a launch tail, but this one is empty")
	}
	for _, n := range install {
		c.hook(n, "command", "user", "env", "description")
	}
	for _, n := range startup {
		c.hook(n, "command", "user", "env", "description", "background")
	}
	for _, n := range files {
		c.file(n)
	}
}

// wellFormed tells whether the mapping has no fields but the given, and these are lists; otherwise
// "empty" would be a second complaint about one mistake.
func wellFormed(m mapping, keys ...string) bool {
	for _, f := range m.n.fields {
		if !slices.Contains(keys, f.name) || f.val.kind != listKind && !f.val.isNull() {
			return false
		}
	}
	return true
}

func (c *checker) hook(n *node, keys ...string) {
	m, ok := c.mapping(n, keys...)
	if !ok {
		return
	}
	argv, stated := m.command("command")
	switch {
	case !stated && n.get("command").orNil() != nil:
		c.fail(codeMissing, n.get("command"), "the command is empty")
	case !stated:
		c.failMissing(n, "command", "a hook runs something")
	case len(argv) == 3 && argv[0] == "sh" && argv[1] == "-c" && strings.Trim(argv[2], blanks) == "" && n.get("command").kind == scalar,
		len(argv) == 1 && argv[0] == "":
		c.lint(codeEmpty, n.get("command"), "the command is empty and does nothing")
	}
	m.text("user")
	m.text("description")
	m.texts("env", func(item *node, s string) {
		if !isIdent(s) {
			c.fail(codeValue, item, "%s is not a variable name: letters, digits and underscores, no digit first", item.quote())
		}
	})
	m.flag("background")
}

func (c *checker) file(n *node) {
	m, ok := c.mapping(n, "path", "content", "mode", "overwrite", "description")
	if !ok {
		return
	}
	switch path, literal := m.text("path"); {
	case literal && !strings.HasPrefix(path, "/"):
		f := c.fail(codePath, n.get("path"), "%s is not an absolute path", n.get("path").quote())
		if strings.HasPrefix(path, "~/") {
			f.Hint = "for the home directory write ${{ kit.env.HOME }}" + path[1:]
		}
	case !literal && n.get("path").orNil() == nil:
		c.failMissing(n, "path", "a file is written somewhere")
	}
	m.text("content")
	if !m.has("content") {
		c.lint(codeEmpty, n, "a file without content is written empty").Hint = `say so with content: ""`
	}
	c.mode(m)
	m.flag("overwrite")
	m.text("description")
}

// mode judges an octal file mode; an empty one counts as absent.
func (c *checker) mode(m mapping) {
	mode, literal := m.text("mode")
	n := m.n.get("mode")
	switch {
	case !literal:
	case mode == "" && m.nulls == nullAbsent:
		c.lint(codeEmpty, n, "mode is empty, which counts as absent").Hint = "leave it out"
	case !isMode(mode):
		c.fail(codeValue, n, "%s is not a mode of three or four octal digits", n.quote())
	}
}
